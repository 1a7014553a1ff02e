"""Incremental updates: from one state of a data graph to the next without a rebuild; ADR 0013."""
