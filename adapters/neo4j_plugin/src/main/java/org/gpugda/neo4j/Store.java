package org.gpugda.neo4j;

import java.util.function.LongPredicate;
import java.util.function.Predicate;
import org.neo4j.graphdb.GraphDatabaseService;
import org.neo4j.kernel.api.KernelTransaction;
import org.neo4j.kernel.api.txstate.TxStateHolder;
import org.neo4j.kernel.impl.api.KernelTransactionImplementation;
import org.neo4j.procedure.TerminationGuard;
import org.neo4j.storageengine.api.StorageReader;

/**
 * The storage engine below the kernel's cursors. Scanning its records takes two thirds of the time of seeking each id
 * through the kernel, and is equivalent if privileges are unrestricted and the transaction itself has changed nothing.
 */
final class Store {
    /** Records scanned between two checks for termination. */
    static final int STEP = 1 << 12;

    private static final String RECORDS = "org.neo4j.internal.recordstorage.Record";

    private Store() {}

    /** Scans the records, if possible; on false, results of a partial scan must be discarded. */
    static boolean scanned(KernelTransaction kernel, GraphDatabaseService database, Predicate<StorageReader> scan) {
        try (StorageReader store = reader(kernel, database)) {
            return store != null && scan.test(store);
        } catch (LinkageError error) { // a server version with another interface
            return false;
        }
    }

    /**
     * Iterates over the records of a range of ids.
     *
     * @param next assigns the next batch of the given size to the cursor; false if there are none
     * @param read reads the batch that the cursor was assigned
     */
    static void scan(long first, long last, TerminationGuard guard, LongPredicate next, Runnable read) {
        if (first > 0) next.test(first); // skips the ids before, without reading them
        for (long id = first; id <= last; id += STEP) {
            guard.check();
            if (!next.test(Math.min(STEP, last - id + 1))) return;
            read.run();
        }
    }

    /** A reader of the store, to be closed; null if the kernel's cursors must be used. */
    private static StorageReader reader(KernelTransaction kernel, GraphDatabaseService database) {
        try {
            if (!Rights.readsEverything(database) || ((TxStateHolder) kernel).hasTxStateWithChanges()) return null;
            return ((KernelTransactionImplementation) kernel).newStorageReader();
        } catch (ClassCastException | LinkageError error) {
            return null;
        }
    }

    /** True if ids are record positions, so that a scan covers consecutive ids. */
    static boolean isOfRecords(Object scan) {
        return scan.getClass().getName().startsWith(RECORDS);
    }
}
