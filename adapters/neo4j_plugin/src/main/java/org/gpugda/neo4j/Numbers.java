package org.gpugda.neo4j;

import java.util.Arrays;

/** A list of numbers that grows. */
final class Numbers {
    private static final long[] NONE = {};

    private long[] numbers = NONE;
    private int count;

    void add(long number) {
        if (count == numbers.length) numbers = Arrays.copyOf(numbers, Math.max(4, 2 * count));
        numbers[count++] = number;
    }

    long[] done() {
        return count == numbers.length ? numbers : Arrays.copyOf(numbers, count);
    }
}
