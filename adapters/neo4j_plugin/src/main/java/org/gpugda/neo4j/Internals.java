package org.gpugda.neo4j;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import org.neo4j.graphdb.GraphDatabaseService;
import org.neo4j.graphdb.Transaction;
import org.neo4j.kernel.api.txstate.TxStateHolder;
import org.neo4j.kernel.impl.coreapi.InternalTransaction;
import org.neo4j.kernel.internal.GraphDatabaseAPI;
import org.neo4j.storageengine.api.TransactionIdStore;
import org.neo4j.storageengine.api.txstate.ReadableTransactionState;

/** Access to the server's internals, with fallbacks for versions that lack them. */
final class Internals {
    static final long UNKNOWN = -1;

    private static final MethodHandle CLOSED = closed();

    private Internals() {}

    /** The newest transaction up to which all have ended; UNKNOWN if this version does not report it. */
    static long closedTransaction(GraphDatabaseService database) {
        try {
            Object store = ((GraphDatabaseAPI) database).getDependencyResolver().resolveDependency(TransactionIdStore.class);
            return CLOSED == null ? UNKNOWN : (long) CLOSED.invoke(store);
        } catch (Throwable error) {
            return UNKNOWN;
        }
    }

    /** True if all commits to the database happen on this server; false if this version does not report it. */
    static boolean isAlone(GraphDatabaseService database) {
        try {
            return ((GraphDatabaseAPI) database).mode().name().equalsIgnoreCase("single");
        } catch (RuntimeException | LinkageError error) {
            return false;
        }
    }

    /** The state of a transaction's changes; null if this version does not expose it. */
    static ReadableTransactionState state(Transaction transaction) {
        try {
            return ((TxStateHolder) ((InternalTransaction) transaction).kernelTransaction()).txState();
        } catch (RuntimeException | LinkageError error) {
            return null;
        }
    }

    private static MethodHandle closed() {
        // The first name is that of 5.26.
        for (String name : new String[] {"getLastClosedTransactionId", "getHighestGapFreeClosedTransactionId"})
            try {
                return MethodHandles.publicLookup()
                        .findVirtual(TransactionIdStore.class, name, MethodType.methodType(long.class));
            } catch (NoSuchMethodException | IllegalAccessException error) {
                continue;
            }
        return null;
    }
}
