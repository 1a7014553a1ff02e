// a person's profile
MATCH (p:Person {lastname: $person})-[:IS_LOCATED_IN]->(c:City)
RETURN p.firstname, p.lastname, p.birthday, p.browser, c.name, p.gender, p.creationdate;

// a person's latest messages
MATCH (p:Person {lastname: $person})<-[:HAS_CREATOR]-(m:Message)
RETURN m.content, m.creationdate ORDER BY m.creationdate DESC, m.content LIMIT 10;

// a person's latest messages with the post that they reply to
MATCH (:Person {lastname: $person})<-[:HAS_CREATOR]-(m:Message)
WITH m ORDER BY m.creationdate DESC, m.content LIMIT 10
MATCH (m)-[:REPLY_OF*0..]->(post:Post)-[:HAS_CREATOR]->(author:Person)
RETURN m.content, post.content, author.lastname;

// friends, the newest first
MATCH (p:Person {lastname: $person})-[r:KNOWS]-(f:Person)
RETURN f.firstname, f.lastname, r.creationdate AS since ORDER BY since DESC, f.lastname;

// a message
MATCH (m:Message {content: $post}) RETURN m.creationdate, m.length;

// creator of a message
MATCH (m:Message {content: $post})-[:HAS_CREATOR]->(p:Person) RETURN p.firstname, p.lastname;

// forum of a message
MATCH (m:Message {content: $post})-[:REPLY_OF*0..]->(p:Post)<-[:CONTAINER_OF]-(f:Forum)-[:HAS_MODERATOR]->(mod:Person)
RETURN f.title, mod.lastname;

// replies to a message, and whether the authors know each other
MATCH (m:Message {content: $post})<-[:REPLY_OF]-(c:Comment)-[:HAS_CREATOR]->(p:Person)
OPTIONAL MATCH (m)-[:HAS_CREATOR]->(a:Person)-[r:KNOWS]-(p)
RETURN c.content, p.lastname, CASE r WHEN null THEN false ELSE true END AS known;

// friends of a first name within three steps
MATCH (p:Person {lastname: $person}), (f:Person {firstname: $first}) WHERE p <> f
MATCH path = shortestPath((p)-[:KNOWS*1..3]-(f))
RETURN length(path) AS distance, f.lastname ORDER BY distance, f.lastname LIMIT 20;

// friends' latest messages
MATCH (:Person {lastname: $person})-[:KNOWS]-(f:Person)<-[:HAS_CREATOR]-(m:Message) WHERE m.creationdate < $until
RETURN f.lastname, m.content, m.creationdate ORDER BY m.creationdate DESC, m.content LIMIT 20;

// friends of friends in two countries
MATCH (p:Person {lastname: $person})-[:KNOWS*1..2]-(f:Person) WHERE f <> p
WITH DISTINCT f
MATCH (f)<-[:HAS_CREATOR]-(m:Message)-[:IS_LOCATED_IN]->(c:Country) WHERE c.name IN $two
RETURN f.lastname, count(m) AS messages ORDER BY messages DESC, f.lastname LIMIT 20;

// new topics of friends
MATCH (:Person {lastname: $person})-[:KNOWS]-(:Person)<-[:HAS_CREATOR]-(post:Post)-[:HAS_TAG]->(t:Tag)
WITH t, sum(CASE WHEN post.creationdate < $from THEN 1 ELSE 0 END) AS before,
     sum(CASE WHEN $from <= post.creationdate < $until THEN 1 ELSE 0 END) AS during
WHERE before = 0 AND during > 0
RETURN t.name, during ORDER BY during DESC, t.name LIMIT 10;

// forums that friends joined
MATCH (p:Person {lastname: $person})-[:KNOWS*1..2]-(f:Person)<-[r:HAS_MEMBER]-(forum:Forum)
WHERE r.joindate > $from AND f <> p
RETURN forum.title, count(DISTINCT f) AS friends ORDER BY friends DESC, forum.title LIMIT 20;

// tags beside a tag
MATCH (p:Person {lastname: $person})-[:KNOWS*1..2]-(f:Person) WHERE f <> p
WITH DISTINCT f
MATCH (f)<-[:HAS_CREATOR]-(post:Post)-[:HAS_TAG]->(:Tag {name: $tag})
MATCH (post)-[:HAS_TAG]->(t:Tag) WHERE t.name <> $tag
RETURN t.name, count(DISTINCT post) AS posts ORDER BY posts DESC, t.name LIMIT 10;

