"""From one state of a data graph to the next one, without building it anew; see ADR 0013."""
