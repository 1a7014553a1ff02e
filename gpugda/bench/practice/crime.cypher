// crimes by type
MATCH (c:Crime) RETURN c.type AS type, count(c) AS total ORDER BY total DESC, type;

// crimes at one address
MATCH (l:Location {address: $street})<-[:OCCURRED_AT]-(c:Crime) RETURN c.type, c.date, c.charge;

// addresses with most crimes
MATCH (l:Location)<-[:OCCURRED_AT]-(:Crime) RETURN l.address, l.postcode, count(l) AS total
ORDER BY total DESC, l.address LIMIT 15;

// crimes near an address
MATCH (l:Location {address: $street})-[:LOCATION_IN_AREA]->(a)<-[:LOCATION_IN_AREA]-(m:Location)<-[:OCCURRED_AT]-(c:Crime)
RETURN c.type, count(DISTINCT c) AS crimes ORDER BY crimes DESC, c.type;

// crimes near a point
WITH point({latitude: $latitude, longitude: $longitude}) AS here
MATCH (l:Location)<-[:OCCURRED_AT]-(c:Crime)
WITH c, point.distance(point({latitude: l.latitude, longitude: l.longitude}), here) AS distance WHERE distance < 5000
RETURN c.type, count(*) AS crimes ORDER BY crimes DESC, c.type;

// crimes of an officer's rank, by outcome
MATCH (o:Officer {rank: $rank})<-[:INVESTIGATED_BY]-(c:Crime)
RETURN c.last_outcome, count(c) AS crimes ORDER BY crimes DESC, c.last_outcome;

// open cases of each inspector
MATCH (o:Officer {rank: $rank})<-[:INVESTIGATED_BY]-(c:Crime {last_outcome: $outcome, type: $type})
RETURN o.badge_no, o.surname, collect(c.charge) AS charges, count(*) AS n ORDER BY n DESC, o.badge_no LIMIT 20;

// suspects of open cases
MATCH (c:Crime {last_outcome: $outcome, type: $type})<-[:PARTY_TO]-(p:Person)
RETURN p.nhs_no, p.surname, count(c) AS crimes ORDER BY crimes DESC, p.nhs_no;

// shortest paths between suspects
MATCH (c:Crime {last_outcome: $outcome, type: $type})<-[:PARTY_TO]-(p:Person)
WITH collect(DISTINCT p) AS people
UNWIND people AS a UNWIND people AS b
WITH a, b WHERE elementId(a) < elementId(b)
MATCH w = shortestPath((a)-[:KNOWS|KNOWS_LW|KNOWS_SN|FAMILY_REL|KNOWS_PHONE*..3]-(b))
RETURN length(w) AS steps, count(*) AS pairs ORDER BY steps;

// connections between two people
MATCH (a:Person {nhs_no: $nhs}), (b:Person {nhs_no: $other})
MATCH p = allShortestPaths((a)-[:KNOWS|KNOWS_LW|KNOWS_SN|FAMILY_REL|KNOWS_PHONE*..8]-(b))
RETURN [n IN nodes(p) | n.nhs_no] AS people, [r IN relationships(p) | type(r)] AS kinds;

// any connection between two people
MATCH p = shortestPath((a:Person {nhs_no: $nhs})-[*..10]-(b:Person {nhs_no: $other})) RETURN length(p);

// a person and all that is known
MATCH (p:Person {nhs_no: $nhs})-[r]-(x) RETURN type(r) AS kind, labels(x) AS other, count(*) AS n ORDER BY n DESC, kind;

// family and friends in crime
MATCH (p:Person {nhs_no: $nhs})-[:KNOWS|FAMILY_REL*1..2]-(q:Person)-[:PARTY_TO]->(c:Crime) WHERE p <> q
RETURN DISTINCT q.nhs_no, c.type;

// vulnerable people: friends of suspects
MATCH (p:Person)-[:KNOWS]-(f:Person)-[:PARTY_TO]->(:Crime) WHERE NOT (p)-[:PARTY_TO]->(:Crime)
RETURN p.nhs_no, p.surname, count(DISTINCT f) AS dangerous ORDER BY dangerous DESC, p.nhs_no LIMIT 10;

// friends of friends of suspects
MATCH (p:Person)-[:KNOWS*1..2]-(f:Person)-[:PARTY_TO]->(:Crime)
WHERE NOT EXISTS { (p)-[:PARTY_TO]->(:Crime) } AND p <> f
RETURN p.nhs_no, count(DISTINCT f) AS dangerous ORDER BY dangerous DESC, p.nhs_no LIMIT 10;

// dangerous families
MATCH (a:Person)-[r:FAMILY_REL]-(b:Person) WHERE EXISTS { (a)-[:PARTY_TO]->() } AND EXISTS { (b)-[:PARTY_TO]->() }
RETURN DISTINCT a.nhs_no, b.nhs_no, r.rel_type;

// people at the same address
MATCH (a:Person)-[:CURRENT_ADDRESS]->(l:Location)<-[:CURRENT_ADDRESS]-(b:Person) WHERE a.nhs_no < b.nhs_no
RETURN l.address, count(*) AS pairs ORDER BY pairs DESC, l.address LIMIT 20;

// children with suspects at home
MATCH (p:Person)-[:CURRENT_ADDRESS]->(l)<-[:CURRENT_ADDRESS]-(q:Person)-[:PARTY_TO]->(c:Crime) WHERE p.age < 18 AND p <> q
RETURN p.nhs_no, collect(DISTINCT c.type) AS types;

