MATCH (p:Product)-[:PART_OF]->(c:Category) RETURN c.categoryName, collect(p.productName) AS products;
MATCH (s:Supplier)-->(:Product)-->(c:Category) RETURN s.companyName AS company, collect(DISTINCT c.categoryName) AS categories;
MATCH (c:Category {categoryName: 'Produce'})<--(:Product)<--(s:Supplier) RETURN DISTINCT s.companyName AS produceSuppliers;
MATCH (cust:Customer)-[:PURCHASED]->(:Order)-[o:ORDERS]->(p:Product), (p)-[:PART_OF]->(c:Category {categoryName: 'Produce'})
RETURN DISTINCT cust.contactName AS name, sum(o.quantity) AS products ORDER BY products DESC, name;
MATCH (c:Customer)-[:PURCHASED]->(:Order)-[:ORDERS]->(p:Product) WHERE c.country = 'Germany'
RETURN p.productName, count(*) AS times ORDER BY times DESC, p.productName LIMIT 10;
MATCH (c:Customer)-[:PURCHASED]->(o:Order)-[r:ORDERS]->(p) WITH c, o, sum(r.unitPrice * r.quantity * (1 - r.discount)) AS total
RETURN c.companyName, round(max(total), 2) AS largest, round(avg(total), 2) AS usual, count(o) AS orders ORDER BY largest DESC LIMIT 10;
MATCH (:Customer {customerID: 'ALFKI'})-[:PURCHASED]->(:Order)-[:ORDERS]->(p)<-[:ORDERS]-(:Order)<-[:PURCHASED]-(peer:Customer)
WITH peer, count(DISTINCT p) AS shared ORDER BY shared DESC, peer.customerID LIMIT 5
MATCH (peer)-[:PURCHASED]->(:Order)-[:ORDERS]->(q:Product)
WHERE NOT EXISTS { (:Customer {customerID: 'ALFKI'})-[:PURCHASED]->(:Order)-[:ORDERS]->(q) }
RETURN q.productName, count(DISTINCT peer) AS peers, count(*) AS times ORDER BY peers DESC, times DESC, q.productName LIMIT 10;
MATCH (p:Product) WHERE p.unitsInStock < 10 OPTIONAL MATCH (p)<-[:SUPPLIES]-(s) RETURN p.productName, p.unitsInStock, s.companyName, s.country;
MATCH (e:Employee) OPTIONAL MATCH (e)-[:REPORTS_TO]->(boss) RETURN e.lastName, boss.lastName;
MATCH p = (e:Employee)-[:REPORTS_TO*]->(top) WHERE NOT (top)-[:REPORTS_TO]->() RETURN e.lastName, length(p) AS levels, top.lastName;
MATCH (e:Employee)-[:SOLD]->(o:Order)-[:ORDERS]->(p:Product) WITH e, p, count(*) AS times ORDER BY times DESC, p.productName
WITH e, collect(p.productName)[..3] AS best RETURN e.firstName + ' ' + e.lastName AS name, best ORDER BY name;
MATCH (o:Order) RETURN substring(o.orderDate, 0, 7) AS month, count(*) AS orders, sum(toFloat(o.freight)) AS freight ORDER BY month;
MATCH (a:Product)<-[:ORDERS]-(o:Order)-[:ORDERS]->(b:Product) WHERE a.productName < b.productName
RETURN a.productName, b.productName, count(o) AS together ORDER BY together DESC, a.productName, b.productName LIMIT 15;
MATCH (c:Customer) WHERE NOT (c)-[:PURCHASED]->() RETURN c.companyName;
MATCH (c:Category) RETURN c.categoryName, COUNT { (c)<-[:PART_OF]-() } AS products, COLLECT { MATCH (c)<-[:PART_OF]-(p) RETURN p.productName ORDER BY p.unitPrice DESC LIMIT 2 } AS dearest;
MATCH (c:Customer)-[:PURCHASED]->(o) WHERE o.shippedDate IS NULL RETURN c.companyName, count(o) AS open ORDER BY open DESC, c.companyName;
MATCH (p:Product) RETURN avg(p.unitPrice), percentileCont(p.unitPrice, 0.5), percentileDisc(p.unitPrice, 0.9), stDev(p.unitPrice);
