// an instance by id
MATCH (i:EC2Instance {instanceid: $instance}) RETURN i.state, i.instancetype, i.region;

// an instance and all around it
MATCH (i:EC2Instance {instanceid: $instance})
OPTIONAL MATCH (i)-[:MEMBER_OF_EC2_SECURITY_GROUP]->(sg:EC2SecurityGroup)
WITH i, collect(sg.name) AS groups
OPTIONAL MATCH (i)-[:PART_OF_SUBNET]->(s)-[:MEMBER_OF_AWS_VPC]->(v:AWSVpc)
RETURN i.instanceid, groups, s.name, v.name;

// instances of an account
MATCH (a:AWSAccount {name: $account})-[:RESOURCE]->(i:EC2Instance)
RETURN i.state, i.instancetype, count(*) AS n ORDER BY n DESC, i.state, i.instancetype;

// resources of each account
MATCH (a:AWSAccount)-[:RESOURCE]->(x) RETURN a.name, labels(x) AS kind, count(x) AS n ORDER BY a.name, n DESC, kind;

// buckets open to anyone
MATCH (a:AWSAccount)-[:RESOURCE]->(b:S3Bucket) WHERE b.anonymousaccess RETURN a.name, collect(b.name) AS buckets;

// instances open to the internet
MATCH (range:IpRange {anywhere: true})-[:MEMBER_OF_IP_RULE]->(rule:IpPermissionInbound)
      -[:MEMBER_OF_EC2_SECURITY_GROUP]->(sg:EC2SecurityGroup)<-[:MEMBER_OF_EC2_SECURITY_GROUP]-(i:EC2Instance)
WHERE i.publicip RETURN DISTINCT i.instanceid, sg.groupid ORDER BY i.instanceid, sg.groupid LIMIT 100;

// paths of exposure
MATCH p = (range:IpRange {anywhere: true})-[:MEMBER_OF_IP_RULE]->(:IpRule)-[:MEMBER_OF_EC2_SECURITY_GROUP]->()
          <-[:MEMBER_OF_EC2_SECURITY_GROUP]-(i:EC2Instance)-[:INSTANCE_PROFILE]->(r:AWSRole)-[:CAN_READ]->(b:S3Bucket)
WHERE NOT b.encrypted RETURN count(p);

// open ports by group
MATCH (rule:IpRule)-[:MEMBER_OF_EC2_SECURITY_GROUP]->(sg:EC2SecurityGroup)
WHERE rule.fromport <= 443 AND rule.protocol = 'tcp'
RETURN sg.name, count(rule) AS rules, collect(rule.fromport) AS ports ORDER BY rules DESC, sg.name LIMIT 20;

// unused security groups
MATCH (sg:EC2SecurityGroup) WHERE NOT (sg)<-[:MEMBER_OF_EC2_SECURITY_GROUP]-(:Asset) RETURN sg.name;

// rights of a user
MATCH (u:AWSUser {name: $user})
OPTIONAL MATCH (u)-[:POLICY]->(p:AWSPolicy)
WITH u, collect(DISTINCT p.name) AS own
OPTIONAL MATCH (u)-[:MEMBER_AWS_GROUP]->(g:AWSGroup)-[:POLICY]->(q:AWSPolicy)
RETURN u.arn, own, collect(DISTINCT q.name) AS inherited;

// statements that a user gets
MATCH (u:AWSUser {name: $user})-[:MEMBER_AWS_GROUP*0..1]->(x)-[:POLICY]->(:AWSPolicy)-[:STATEMENT]->(s:AWSPolicyStatement)
WHERE s.effect = 'Allow' RETURN s.action, count(DISTINCT s) AS n ORDER BY n DESC, s.action;

// roles that a user can assume, in turn
MATCH (u:AWSUser {name: $user})-[:STS_ASSUMEROLE_ALLOW*1..4]->(r:AWSRole) RETURN DISTINCT r.name;

// chains of assumed roles
MATCH p = (u:AWSUser)-[:STS_ASSUMEROLE_ALLOW*2..4]->(r:AWSRole)-[:CAN_READ]->(b:S3Bucket {name: $bucket})
RETURN u.name, min(length(p)) AS shortest, count(p) AS ways ORDER BY ways DESC, u.name LIMIT 20;

// chains without a second factor
MATCH p = (u:AWSUser)-[:STS_ASSUMEROLE_ALLOW*1..3]->(r:AWSRole)
WHERE none(step IN relationships(p) WHERE step.mfa) RETURN length(p) AS steps, count(p) AS chains ORDER BY steps;

// shortest way to a role
MATCH p = shortestPath((u:AWSUser {name: $user})-[:STS_ASSUMEROLE_ALLOW|MEMBER_AWS_GROUP|TRUSTS_AWS_PRINCIPAL*..8]->(r:AWSRole {name: $role}))
RETURN length(p);

// all shortest ways to a role
MATCH p = allShortestPaths((u:AWSUser)-[:STS_ASSUMEROLE_ALLOW*..6]->(r:AWSRole {name: $role}))
WHERE u.passwordlastused > 950 RETURN u.name, [n IN nodes(p) | n.name] AS way;

// principals with administration
MATCH (x:AWSPrincipal)-[:POLICY]->(p:AWSPolicy)-[:STATEMENT]->(s:AWSPolicyStatement {effect: 'Allow', action: '*'})
RETURN x.name, labels(x) AS kind, count(DISTINCT p) AS policies ORDER BY policies DESC, x.name LIMIT 30;

