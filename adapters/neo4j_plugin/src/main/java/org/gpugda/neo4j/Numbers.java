package org.gpugda.neo4j;

import java.util.Arrays;

/** A growing list of numbers. */
final class Numbers {
    private long[] numbers;
    private int count;

    /** Starts with zeros. */
    Numbers(int zeros, int expected) {
        numbers = new long[zeros + expected];
        count = zeros;
    }

    void add(long number) {
        if (count == numbers.length) numbers = Arrays.copyOf(numbers, 2 * count);
        numbers[count++] = number;
    }

    void set(int place, long number) {
        numbers[place] = number;
    }

    int count() {
        return count;
    }

    long[] done() {
        return Arrays.copyOf(numbers, count);
    }
}
