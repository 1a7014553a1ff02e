package org.gpugda.neo4j;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.eclipse.collections.api.map.primitive.MutableLongIntMap;
import org.eclipse.collections.impl.factory.primitive.LongIntMaps;
import org.neo4j.exceptions.KernelException;
import org.neo4j.graphdb.GraphDatabaseService;
import org.neo4j.internal.kernel.api.NodeCursor;
import org.neo4j.internal.kernel.api.Read;
import org.neo4j.internal.kernel.api.TokenSet;
import org.neo4j.kernel.api.KernelTransaction;
import org.neo4j.kernel.impl.store.InlineNodeLabels;
import org.neo4j.kernel.impl.store.NeoStores;
import org.neo4j.kernel.impl.store.NodeLabelsField;
import org.neo4j.kernel.impl.store.record.NodeRecord;
import org.neo4j.procedure.TerminationGuard;
import org.neo4j.storageengine.api.AllNodeScan;
import org.neo4j.storageengine.api.StorageNodeCursor;
import org.neo4j.storageengine.api.StorageReader;

/** The nodes of a range of ids. */
final class NodePage {
    /** Ids are offsets from the first one, and empty if none is missing. */
    public static final class Row {
        public long first;
        public long count;
        public byte[] ids;
        public byte[] codes;
        public List<List<String>> labelSets = new ArrayList<>();
    }

    private static final int UNKNOWN = -1;
    private static final long NO_FIELD = -1;

    private final KernelTransaction kernel;
    private final TerminationGuard guard;
    private final long first;
    private final long last;
    private final Map<List<Integer>, Integer> sets = new HashMap<>();
    /** Codes by label field, for records whose field holds all labels. */
    private final MutableLongIntMap codeOfField = LongIntMaps.mutable.empty();

    private NodeCursor cursor;
    private long lastField;
    private int lastCode;
    private PackedIds ids;
    private PackedCodes codes;

    NodePage(KernelTransaction kernel, TerminationGuard guard, long first, long last) {
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
        row.codes = codes.done(ids.count());
        row.labelSets = names();
        return row;
    }

    private void begin() {
        int width = (int) (last - first + 1);
        ids = new PackedIds(first, width);
        codes = new PackedCodes(width);
        sets.clear();
        codeOfField.clear();
        lastField = NO_FIELD;
    }

    private boolean decode(GraphDatabaseService database) {
        try (RecordFile<NodeRecord> file = RecordFile.open(kernel, database, NeoStores::getNodeStore, NodeLayout.SIZE);
                NodeCursor cursor =
                        kernel.cursors().allocateNodeCursor(kernel.cursorContext(), kernel.memoryTracker())) {
            if (file == null) return false;
            begin();
            this.cursor = cursor;
            return file.read(first, last, guard, new NodeLayout(this, file.isBigEndian()));
        }
    }

    /** Adds a node whose labels are in the field. */
    void add(long id, long field) {
        if (field != lastField) {
            lastCode = codeOfField.getIfAbsent(field, UNKNOWN);
            if (lastCode == UNKNOWN) codeOfField.put(field, lastCode = code(InlineNodeLabels.parseInlined(field)));
            lastField = field;
        }
        codes.put(ids.add(id), lastCode);
    }

    /** Adds a node that has its labels elsewhere; nothing if it was deleted meanwhile. */
    void add(long id) {
        kernel.dataRead().singleNode(id, cursor);
        if (cursor.next()) codes.put(ids.add(id), code(all(cursor.labels())));
    }

    private boolean scan(StorageReader store) {
        AllNodeScan scan = store.allNodeScan();
        if (!Store.isOfRecords(scan)) return false;
        begin();
        try (StorageNodeCursor cursor = store.allocateNodeCursor(
                kernel.cursorContext(), kernel.storeCursors(), kernel.memoryTracker())) {
            Store.scan(first, last, guard, count -> cursor.scanBatch(scan, count), () -> {
                while (cursor.next()) codes.put(ids.add(cursor.entityReference()), codeAt(cursor));
            });
        }
        return true;
    }

    private int codeAt(StorageNodeCursor cursor) {
        if (!(cursor instanceof NodeRecord record)) return code(cursor.labels());
        long field = record.getLabelField();
        if (NodeLabelsField.fieldPointsToDynamicRecordOfLabels(field)) return code(cursor.labels());
        int known = codeOfField.getIfAbsent(field, UNKNOWN);
        if (known != UNKNOWN) return known;
        int found = code(cursor.labels());
        codeOfField.put(field, found);
        return found;
    }

    private void seek() {
        begin();
        Read read = kernel.dataRead();
        try (NodeCursor cursor = kernel.cursors().allocateNodeCursor(kernel.cursorContext(), kernel.memoryTracker())) {
            for (long id = first; id <= last; id++) {
                if (id % Store.STEP == 0) guard.check();
                read.singleNode(id, cursor);
                if (cursor.next()) codes.put(ids.add(id), code(all(cursor.labels())));
            }
        }
    }

    private static int[] all(TokenSet labels) {
        int[] found = new int[labels.numberOfTokens()];
        for (int i = 0; i < found.length; i++) found[i] = labels.token(i);
        return found;
    }

    private int code(int[] labels) {
        List<Integer> set = new ArrayList<>(labels.length);
        for (int label : labels) set.add(label);
        Integer known = sets.get(set);
        if (known != null) return known;
        if (sets.size() == Codes.MOST) throw new IllegalStateException("more than 65,536 label sets in a page");
        sets.put(set, sets.size());
        return sets.size() - 1;
    }

    private List<List<String>> names() {
        List<List<String>> found = new ArrayList<>();
        for (int i = 0; i < sets.size(); i++) found.add(List.of());
        sets.forEach((set, code) -> found.set(code, set.stream().map(this::name).toList()));
        return found;
    }

    private String name(int label) {
        try {
            return kernel.tokenRead().nodeLabelName(label);
        } catch (KernelException error) {
            throw new IllegalStateException("a node has a label that has no name", error);
        }
    }
}
