// a user by name
MATCH (u:User {name: $user}) RETURN u.objectid, u.enabled, u.title, u.lastlogon;

// groups of a user
MATCH (u:User {name: $user})-[:MemberOf]->(g:Group) RETURN g.name;

// groups of a user, nested
MATCH (u:User {name: $user})-[:MemberOf*1..]->(g:Group) RETURN DISTINCT g.name;

// paths to a user's groups
MATCH p = (u:User {name: $user})-[:MemberOf*1..4]->(g:Group) RETURN p;

// members of a group, nested
MATCH (m)-[:MemberOf*1..]->(g:Group {name: $admins})
RETURN labels(m) AS kind, count(DISTINCT m) AS members ORDER BY members DESC, kind;

// users of a group, nested, enabled
MATCH (u:User)-[:MemberOf*1..]->(g:Group {name: $group}) WHERE u.enabled RETURN DISTINCT u.name;

// co-members of a user
MATCH (u:User {name: $user})-[:MemberOf]->(g)<-[:MemberOf]-(v:User) WHERE u <> v
RETURN v.name, count(g) AS shared ORDER BY shared DESC, v.name LIMIT 25;

// kerberoastable users
MATCH (u:User) WHERE u.hasspn AND u.enabled RETURN u.name, u.pwdlastset ORDER BY u.pwdlastset, u.name;

// users without preauthentication
MATCH (u:User {dontreqpreauth: true}) RETURN count(u);

// unsupported systems
MATCH (c:Computer) WHERE c.operatingsystem =~ '.*(2012|7)' AND c.enabled
RETURN c.operatingsystem, count(*) AS n ORDER BY n DESC, c.operatingsystem;

// kerberoastable users with a way to administration
MATCH (u:User {hasspn: true})-[:MemberOf*1..3]->(g:Group)-[:AdminTo]->(c:Computer)
RETURN u.name, count(DISTINCT c) AS computers ORDER BY computers DESC, u.name LIMIT 10;

// local administrators of a computer
MATCH (c:Computer {name: $computer})
OPTIONAL MATCH (u:User)-[:AdminTo]->(c)
WITH c, collect(u.name) AS direct
OPTIONAL MATCH (g:Group)-[:AdminTo]->(c)
OPTIONAL MATCH (v:User)-[:MemberOf*1..3]->(g)
RETURN c.name, size(direct) AS direct, count(DISTINCT g) AS groups, count(DISTINCT v) AS indirect;

// sessions of members of a group
MATCH (g:Group {name: $admins})<-[:MemberOf*1..2]-(u:User)<-[:HasSession]-(c:Computer)
RETURN DISTINCT c.name, u.name ORDER BY c.name, u.name LIMIT 50;

// computers where high value members are logged on
MATCH (g:Group {highvalue: true})<-[:MemberOf*1..]-(u:User)<-[:HasSession]-(c:Computer)
RETURN c.name, count(DISTINCT u) AS users ORDER BY users DESC, c.name LIMIT 20;

// from session to administration
MATCH p = (u:User)-[:MemberOf]->()-[:MemberOf*0..2]->()-[:AdminTo]->()-[:HasSession]->(v:User)
WHERE v.hasspn RETURN count(p);

// nested groups, paths
MATCH p = (g:Group)-[:MemberOf*1..6]->(h:Group) RETURN count(p);

// deepest nesting
MATCH p = (g:Group)-[:MemberOf*1..8]->(h:Group {name: $admins})
RETURN length(p) AS depth, count(*) AS paths ORDER BY depth;

// shortest path from one user to the administrators
MATCH p = shortestPath((u:User {name: $user})-[:MemberOf|AdminTo|HasSession|GenericAll|WriteDacl|AddMember*1..]->(g:Group {name: $admins}))
RETURN length(p);

// all shortest paths from one user to another
MATCH p = allShortestPaths((u:User {name: $user})-[:MemberOf|AdminTo|HasSession*1..8]->(v:User {name: $other}))
RETURN [n IN nodes(p) | n.name] AS names;

// shortest paths from owned users to high value groups
MATCH p = shortestPath((u:User {owned: true})-[:MemberOf|AdminTo|HasSession|GenericAll|GenericWrite|ForceChangePassword*1..6]->(g:Group {highvalue: true}))
RETURN u.name, g.name, length(p) AS steps ORDER BY steps, u.name, g.name LIMIT 30;

// shortest paths to unconstrained delegation
MATCH p = shortestPath((u:User {owned: true})-[:MemberOf|AdminTo|HasSession*1..]->(c:Computer {unconstraineddelegation: true}))
WHERE u <> c RETURN count(p), min(length(p)), max(length(p));

