"""Java's regular expressions, as ``=~`` uses them, on top of the library ``regex``."""
