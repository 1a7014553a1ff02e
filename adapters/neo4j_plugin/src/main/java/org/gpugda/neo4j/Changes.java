package org.gpugda.neo4j;

import java.util.List;

/**
 * What one transaction changed.
 *
 * @param sections numbers by {@link Section}
 * @param nodeValues the values of nodes' properties that are kept, in the order of their entries; null is: removed
 * @param relationshipValues likewise
 * @param bytes of heap memory, about
 */
record Changes(long[][] sections, List<Object> nodeValues, List<Object> relationshipValues, long bytes) {
    /** What an entry of the ring takes besides its numbers and values. */
    static final long OVERHEAD = 400;
}
