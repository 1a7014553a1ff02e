"""What a graph holds: its labels, types and properties; as a value, as text, and as procedures."""
