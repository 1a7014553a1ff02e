"""Dates, times and durations as Neo4j computes with them, on neo4j's value classes."""
