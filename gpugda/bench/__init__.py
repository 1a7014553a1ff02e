"""The comparison with Neo4j: the thesis' experiments, repeatable, and users' own queries."""
