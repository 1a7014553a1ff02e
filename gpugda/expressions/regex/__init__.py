"""Java's regular expressions, as ``=~`` has them, by the library ``regex``."""
