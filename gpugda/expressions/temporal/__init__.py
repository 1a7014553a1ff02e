"""Dates, times and durations with Neo4j's semantics, on the driver's value classes."""
