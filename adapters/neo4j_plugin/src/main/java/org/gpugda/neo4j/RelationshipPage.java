package org.gpugda.neo4j;

import java.util.ArrayList;
import java.util.List;
import org.neo4j.exceptions.KernelException;
import org.neo4j.graphdb.GraphDatabaseService;
import org.neo4j.internal.kernel.api.Read;
import org.neo4j.internal.kernel.api.RelationshipScanCursor;
import org.neo4j.kernel.api.KernelTransaction;
import org.neo4j.kernel.impl.store.NeoStores;
import org.neo4j.kernel.impl.store.record.RelationshipRecord;
import org.neo4j.procedure.TerminationGuard;
import org.neo4j.storageengine.api.AllRelationshipsScan;
import org.neo4j.storageengine.api.StorageReader;
import org.neo4j.storageengine.api.StorageRelationshipScanCursor;

/** The relationships of a range of ids. */
final class RelationshipPage {
    /** Ids are offsets from the first one, and empty if none is missing. */
    public static final class Row {
        public long first;
        public long count;
        public byte[] ids;
        public byte[] sources;
        public byte[] targets;
        public byte[] codes;
        public List<String> types = new ArrayList<>();
    }

    private final KernelTransaction kernel;
    private final TerminationGuard guard;
    private final long first;
    private final long last;
    private PackedIds ids;
    private PackedNumbers sources;
    private PackedNumbers targets;
    private PackedCodes codes;
    private Codes types;

    RelationshipPage(KernelTransaction kernel, TerminationGuard guard, long first, long last) {
        this.kernel = kernel;
        this.guard = guard;
        this.first = first;
        this.last = last;
    }

    Row read(GraphDatabaseService database) {
        if (!decode(database) && !Store.scanned(kernel, database, this::scan)) seek();
        Row row = new Row();
        row.first = first;
        row.count = ids.count();
        row.ids = ids.done();
        row.sources = sources.done(ids.count());
        row.targets = targets.done(ids.count());
        row.codes = codes.done(ids.count());
        for (int type : types.tokens()) row.types.add(name(type));
        return row;
    }

    private void begin() {
        int width = (int) (last - first + 1);
        ids = new PackedIds(first, width);
        sources = new PackedNumbers(width);
        targets = new PackedNumbers(width);
        codes = new PackedCodes(width);
        types = new Codes();
    }

    void add(long id, long source, long target, int type) {
        int place = ids.add(id);
        sources.put(place, source);
        targets.put(place, target);
        codes.put(place, types.of(type));
    }

    private boolean decode(GraphDatabaseService database) {
        try (RecordFile<RelationshipRecord> file =
                RecordFile.open(kernel, database, NeoStores::getRelationshipStore, RelationshipLayout.SIZE)) {
            if (file == null) return false;
            begin();
            return file.read(first, last, guard, new RelationshipLayout(file, this));
        }
    }

    private boolean scan(StorageReader store) {
        AllRelationshipsScan scan = store.allRelationshipScan();
        if (!Store.isOfRecords(scan)) return false;
        begin();
        try (StorageRelationshipScanCursor cursor = store.allocateRelationshipScanCursor(
                kernel.cursorContext(), kernel.storeCursors(), kernel.memoryTracker())) {
            Store.scan(first, last, guard, count -> cursor.scanBatch(scan, count), () -> {
                while (cursor.next())
                    add(cursor.entityReference(), cursor.sourceNodeReference(), cursor.targetNodeReference(), cursor.type());
            });
        }
        return true;
    }

    private void seek() {
        begin();
        Read read = kernel.dataRead();
        try (RelationshipScanCursor cursor =
                kernel.cursors().allocateRelationshipScanCursor(kernel.cursorContext(), kernel.memoryTracker())) {
            for (long id = first; id <= last; id++) {
                if (id % Store.STEP == 0) guard.check();
                read.singleRelationship(id, cursor);
                if (cursor.next()) add(id, cursor.sourceNodeReference(), cursor.targetNodeReference(), cursor.type());
            }
        }
    }

    private String name(int type) {
        try {
            return kernel.tokenRead().relationshipTypeName(type);
        } catch (KernelException error) {
            throw new IllegalStateException("a relationship has a type that has no name", error);
        }
    }
}
