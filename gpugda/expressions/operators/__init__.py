"""Cypher's operators on single values, one module per kind of operator."""
