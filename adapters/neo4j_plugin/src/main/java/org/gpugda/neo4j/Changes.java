package org.gpugda.neo4j;

import java.nio.LongBuffer;
import java.util.List;

/**
 * What one transaction changed: few objects, as they outlive many collections of the heap's garbage.
 *
 * @param numbers where each {@link Section} ends, and then the sections one after the other
 * @param nodeValues the values of nodes' properties that are kept, in the order of their entries; null is: removed
 * @param relationshipValues likewise
 * @param bytes of heap memory, about
 */
record Changes(long[] numbers, List<Object> nodeValues, List<Object> relationshipValues, long bytes) {
    /** What an entry of the ring takes besides its numbers and values. */
    static final long OVERHEAD = 200;

    /** The numbers of a section. */
    LongBuffer section(Section section) {
        int from = from(section);
        return LongBuffer.wrap(numbers, from, (int) numbers[section.ordinal()] - from);
    }

    /** How many numbers a section has. */
    int length(Section section) {
        return (int) numbers[section.ordinal()] - from(section);
    }

    private int from(Section section) {
        int place = section.ordinal();
        return place == 0 ? Section.ALL.length : (int) numbers[place - 1];
    }
}
