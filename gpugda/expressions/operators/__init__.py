"""Cypher's operators on single values, one module for each kind of operator."""
