package org.gpugda.neo4j;

import java.nio.ByteBuffer;
import java.nio.LongBuffer;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** The row of gpugda.changes: sections of eight-byte numbers, over all transactions in order. */
public final class ChangesRow {
    private static final long MOST_NUMBERS = Integer.MAX_VALUE / 8 - 1;

    /** Why the changes are unknown; empty if they are known. */
    public String gap = "";
    /** True if asking again is of no use. */
    public boolean lasting;
    /** All changes up to this transaction are included. */
    public long last;
    /** The newest transaction at the request: nothing is missing up to it if {@link #last} is not smaller. */
    public long newest;

    public byte[] transactions;
    /** Number of entries per transaction and section. */
    public byte[] counts;

    public byte[] createdNodes;
    public byte[] deletedNodes;
    public byte[] labels;
    public byte[] createdRelationships;
    public byte[] deletedRelationships;
    public byte[] nodeProperties;
    public byte[] relationshipProperties;
    public List<Object> nodeValues;
    public List<Object> relationshipValues;
    /** True if values are included. */
    public boolean values;
    /** Keys for which the values of all entries are included. */
    public List<String> nodeKeys;

    public List<String> relationshipKeys;
    /** Names by their codes in the sections. */
    public Map<String, Object> names;

    static ChangesRow gap(String reason) {
        ChangesRow row = new ChangesRow();
        row.gap = reason;
        return row;
    }

    static ChangesRow refused(String reason) {
        ChangesRow row = gap(reason);
        row.lasting = true;
        return row;
    }

    static ChangesRow of(Recorder.Found found, long since, boolean values) {
        ChangesRow row = new ChangesRow();
        row.last = found.last();
        row.newest = found.newest();
        List<Map.Entry<Long, Changes>> changes = found.changes();
        if (isTooLong(changes)) return gap("more was changed than one answer holds");
        ByteBuffer transactions = Columns.bytes(8 * changes.size());
        ByteBuffer counts = Columns.bytes(8 * changes.size() * Section.ALL.length);
        for (Map.Entry<Long, Changes> each : changes) {
            transactions.putLong(each.getKey());
            for (Section section : Section.ALL) counts.putLong(each.getValue().length(section) / section.width);
        }
        row.transactions = transactions.array();
        row.counts = counts.array();
        row.names = new LinkedHashMap<>();
        row.createdNodes = row.packed(changes, Section.CREATED_NODES, found.names());
        row.deletedNodes = row.packed(changes, Section.DELETED_NODES, found.names());
        row.labels = row.packed(changes, Section.LABELS, found.names());
        row.createdRelationships = row.packed(changes, Section.CREATED_RELATIONSHIPS, found.names());
        row.deletedRelationships = row.packed(changes, Section.DELETED_RELATIONSHIPS, found.names());
        row.nodeProperties = row.packed(changes, Section.NODE_PROPERTIES, found.names());
        row.relationshipProperties = row.packed(changes, Section.RELATIONSHIP_PROPERTIES, found.names());
        row.values = values;
        row.nodeValues = new ArrayList<>();
        row.relationshipValues = new ArrayList<>();
        row.nodeKeys = values ? keys(found.keys().nodes(), since) : List.of();
        row.relationshipKeys = values ? keys(found.keys().relationships(), since) : List.of();
        if (values)
            for (Map.Entry<Long, Changes> each : changes) {
                row.nodeValues.addAll(each.getValue().nodeValues());
                row.relationshipValues.addAll(each.getValue().relationshipValues());
            }
        return row;
    }

    /** True if a section of eight-byte numbers would exceed the length of an array. */
    private static boolean isTooLong(List<Map.Entry<Long, Changes>> changes) {
        if ((long) changes.size() * Section.ALL.length > MOST_NUMBERS) return true;
        for (Section section : Section.ALL) {
            long count = 0;
            for (Map.Entry<Long, Changes> each : changes) count += each.getValue().length(section);
            if (count > MOST_NUMBERS) return true;
        }
        return false;
    }

    private static List<String> keys(Map<String, Long> kept, long since) {
        return kept.entrySet().stream().filter(each -> each.getValue() <= since).map(Map.Entry::getKey).toList();
    }

    private byte[] packed(List<Map.Entry<Long, Changes>> changes, Section section, Names known) {
        int count = 0;
        for (Map.Entry<Long, Changes> each : changes) count += each.getValue().length(section);
        ByteBuffer found = Columns.bytes(8 * count);
        long previous = Long.MIN_VALUE;
        for (Map.Entry<Long, Changes> each : changes) {
            LongBuffer numbers = each.getValue().section(section);
            for (int place = 1; numbers.hasRemaining(); place++) {
                long number = numbers.get();
                found.putLong(number);
                if (section.width == 1 || place % section.width != 0 || number == previous) continue;
                previous = number;
                int code = (int) (number < 0 ? -1 - number : number);
                names.computeIfAbsent(known.name(code), name -> (long) code);
            }
        }
        return found.array();
    }
}
