"""Semantics of Cypher expressions on values and columns, independent of plans and devices."""