// latest likes of a person's messages
MATCH (:Person {lastname: $person})<-[:HAS_CREATOR]-(m:Message)<-[l:LIKES]-(f:Person)
WITH f, l.creationdate AS at, m ORDER BY at DESC, m.content
WITH f, collect({at: at, content: m.content})[0] AS latest
RETURN f.lastname, latest.at, latest.content ORDER BY latest.at DESC, f.lastname LIMIT 20;

// latest replies
MATCH (:Person {lastname: $person})<-[:HAS_CREATOR]-(:Message)<-[:REPLY_OF]-(c:Comment)-[:HAS_CREATOR]->(a:Person)
RETURN a.lastname, c.creationdate, c.content ORDER BY c.creationdate DESC, c.content LIMIT 20;

// friends of friends with the same interests
MATCH (p:Person {lastname: $person})-[:KNOWS*2..2]-(f:Person) WHERE f <> p AND NOT (p)-[:KNOWS]-(f)
WITH DISTINCT p, f
OPTIONAL MATCH (f)<-[:HAS_CREATOR]-(post:Post)
WITH p, f, count(post) AS posts, COUNT { (f)-[:HAS_INTEREST]->(:Tag)<-[:HAS_INTEREST]-(p) } AS shared
RETURN f.lastname, 2 * shared - posts AS score ORDER BY score DESC, f.lastname LIMIT 10;

// job referral
MATCH (p:Person {lastname: $person})-[:KNOWS*1..2]-(f:Person) WHERE f <> p
WITH DISTINCT f
MATCH (f)-[w:WORK_AT]->(c:Company)-[:IS_LOCATED_IN]->(:Country {name: $country}) WHERE w.workfrom < $year
RETURN f.lastname, c.name, w.workfrom ORDER BY w.workfrom, f.lastname, c.name LIMIT 10;

// experts on a class of tags
MATCH (:Person {lastname: $person})-[:KNOWS]-(f:Person)<-[:HAS_CREATOR]-(c:Comment)-[:REPLY_OF]->(:Post)
      -[:HAS_TAG]->(t:Tag)-[:HAS_TYPE]->(:TagClass)-[:IS_SUBCLASS_OF*0..]->(:TagClass {name: $class})
RETURN f.lastname, collect(DISTINCT t.name) AS tags, count(DISTINCT c) AS replies
ORDER BY replies DESC, f.lastname LIMIT 20;

// distance of two people
MATCH (a:Person {lastname: $person}), (b:Person {lastname: $other})
OPTIONAL MATCH p = shortestPath((a)-[:KNOWS*]-(b)) RETURN CASE p WHEN null THEN -1 ELSE length(p) END AS distance;

// all shortest paths between two people
MATCH (a:Person {lastname: $person}), (b:Person {lastname: $other})
MATCH p = allShortestPaths((a)-[:KNOWS*..10]-(b)) RETURN [n IN nodes(p) | n.lastname] AS way;

// messages by year, kind and length
MATCH (m:Message) WHERE m.creationdate < $until
WITH m.creationdate / 100 AS year, labels(m) AS kind,
     CASE WHEN m.length < 40 THEN 0 WHEN m.length < 80 THEN 1 ELSE 2 END AS size, m.length AS length
RETURN year, kind, size, count(*) AS messages, avg(length) AS mean ORDER BY year DESC, kind, size;

// tags of a class by two windows
MATCH (t:Tag)-[:HAS_TYPE]->(:TagClass {name: $class})
OPTIONAL MATCH (t)<-[:HAS_TAG]-(m:Message) WHERE m.creationdate < $from
WITH t, count(m) AS before
OPTIONAL MATCH (t)<-[:HAS_TAG]-(m:Message) WHERE $from <= m.creationdate < $until
WITH t, before, count(m) AS after
RETURN t.name, before, after, abs(before - after) AS change ORDER BY change DESC, t.name LIMIT 50;

// popular topics in a country
MATCH (:Country {name: $country})<-[:IS_PART_OF]-(:City)<-[:IS_LOCATED_IN]-(p:Person)<-[:HAS_MODERATOR]-(f:Forum)
      -[:CONTAINER_OF]->(post:Post)-[:HAS_TAG]->(:Tag)-[:HAS_TYPE]->(:TagClass {name: $class})
