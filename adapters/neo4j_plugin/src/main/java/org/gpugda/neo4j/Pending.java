package org.gpugda.neo4j;

import org.neo4j.storageengine.api.txstate.ReadableTransactionState;

/** A transaction that is committing. */
final class Pending {
    /** The transaction's number is larger than this. */
    final long floor;

    final KeptKeys keys;
    /** Null if nothing is recorded, or if the changes are too large. */
    Changes changes;

    boolean recorded;
    private ReadableTransactionState state;
    private long revision;

    Pending(long floor, KeptKeys keys) {
        this.floor = floor;
        this.keys = keys;
    }

    void captured(Changes found, ReadableTransactionState foundIn) {
        changes = found;
        state = foundIn;
        revision = state == null ? 0 : state.getDataRevision();
        recorded = true;
    }

    /** True if nothing, such as a trigger, changed the data after the capture. */
    boolean stillHolds() {
        return state != null && state.getDataRevision() == revision;
    }
}
