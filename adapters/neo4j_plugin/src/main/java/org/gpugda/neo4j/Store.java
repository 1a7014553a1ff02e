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
 * The store below the kernel's cursors. To scan its records takes two thirds of what it takes the kernel to seek each
 * id, and gives the same where nobody's rights are restricted and the transaction itself has changed nothing.
 */
final class Store {
    /** Records that are scanned between two looks at whether the transaction was ended. */
    static final int STEP = 1 << 12;

    private static final String RECORDS = "org.neo4j.internal.recordstorage.Record";

    private Store() {}

    /** Has its records read, where that can be done; else what was read of them has to be forgotten. */
    static boolean scanned(KernelTransaction kernel, GraphDatabaseService database, Predicate<StorageReader> scan) {
        try (StorageReader store = reader(kernel, database)) {
            return store != null && scan.test(store);
        } catch (LinkageError error) { // another version of the server
            return false;
        }
    }

    /**
     * Goes through the records of a range of ids.
     *
     * @param next gives the next so many records to the cursor, or says that there are none
     * @param read reads what the cursor was given
     */
    static void scan(long first, long last, TerminationGuard guard, LongPredicate next, Runnable read) {
        if (first > 0) next.test(first); // gives out the ids before, none of which is read
        for (long id = first; id <= last; id += STEP) {
            guard.check();
            if (!next.test(Math.min(STEP, last - id + 1))) return;
            read.run();
        }
    }

    /** What reads it, to be closed; null where the kernel's cursors have to be asked. */
    private static StorageReader reader(KernelTransaction kernel, GraphDatabaseService database) {
        try {
            if (!Rights.readsEverything(database) || ((TxStateHolder) kernel).hasTxStateWithChanges()) return null;
            return ((KernelTransactionImplementation) kernel).newStorageReader();
        } catch (ClassCastException | LinkageError error) {
            return null;
        }
    }

    /** Whether ids are the places of records, so that a scan has given out the ids up to some place. */
    static boolean isOfRecords(Object scan) {
        return scan.getClass().getName().startsWith(RECORDS);
    }
}