RETURN f.title, p.lastname, count(DISTINCT post) AS posts ORDER BY posts DESC, f.title LIMIT 20;

// most active posters of a topic
MATCH (t:Tag {name: $tag})<-[:HAS_TAG]-(m:Message)-[:HAS_CREATOR]->(p:Person)
OPTIONAL MATCH (m)<-[l:LIKES]-(:Person)
WITH p, m, count(l) AS likes
OPTIONAL MATCH (m)<-[r:REPLY_OF]-(:Comment)
WITH p, m, likes, count(r) AS replies
RETURN p.lastname, count(m) AS messages, sum(likes) AS likes, sum(replies) AS replies,
       count(m) + 10 * sum(likes) + 2 * sum(replies) AS score ORDER BY score DESC, p.lastname LIMIT 30;

// related topics
MATCH (t:Tag {name: $tag})<-[:HAS_TAG]-(m:Message)<-[:REPLY_OF]-(c:Comment)-[:HAS_TAG]->(r:Tag)
WHERE NOT (c)-[:HAS_TAG]->(t) RETURN r.name, count(DISTINCT c) AS comments ORDER BY comments DESC, r.name LIMIT 20;

// triangles of friends in a country
MATCH (:Country {name: $country})<-[:IS_PART_OF]-(:City)<-[:IS_LOCATED_IN]-(a:Person)-[:KNOWS]-(b:Person)
      -[:KNOWS]-(c:Person)-[:KNOWS]-(a)
WHERE elementId(a) < elementId(b) AND elementId(b) < elementId(c) RETURN count(*) AS triangles;

// how many messages people have
MATCH (p:Person) OPTIONAL MATCH (p)<-[:HAS_CREATOR]-(m:Message) WHERE m.length > 20
WITH p, count(m) AS messages
RETURN messages, count(p) AS people ORDER BY people DESC, messages DESC;

// friends of friends who are not friends, most friends in common
MATCH (p:Person)-[:KNOWS]-(f:Person)-[:KNOWS]-(q:Person) WHERE elementId(p) < elementId(q) AND NOT (p)-[:KNOWS]-(q)
RETURN p.lastname, q.lastname, count(DISTINCT f) AS common ORDER BY common DESC, p.lastname, q.lastname LIMIT 20;

// largest forums with their most active members
MATCH (f:Forum)-[:HAS_MEMBER]->(m:Person) WITH f, count(m) AS members ORDER BY members DESC, f.title LIMIT 5
MATCH (f)-[:CONTAINER_OF]->(post:Post)-[:HAS_CREATOR]->(p:Person)
RETURN f.title, members, p.lastname, count(post) AS posts ORDER BY members DESC, f.title, posts DESC, p.lastname;

// threads
MATCH (post:Post)<-[:REPLY_OF*1..5]-(c:Comment)
RETURN post.content, count(c) AS replies, count(DISTINCT c) AS comments ORDER BY replies DESC, post.content LIMIT 20;

// longest chains of replies
MATCH p = (c:Comment)-[:REPLY_OF*]->(post:Post)
RETURN length(p) AS depth, count(*) AS chains ORDER BY depth;

// members of a forum who share an interest
MATCH (f:Forum {title: $forum})-[:HAS_MEMBER]->(a:Person)-[:HAS_INTEREST]->(t:Tag)<-[:HAS_INTEREST]-(b:Person)
      <-[:HAS_MEMBER]-(f) WHERE a.lastname < b.lastname
RETURN a.lastname, b.lastname, count(t) AS shared ORDER BY shared DESC, a.lastname, b.lastname LIMIT 20;

// likes among friends
MATCH (a:Person)-[:LIKES]->(m:Message)-[:HAS_CREATOR]->(b:Person) WHERE EXISTS { (a)-[:KNOWS]-(b) }
RETURN count(*) AS likes, count(DISTINCT m) AS messages;

// people by university and year
MATCH (u:University)<-[s:STUDY_AT]-(p:Person) WHERE s.classyear > $year
WITH u, s.classyear AS year, collect(p.lastname) AS people WHERE size(people) > 1
RETURN u.name, year, size(people) AS n ORDER BY n DESC, u.name, year LIMIT 20;

// people around a person
MATCH (p:Person {lastname: $person})-[:KNOWS*1..3]-(q:Person) RETURN count(DISTINCT q) AS people;
