"""Checks a whole query as Neo4j's compiler does: scopes, types, aggregation, forms."""
