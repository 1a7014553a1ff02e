package org.gpugda.neo4j;

import org.neo4j.storageengine.api.txstate.ReadableTransactionState;

/** A transaction that began to commit. */
final class Pending {
    /** Its own number is larger than this one. */
    final long floor;

    final KeptKeys keys;
    /** Null if nothing is recorded, or if it is too large. */
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

    /** Whether nobody, such as a trigger, changed anything after that was captured. */
    boolean stillHolds() {
        return state != null && state.getDataRevision() == revision;
    }
}
