package org.gpugda.neo4j;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteOrder;
import java.util.function.Function;
import org.neo4j.graphdb.GraphDatabaseService;
import org.neo4j.internal.recordstorage.RecordStorageEngine;
import org.neo4j.io.pagecache.PageCursor;
import org.neo4j.kernel.api.KernelTransaction;
import org.neo4j.kernel.api.txstate.TxStateHolder;
import org.neo4j.kernel.impl.store.CommonAbstractStore;
import org.neo4j.kernel.impl.store.NeoStores;
import org.neo4j.kernel.impl.store.format.FormatFamily;
import org.neo4j.kernel.impl.store.format.RecordFormats;
import org.neo4j.kernel.impl.store.record.AbstractBaseRecord;
import org.neo4j.kernel.impl.store.record.RecordLoad;
import org.neo4j.kernel.internal.GraphDatabaseAPI;
import org.neo4j.memory.MemoryTracker;
import org.neo4j.procedure.TerminationGuard;

/**
 * A record store, read in pages whose records are decoded here. Filling an object per record, as the storage engine
 * does, takes ten times as long. Used only for versions of the format that are known, and some records are compared
 * with those of the storage engine.
 */
final class RecordFile<R extends AbstractBaseRecord> implements AutoCloseable {
    /** Decodes records of one page. */
    interface Layout<R> {
        /** Adds the records from an id to before another one; the first one starts at the offset. */
        void decode(byte[] page, int offset, long id, long end);

        /** True if the record at the offset has the values of a record of the storage engine. */
        boolean isEqual(byte[] page, int offset, R record);
    }

    private static final int MAJOR = 1;
    private static final int MINOR = 1;
    /** One page in this many is compared. */
    private static final int COMPARED = 16;
    /** Writers may change a record between the two readings of a comparison. */
    private static final int ATTEMPTS = 16;

    private final CommonAbstractStore<R, ?> store;
    private final PageCursor cursor;
    private final MemoryTracker memory;
    private final R record;
    private final int perPage;
    private final int size;
    private final byte[] page;

    private RecordFile(CommonAbstractStore<R, ?> store, KernelTransaction kernel) {
        this.store = store;
        memory = kernel.memoryTracker();
        record = store.newRecord();
        perPage = store.getRecordsPerPage();
        size = store.getRecordSize();
        page = new byte[perPage * size];
        cursor = store.openPageCursorForReading(0, kernel.cursorContext());
    }

    /**
     * Opens the store of nodes or relationships; null if the kernel's cursors must be used, as in `Store`, or if the
     * layout of the records is not known.
     *
     * @param size bytes of a record in the known layout
     */
    static <R extends AbstractBaseRecord> RecordFile<R> open(
            KernelTransaction kernel,
            GraphDatabaseService database,
            Function<NeoStores, CommonAbstractStore<R, ?>> choose,
            int size) {
        try {
            if (!Rights.readsEverything(database) || ((TxStateHolder) kernel).hasTxStateWithChanges()) return null;
            NeoStores stores = ((GraphDatabaseAPI) database)
                    .getDependencyResolver()
                    .resolveDependency(RecordStorageEngine.class)
                    .testAccessNeoStores();
            CommonAbstractStore<R, ?> store = choose.apply(stores);
            boolean known = isKnown(stores.getRecordFormats())
                    && store.getRecordSize() == size
                    && store.getNumberOfReservedLowIds() == 0;
            return known ? new RecordFile<>(store, kernel) : null;
        } catch (RuntimeException | LinkageError error) { // another storage engine, or another interface
            return null;
        }
    }

    /**
     * Decodes the records of a range of ids.
     *
     * @return false if one of them has other values in the storage engine: all results must be discarded
     */
    boolean read(long first, long last, TerminationGuard guard, Layout<R> layout) {
        for (long id = first; id <= last; ) {
            long number = id / perPage, end = Math.min(last + 1, (number + 1) * perPage);
            guard.check();
            if (load(number)) layout.decode(page, offset(id), id, end);
            boolean isCompared = id == first || number % COMPARED == 0;
            if (isCompared && !isEqual(id + number % (end - id), layout)) return false;
            id = end;
        }
        return true;
    }

    /** The record of an id, as decoded by the storage engine. */
    R record(long id) {
        return store.getRecordByCursor(id, record, RecordLoad.CHECK, cursor, memory);
    }

    /** True if integers are stored with the highest byte first. */
    boolean isBigEndian() {
        return cursor.getByteOrder() == ByteOrder.BIG_ENDIAN;
    }

    @Override
    public void close() {
        cursor.close();
    }

    private static boolean isKnown(RecordFormats formats) {
        FormatFamily family = formats.getFormatFamily();
        return (family.equals(FormatFamily.ALIGNED) || family.equals(FormatFamily.STANDARD))
                && formats.majorVersion() == MAJOR
                && formats.minorVersion() == MINOR;
    }

    private boolean isEqual(long id, Layout<R> layout) {
        for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
            R expected = record(id);
            if (!load(id / perPage) || layout.isEqual(page, offset(id), expected)) return true;
        }
        return false;
    }

    /** Copies a page; false if the file ends before it. */
    private boolean load(long number) {
        try {
            if (!cursor.next(number)) return false;
            do {
                cursor.setOffset(0);
                cursor.getBytes(page, 0, page.length);
            } while (cursor.shouldRetry());
            cursor.checkAndClearBoundsFlag();
            return true;
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }

    private int offset(long id) {
        return (int) (id % perPage) * size;
    }
}
