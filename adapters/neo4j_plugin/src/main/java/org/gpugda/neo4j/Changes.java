package org.gpugda.neo4j;

import java.nio.LongBuffer;
import java.util.List;

/**
 * Changes of one transaction, in few objects, as they survive many garbage collections.
 *
 * @param numbers the end of each {@link Section}, then the sections in order
 * @param nodeValues kept values of node properties, in the order of their entries; null for a removed property
 * @param relationshipValues kept values of relationship properties, likewise
 * @param bytes approximate heap memory
 */
record Changes(long[] numbers, List<Object> nodeValues, List<Object> relationshipValues, long bytes) {
    /** Bytes of a ring entry besides its numbers and values. */
    static final long OVERHEAD = 200;

    /** The numbers of a section. */
    LongBuffer section(Section section) {
        int from = from(section);
        return LongBuffer.wrap(numbers, from, (int) numbers[section.ordinal()] - from);
    }

    /** The count of numbers of a section. */
    int length(Section section) {
        return (int) numbers[section.ordinal()] - from(section);
    }

    private int from(Section section) {
        int place = section.ordinal();
        return place == 0 ? Section.ALL.length : (int) numbers[place - 1];
    }
}
