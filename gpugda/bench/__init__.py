"""The comparison with Neo4j: the thesis' experiments, repeatable, and any user's own queries."""