// most called numbers
MATCH (ph:Phone)<-[:CALLED]-(call:PhoneCall) WITH ph, count(call) AS calls, sum(call.call_duration) AS seconds
OPTIONAL MATCH (ph)<-[:HAS_PHONE]-(p:Person)
RETURN ph.phoneNo, calls, seconds, collect(p.surname) AS owners ORDER BY calls DESC, ph.phoneNo LIMIT 20;

// calls between people
MATCH (a:Person)-[:HAS_PHONE]->(:Phone)<-[:CALLER]-(call:PhoneCall)-[:CALLED]->(:Phone)<-[:HAS_PHONE]-(b:Person)
RETURN a.nhs_no, b.nhs_no, count(call) AS calls, sum(call.call_duration) AS seconds
ORDER BY calls DESC, seconds DESC, a.nhs_no, b.nhs_no LIMIT 30;

// calls after a date that concern suspects
MATCH (p:Person)-[:HAS_PHONE]->(ph:Phone)<-[:CALLER|CALLED]-(call:PhoneCall)
WHERE call.call_date > $since AND (p)-[:PARTY_TO]->(:Crime {type: $type})
RETURN p.nhs_no, count(DISTINCT call) AS calls ORDER BY calls DESC, p.nhs_no;

// vehicles in an area
MATCH (v:Vehicle)-[:INVOLVED_IN]->(c:Crime)-[:OCCURRED_AT]->(l:Location)-[:LOCATION_IN_AREA]->(a:Area {areaCode: $area})
RETURN v.reg, v.make, c.type, l.address;

// a vehicle
MATCH (v:Vehicle {reg: $reg}) OPTIONAL MATCH (v)-[:INVOLVED_IN]->(c:Crime)-[:INVESTIGATED_BY]->(o:Officer)
RETURN v.make, v.year, c.type, o.badge_no;

// weapons and who may have held them
MATCH (o:Object {type: 'Weapon'})-[:INVOLVED_IN]->(c:Crime)<-[:PARTY_TO]-(p:Person) RETURN o.description, p.nhs_no;

// areas by crimes per address
MATCH (a:Area)<-[:LOCATION_IN_AREA]-(l:Location)
OPTIONAL MATCH (l)<-[:OCCURRED_AT]-(c:Crime)
WITH a, count(DISTINCT l) AS places, count(c) AS crimes
RETURN a.areaCode, places, crimes, 1.0 * crimes / places AS rate ORDER BY rate DESC, a.areaCode LIMIT 20;

// three kinds of crimes per area
MATCH (c:Crime)-[:OCCURRED_AT]->()-[:LOCATION_IN_AREA]->(a:Area)
WITH a, c.type AS type, count(*) AS crimes ORDER BY crimes DESC, type
WITH a, collect({type: type, crimes: crimes})[..3] AS top RETURN a.areaCode, top;

// addresses with repeated burglaries
MATCH (l:Location)<-[:OCCURRED_AT]-(c:Crime {type: 'Burglary'}) WITH l, count(c) AS n, min(c.date) AS first, max(c.date) AS last
WHERE n > 2 RETURN l.address, n, last - first AS days ORDER BY n DESC, l.address LIMIT 20;

// officers who share addresses
MATCH (o:Officer)<-[:INVESTIGATED_BY]-(:Crime)-[:OCCURRED_AT]->(l:Location)<-[:OCCURRED_AT]-(:Crime)-[:INVESTIGATED_BY]->(p:Officer)
WHERE o.badge_no < p.badge_no WITH o, p, count(DISTINCT l) AS places WHERE places > 1
RETURN o.badge_no, p.badge_no, places ORDER BY places DESC, o.badge_no, p.badge_no LIMIT 20;

// people by their number of contacts
MATCH (p:Person) WITH p, COUNT { (p)-[:KNOWS|KNOWS_SN|KNOWS_LW]-(:Person) } AS contacts
RETURN contacts, count(*) AS people ORDER BY contacts;

// some people with addresses, phones and mail
UNWIND $people AS nhs MATCH (p:Person {nhs_no: nhs})
OPTIONAL MATCH (p)-[:CURRENT_ADDRESS]->(l:Location)
OPTIONAL MATCH (p)-[:HAS_PHONE]->(ph:Phone)
OPTIONAL MATCH (p)-[:HAS_EMAIL]->(e:Email)
RETURN nhs, p.surname, l.address, collect(DISTINCT ph.phoneNo) AS phones, collect(DISTINCT e.email_address) AS mail;

// triangles of acquaintances
MATCH (a:Person)-[:KNOWS]-(b:Person)-[:KNOWS]-(c:Person)-[:KNOWS]-(a) RETURN count(*) AS triangles;

// postcodes of an area without crimes
MATCH (a:Area {areaCode: $area})<-[:POSTCODE_IN_AREA]-(pc:PostCode)
WHERE NOT EXISTS { (pc)<-[:HAS_POSTCODE]-(:Location)<-[:OCCURRED_AT]-(:Crime) } RETURN pc.code;

// suspects of a surname within four steps
MATCH p = (a:Person {nhs_no: $nhs})-[:KNOWS|KNOWS_SN*1..4]-(b:Person {surname: $surname})
WHERE any(n IN nodes(p) WHERE n.age < 20) RETURN length(p) AS steps, count(p) AS ways ORDER BY steps;

// people reached by all kinds of acquaintance
MATCH (a:Person {nhs_no: $nhs})-[:KNOWS|KNOWS_LW|KNOWS_SN|KNOWS_PHONE|FAMILY_REL*1..3]-(b:Person)
RETURN count(DISTINCT b) AS people;
