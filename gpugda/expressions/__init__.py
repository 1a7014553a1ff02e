"""What Cypher's expressions mean on single values, apart from rows, columns, plans and devices."""
