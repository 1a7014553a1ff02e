package org.gpugda.neo4j;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** The changes of the newest transactions within a memory limit. Not thread-safe. */
final class Ring {
    private final long mostBytes;
    private final TreeMap<Long, Changes> changes = new TreeMap<>();
    private long bytes;
    private long start;

    Ring(long mostBytes) {
        this.mostBytes = mostBytes;
    }

    /** All changes of later transactions are recorded, except those still committing. */
    long start() {
        return start;
    }

    long bytes() {
        return bytes;
    }

    int size() {
        return changes.size();
    }

    /** The record starts after the transaction. Later ones, which may have reported before it, stay. */
    void startAfter(long transaction) {
        Map<Long, Changes> earlier = changes.headMap(transaction, true);
        for (Changes each : earlier.values()) bytes -= each.bytes();
        earlier.clear();
        start = Math.max(start, transaction);
    }

    void add(long transaction, Changes found) {
        if (transaction <= start) return; // a later one was too large, or this one was evicted already
        changes.put(transaction, found);
        bytes += found.bytes();
        while (bytes > mostBytes) {
            Map.Entry<Long, Changes> oldest = changes.pollFirstEntry();
            bytes -= oldest.getValue().bytes();
            start = oldest.getKey();
        }
    }

    /** The changes after {@code since}, up to {@code last}, by transaction. */
    List<Map.Entry<Long, Changes>> between(long since, long last) {
        return since >= last ? List.of() : new ArrayList<>(changes.subMap(since, false, last, true).entrySet());
    }

    /** The last transaction of the consecutive numbers after {@code since}. */
    long unbrokenFrom(long since) {
        long last = since;
        for (long each : changes.tailMap(since, false).keySet()) {
            if (each != last + 1) break;
            last = each;
        }
        return last;
    }
}
