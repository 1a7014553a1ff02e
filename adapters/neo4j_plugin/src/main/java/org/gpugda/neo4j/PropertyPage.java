package org.gpugda.neo4j;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.neo4j.internal.kernel.api.NodeCursor;
import org.neo4j.internal.kernel.api.PropertyCursor;
import org.neo4j.internal.kernel.api.Read;
import org.neo4j.internal.kernel.api.RelationshipScanCursor;
import org.neo4j.kernel.api.KernelTransaction;
import org.neo4j.procedure.TerminationGuard;
import org.neo4j.storageengine.api.PropertySelection;

/** Some properties of some nodes or relationships, a column per key. */
final class PropertyPage {
    /** One row per key that occurs, and one without a key that has the count of ids found. */
    public static final class Row {
        public String key;
        public String kind;
        public byte[] valid;
        public byte[] numbers;
        public byte[] text;
        public List<Object> values;
        public long found;
    }

    private static final int NO_TOKEN = -1;

    private final KernelTransaction kernel;
    private final TerminationGuard guard;
    private final List<String> keys;
    private final Map<Integer, PropertyColumn> columns = new HashMap<>();

    PropertyPage(KernelTransaction kernel, TerminationGuard guard, List<String> keys) {
        this.kernel = kernel;
        this.guard = guard;
        this.keys = keys;
    }

    Stream<Row> read(boolean ofNodes, long[] ids) {
        PropertySelection selection = selection(ids.length);
        long found = ofNodes ? readNodes(ids, selection) : readRelationships(ids, selection);
        List<Row> rows = new ArrayList<>();
        for (PropertyColumn column : columns.values()) if (!column.isEmpty()) rows.add(column.row());
        Row told = new Row();
        told.found = found;
        rows.add(told);
        return rows.stream();
    }

    private PropertySelection selection(int count) {
        List<Integer> tokens = new ArrayList<>();
        for (String key : keys) {
            int token = kernel.tokenRead().propertyKey(key);
            if (token == NO_TOKEN || columns.containsKey(token)) continue;
            columns.put(token, new PropertyColumn(key, count));
            tokens.add(token);
        }
        return PropertySelection.selection(tokens.stream().mapToInt(Integer::intValue).toArray());
    }

    private long readNodes(long[] ids, PropertySelection selection) {
        Read read = kernel.dataRead();
        long found = 0;
        try (NodeCursor nodes = kernel.cursors().allocateNodeCursor(kernel.cursorContext(), kernel.memoryTracker());
                PropertyCursor properties =
                        kernel.cursors().allocatePropertyCursor(kernel.cursorContext(), kernel.memoryTracker())) {
            for (int i = 0; i < ids.length; i++) {
                if ((i & 0xFFF) == 0) guard.check();
                read.singleNode(ids[i], nodes);
                if (!nodes.next()) continue;
                found++;
                nodes.properties(properties, selection);
                take(properties, i);
            }
        }
        return found;
    }

    private long readRelationships(long[] ids, PropertySelection selection) {
        Read read = kernel.dataRead();
        long found = 0;
        try (RelationshipScanCursor relationships =
                        kernel.cursors().allocateRelationshipScanCursor(kernel.cursorContext(), kernel.memoryTracker());
                PropertyCursor properties =
                        kernel.cursors().allocatePropertyCursor(kernel.cursorContext(), kernel.memoryTracker())) {
            for (int i = 0; i < ids.length; i++) {
                if ((i & 0xFFF) == 0) guard.check();
                read.singleRelationship(ids[i], relationships);
                if (!relationships.next()) continue;
                found++;
                relationships.properties(properties, selection);
                take(properties, i);
            }
        }
        return found;
    }

    private void take(PropertyCursor properties, int place) {
        while (properties.next()) {
            PropertyColumn column = columns.get(properties.propertyKey());
            if (column != null) column.set(place, properties.propertyValue());
        }
    }
}
