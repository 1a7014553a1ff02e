"""The nine queries of the Labelled Subgraph Query Benchmark, in the language of each engine.

Ladybug and DuckDB use the tables that the benchmark's authors define for such engines: posts and
comments in one node table (Ladybug), relationships to one node as columns (DuckDB), KNOWS
relationships in both directions (both).
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["LSQB", "LsqbQuery"]


@dataclass(frozen=True, slots=True)
class LsqbQuery:
    """One query: each text returns one count.

    Args:
        name: Name by the benchmark's numbering.
        what: Description in words.
        cypher: Text for gpugda, with the labels and types of the social network.
        ladybug: Text for Ladybug, on its tables.
        sql: Text for DuckDB.
    """

    name: str
    what: str
    cypher: str
    ladybug: str
    sql: str


LSQB = (
    LsqbQuery(
        "q1",
        "a path of nine labels, from countries over forums to classes of tags",
        "MATCH (:Country)<-[:IS_PART_OF]-(:City)<-[:IS_LOCATED_IN]-(:Person)<-[:HAS_MEMBER]-"
        "(:Forum)-[:CONTAINER_OF]->(:Post)<-[:REPLY_OF]-(:Comment)-[:HAS_TAG]->(:Tag)"
        "-[:HAS_TYPE]->(:TagClass) RETURN count(*)",
        "MATCH (:Country)<-[:IsPartOf]-(:City)<-[:LivesIn]-(:Person)<-[:HasMember]-(:Forum)"
        "-[:ContainerOf]->(:Message)<-[:ReplyOf]-(:Message)-[:HasTag]->(:Tag)-[:HasType]->(:TagClass)"
        " RETURN count(*)",
        "SELECT count(*) FROM country JOIN city ON city.country = country.id"
        " JOIN person ON person.city = city.id JOIN has_member ON has_member.person = person.id"
        " JOIN forum ON forum.id = has_member.forum JOIN post ON post.forum = forum.id"
        " JOIN comment ON comment.post = post.id"
        " JOIN comment_tag ON comment_tag.comment = comment.id"
        " JOIN tag ON tag.id = comment_tag.tag JOIN tag_class ON tag_class.id = tag.class",
    ),
    LsqbQuery(
        "q2",
        "a square: a comment and a post, whose authors know each other",
        "MATCH (a:Person)-[:KNOWS]-(b:Person),"
        " (a)<-[:HAS_CREATOR]-(c:Comment)-[:REPLY_OF]->(p:Post)-[:HAS_CREATOR]->(b)"
        " RETURN count(*)",
        "MATCH (a:Person)-[:Knows]->(b:Person),"
        " (a)<-[:HasCreator]-(c:Message)-[:ReplyOfPost]->(p:Message)-[:HasCreator]->(b)"
        " RETURN count(*)",
        "SELECT count(*) FROM knows JOIN comment ON knows.a = comment.creator"
        " JOIN post ON knows.b = post.creator AND comment.post = post.id",
    ),
    LsqbQuery(
        "q3",
        "triangles of persons who live in one country",
        "MATCH (country:Country)"
        " MATCH (a:Person)-[:IS_LOCATED_IN]->(:City)-[:IS_PART_OF]->(country)"
        " MATCH (b:Person)-[:IS_LOCATED_IN]->(:City)-[:IS_PART_OF]->(country)"
        " MATCH (c:Person)-[:IS_LOCATED_IN]->(:City)-[:IS_PART_OF]->(country)"
        " MATCH (a)-[:KNOWS]-(b)-[:KNOWS]-(c)-[:KNOWS]-(a) RETURN count(*)",
        "MATCH (country:Country)"
        " MATCH (a:Person)-[:LivesIn]->(:City)-[:IsPartOf]->(country)"
        " MATCH (b:Person)-[:LivesIn]->(:City)-[:IsPartOf]->(country)"
        " MATCH (c:Person)-[:LivesIn]->(:City)-[:IsPartOf]->(country)"
        " MATCH (a)-[:Knows]->(b)-[:Knows]->(c)-[:Knows]->(a) RETURN count(*)",
        "SELECT count(*) FROM city a_city JOIN city b_city ON b_city.country = a_city.country"
        " JOIN city c_city ON c_city.country = a_city.country"
        " JOIN person a ON a.city = a_city.id JOIN person b ON b.city = b_city.id"
        " JOIN person c ON c.city = c_city.id"
        " JOIN knows ab ON ab.a = a.id AND ab.b = b.id"
        " JOIN knows bc ON bc.a = b.id AND bc.b = c.id"
        " JOIN knows ca ON ca.a = c.id AND ca.b = a.id",
    ),
    LsqbQuery(
        "q4",
        "a star around each message: tag, author, who likes it, reply",
        "MATCH (:Tag)<-[:HAS_TAG]-(m:Message)-[:HAS_CREATOR]->(:Person),"
        " (m)<-[:LIKES]-(:Person), (m)<-[:REPLY_OF]-(:Comment) RETURN count(*)",
        "MATCH (:Tag)<-[:HasTag]-(m:Message)-[:HasCreator]->(:Person),"
        " (m)<-[:Likes]-(:Person), (m)<-[:ReplyOf]-(:Message) RETURN count(*)",
        "SELECT count(*) FROM message_tag JOIN creator ON creator.message = message_tag.message"
        " JOIN reply ON reply.parent = message_tag.message"
        " JOIN likes ON likes.message = message_tag.message",
    ),
    LsqbQuery(
        "q5",
        "a message and its reply with different tags",
        "MATCH (s:Tag)<-[:HAS_TAG]-(:Message)<-[:REPLY_OF]-(:Comment)-[:HAS_TAG]->(t:Tag)"
        " WHERE s <> t RETURN count(*)",
        "MATCH (s:Tag)<-[:HasTag]-(:Message)<-[:ReplyOf]-(:Message)-[:HasTag]->(t:Tag)"
        " WHERE id(s) <> id(t) RETURN count(*)",
        "SELECT count(*) FROM message_tag JOIN reply ON message_tag.message = reply.parent"
        " JOIN comment_tag ON reply.comment = comment_tag.comment"
        " WHERE message_tag.tag <> comment_tag.tag",
    ),
    LsqbQuery(
        "q6",
        "interests of friends of friends",
        "MATCH (a:Person)-[:KNOWS]-(:Person)-[:KNOWS]-(c:Person)-[:HAS_INTEREST]->(:Tag)"
        " WHERE a <> c RETURN count(*)",
        "MATCH (a:Person)-[:Knows]->(:Person)-[:Knows]->(c:Person)-[:HasInterest]->(:Tag)"
        " WHERE id(a) <> id(c) RETURN count(*)",
        "SELECT count(*) FROM knows ab JOIN knows bc ON ab.b = bc.a AND ab.a <> bc.b"
        " JOIN interest ON interest.person = bc.b",
    ),
    LsqbQuery(
        "q7",
        "q4 with OPTIONAL MATCH of likes and of replies",
        "MATCH (:Tag)<-[:HAS_TAG]-(m:Message)-[:HAS_CREATOR]->(:Person)"
        " OPTIONAL MATCH (m)<-[:LIKES]-(:Person) OPTIONAL MATCH (m)<-[:REPLY_OF]-(:Comment)"
        " RETURN count(*)",
        "MATCH (:Tag)<-[:HasTag]-(m:Message)-[:HasCreator]->(:Person)"
        " OPTIONAL MATCH (m)<-[:Likes]-(:Person) OPTIONAL MATCH (m)<-[:ReplyOf]-(:Message)"
        " RETURN count(*)",
        "SELECT count(*) FROM message_tag JOIN creator ON creator.message = message_tag.message"
        " LEFT JOIN reply ON reply.parent = message_tag.message"
        " LEFT JOIN likes ON likes.message = message_tag.message",
    ),
    LsqbQuery(
        "q8",
        "q5 where the reply does not have the message's tag",
        "MATCH (s:Tag)<-[:HAS_TAG]-(:Message)<-[:REPLY_OF]-(c:Comment)-[:HAS_TAG]->(t:Tag)"
        " WHERE NOT (c)-[:HAS_TAG]->(s) AND s <> t RETURN count(*)",
        "MATCH (s:Tag)<-[:HasTag]-(:Message)<-[:ReplyOf]-(c:Message)-[:HasTag]->(t:Tag)"
        " WHERE NOT (c)-[:HasTag]->(s) AND id(s) <> id(t) RETURN count(*)",
        "SELECT count(*) FROM message_tag JOIN reply ON message_tag.message = reply.parent"
        " JOIN comment_tag ON reply.comment = comment_tag.comment"
        " LEFT JOIN comment_tag same"
        " ON same.tag = message_tag.tag AND same.comment = reply.comment"
        " WHERE message_tag.tag <> comment_tag.tag AND same.tag IS NULL",
    ),
    LsqbQuery(
        "q9",
        "q6 where the first and the last do not know each other",
        "MATCH (a:Person)-[:KNOWS]-(:Person)-[:KNOWS]-(c:Person)-[:HAS_INTEREST]->(:Tag)"
        " WHERE NOT (a)-[:KNOWS]-(c) AND a <> c RETURN count(*)",
        "MATCH (a:Person)-[:Knows]->(:Person)-[:Knows]->(c:Person)-[:HasInterest]->(:Tag)"
        " WHERE NOT (a)-[:Knows]->(c) AND id(a) <> id(c) RETURN count(*)",
        "SELECT count(*) FROM knows ab JOIN knows bc ON ab.b = bc.a AND ab.a <> bc.b"
        " JOIN interest ON interest.person = bc.b"
        " LEFT JOIN knows ac ON ac.a = ab.a AND ac.b = bc.b WHERE ac.a IS NULL",
    ),
)