// instances whose role may pass roles
MATCH (i:EC2Instance {state: 'running'})-[:INSTANCE_PROFILE]->(r:AWSRole)-[:POLICY]->(:AWSPolicy)
      -[:STATEMENT]->(s:AWSPolicyStatement) WHERE s.action = 'iam:PassRole' AND s.effect = 'Allow'
RETURN r.name, count(DISTINCT i) AS instances ORDER BY instances DESC, r.name LIMIT 20;

// hosts of a vulnerability
MATCH (c:CVE {name: $cve})-[:AFFECTS]->(p:Package)<-[:HAS_PACKAGE]-(i:EC2Instance)
RETURN i.instanceid, collect(p.name) AS packages;

// critical vulnerabilities by account
MATCH (a:AWSAccount)-[:RESOURCE]->(i:EC2Instance)-[:HAS_PACKAGE]->(:Package)<-[:AFFECTS]-(c:CVE)
WHERE c.severity IN ['HIGH', 'CRITICAL'] AND i.state = 'running'
RETURN a.name, c.severity, count(DISTINCT c) AS cves, count(DISTINCT i) AS instances ORDER BY a.name, c.severity;

// vulnerable and exposed
MATCH (lb:LoadBalancer {scheme: 'internet-facing'})-[:EXPOSE]->(i:EC2Instance)-[:HAS_PACKAGE]->(p:Package)
WHERE EXISTS { (p)<-[:AFFECTS]-(:CVE {exploited: true}) }
RETURN lb.name, i.instanceid, collect(DISTINCT p.name) AS packages;

// packages in most places
MATCH (p:Package) WITH p, COUNT { (p)<-[:HAS_PACKAGE]-(:EC2Instance) } AS hosts ORDER BY hosts DESC, p.name LIMIT 10
OPTIONAL MATCH (p)<-[:AFFECTS]-(c:CVE) RETURN p.name, p.version, hosts, collect(c.name) AS cves;

// records behind a host
MATCH p = (d:DNSRecord {name: $host})-[:DNS_POINTS_TO*1..6]->(x) RETURN labels(x) AS kind, x.name, length(p) AS steps;

// records that point to nothing exposed
MATCH (d:DNSRecord) WHERE d.type = 'CNAME' AND NOT EXISTS { (d)-[:DNS_POINTS_TO]->() } RETURN d.name;

// from a name to the instances
MATCH (d:DNSRecord)-[:DNS_POINTS_TO*1..4]->(lb:LoadBalancer)-[:EXPOSE]->(i:EC2Instance)
RETURN d.name, count(DISTINCT i) AS instances ORDER BY instances DESC, d.name LIMIT 25;

// some instances with their groups
UNWIND $instances AS id MATCH (i:EC2Instance {instanceid: id})-[:MEMBER_OF_EC2_SECURITY_GROUP]->(sg)
RETURN id, collect(sg.groupid) AS groups;

// neighbours in the subnet
MATCH (i:EC2Instance {instanceid: $instance})-[:PART_OF_SUBNET]->(s)<-[:PART_OF_SUBNET]-(j:EC2Instance)
WHERE i <> j AND j.state = 'running' RETURN j.instanceid, j.instancetype;

// networks reached by peering
MATCH (v:AWSVpc)-[:PEERED_WITH*1..3]-(w:AWSVpc) WHERE v <> w
RETURN v.name, count(DISTINCT w) AS reached ORDER BY reached DESC, v.name;

// regions
MATCH (i:EC2Instance) WHERE i.region IN $regions
RETURN i.region, i.instancetype, count(*) AS n, avg(i.launched) AS age ORDER BY i.region, i.instancetype;

// functions of old runtimes with wide roles
MATCH (f:AWSLambda)-[:EXECUTION_ROLE]->(r:AWSRole) WHERE f.runtime = 'python2.7'
WITH r, collect(f.name) AS functions
MATCH (r)-[:CAN_READ]->(b:S3Bucket) RETURN r.name, functions, count(b) AS buckets ORDER BY buckets DESC, r.name;

// roles trusted both ways
MATCH (a:AWSRole)-[:TRUSTS_AWS_PRINCIPAL]->(b:AWSRole)-[:TRUSTS_AWS_PRINCIPAL]->(c:AWSRole)-[:TRUSTS_AWS_PRINCIPAL]->(a)
RETURN count(*);

// relationships of a role
MATCH (r:AWSRole {name: $role})-[x]-(n) RETURN type(x) AS kind, labels(n) AS other, count(*) AS n ORDER BY n DESC, kind;

// users idle, with rights
MATCH (u:AWSUser) WHERE u.passwordlastused < 100
WITH u, COUNT { (u)-[:MEMBER_AWS_GROUP]->()-[:POLICY]->() } AS inherited WHERE inherited > 0
RETURN u.name, inherited ORDER BY inherited DESC, u.name LIMIT 20;

// blast radius of an instance
MATCH (i:EC2Instance {instanceid: $instance})-[:INSTANCE_PROFILE]->(r:AWSRole)
MATCH (r)-[:STS_ASSUMEROLE_ALLOW*0..5]->(x:AWSRole)
WITH collect(DISTINCT x) AS roles
UNWIND roles AS role OPTIONAL MATCH (role)-[:CAN_READ]->(b:S3Bucket)
RETURN size(roles) AS roles, count(DISTINCT b) AS buckets;
