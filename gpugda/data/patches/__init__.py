"""Arrays with changes: spliced at once, or kept beside what they change; see ADR 0013."""