// shortest paths to a computer from anyone of a title
MATCH p = shortestPath((u:User)-[:MemberOf|AdminTo|CanRDP|HasSession*1..5]->(c:Computer {name: $computer}))
WHERE u.title = 'Director' RETURN length(p) AS steps, count(*) AS users ORDER BY steps;

// anyone's neighbours by name
MATCH (s)-[r]-(t) WITH s, r, t, labels(t) AS kinds WHERE s.name = $group
WITH DISTINCT t, kinds, type(r) AS kind RETURN t.name, kinds, kind;

// kinds of relationships of a group
MATCH (g:Group {name: $admins})-[r]-(x) RETURN type(r) AS kind, labels(x) AS other, count(*) AS n
ORDER BY n DESC, kind, other;

// control over users
MATCH p = (g:Group)-[:GenericAll|ForceChangePassword]->(u:User)-[:MemberOf*1..2]->(h:Group {highvalue: true})
RETURN g.name, count(p) AS ways ORDER BY ways DESC, g.name LIMIT 20;

// who controls an object
MATCH (u:User)-[r:GenericAll|WriteDacl|AddMember]->(g:Group)
RETURN u.name, collect(DISTINCT type(r)) AS rights, count(g) AS groups ORDER BY groups DESC, u.name LIMIT 20;

// logins of some users
UNWIND $names AS name MATCH (u:User {name: name})
OPTIONAL MATCH (u)<-[:HasSession]-(c:Computer)
RETURN name, u.lastlogon, collect(c.name) AS computers;

// stale computers with sessions
MATCH (c:Computer) WHERE c.lastlogon < 100 AND EXISTS { (c)-[:HasSession]->(:User {enabled: true}) }
RETURN c.name, COUNT { (c)-[:HasSession]->() } AS sessions ORDER BY sessions DESC, c.name LIMIT 20;

// empty groups
MATCH (g:Group) WHERE NOT EXISTS { (g)<-[:MemberOf]-() } RETURN g.name;

// groups with most computers to administer
MATCH (g:Group) WITH g, COUNT { (g)-[:AdminTo]->(:Computer) } AS computers WHERE computers > 4
RETURN g.name, computers ORDER BY computers DESC, g.name LIMIT 20;

// users with most rights, over groups
MATCH (u:User) OPTIONAL MATCH (u)-[:AdminTo]->(c:Computer) WITH u, collect(DISTINCT c) AS first
OPTIONAL MATCH (u)-[:MemberOf*1..2]->(:Group)-[:AdminTo]->(d:Computer)
WITH u, first, collect(DISTINCT d) AS second
RETURN u.name, size(first) AS direct, size(second) AS over ORDER BY over DESC, direct DESC, u.name LIMIT 10;

// organizational units below
MATCH (o:OU {name: $ou})-[:Contains*1..]->(below:OU) RETURN count(below);

// policies that reach computers
MATCH (p:GPO)-[:GPLink]->(o:OU)-[:Contains*1..]->(c:Computer)
RETURN p.name, count(DISTINCT c) AS computers ORDER BY computers DESC, p.name;

// certificate templates that anyone may abuse
MATCH (u:User {name: $user})-[:MemberOf*1..]->(g:Group)-[:Enroll]->(t:CertTemplate)-[:PublishedTo]->(ca:EnterpriseCA)
WHERE t.enrolleesuppliessubject RETURN DISTINCT t.name, ca.name;

// password age by title
MATCH (u:User) WHERE u.enabled AND u.pwdneverexpires
RETURN u.title, count(*) AS n, avg(u.pwdlastset) AS age, max(u.lastlogon) AS latest ORDER BY u.title;

// active administrators with disabled sessions
MATCH (a:User {admincount: true})-[:MemberOf]->(g:Group) WHERE a.lastlogon > $since
MATCH (g)-[:AdminTo]->(c:Computer) WHERE NOT c.enabled
RETURN a.name, collect(DISTINCT c.name) AS computers;

// remote desktop beyond administrators
MATCH (u:User)-[:CanRDP]->(c:Computer) WHERE NOT (u)-[:MemberOf]->(:Group)-[:AdminTo]->(c)
RETURN count(DISTINCT u) AS users, count(DISTINCT c) AS computers;

// high value paths whose nodes are all enabled
MATCH p = (u:User {owned: true})-[:MemberOf|AdminTo|HasSession*1..4]->(x:User)
WHERE all(n IN nodes(p) WHERE coalesce(n.enabled, true)) RETURN count(p), count(DISTINCT x);

// computers by parts of their names
MATCH (c:Computer) WHERE c.name STARTS WITH 'COMP1' AND NOT c.haslaps RETURN c.name ORDER BY c.name LIMIT 100;

// domain replication
MATCH (x)-[:MemberOf*0..3]->(g:Group)-[:DCSync]->(d:Domain) RETURN d.name, count(DISTINCT x) AS able ORDER BY d.name;
