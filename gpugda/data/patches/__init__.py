"""Arrays with changes: spliced at once, or stored as patches over a base; see ADR 0013."""
