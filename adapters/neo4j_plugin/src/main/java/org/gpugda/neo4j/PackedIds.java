package org.gpugda.neo4j;

/** Increasing ids of a range, as offsets from its first id; empty if no id is missing. */
final class PackedIds {
    private final long first;
    private final int width;
    private PackedNumbers numbers;
    private int count;

    PackedIds(long first, int width) {
        this.first = first;
        this.width = width;
    }

    /** Adds an id; returns its position. */
    int add(long id) {
        long distance = id - first;
        if (numbers == null && distance != count) begin();
        if (numbers != null) numbers.put(count, distance);
        return count++;
    }

    int count() {
        return count;
    }

    byte[] done() {
        if (count == width) return new byte[0];
        if (numbers == null) begin();
        return numbers.done(count);
    }

    private void begin() {
        numbers = new PackedNumbers(width);
        for (int i = 0; i < count; i++) numbers.put(i, i);
    }
}
