package org.gpugda.neo4j;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/** Numbers as bytes that the client reads as an array: little-endian, of fixed width. */
final class Columns {
    private Columns() {}

    static ByteBuffer bytes(int size) {
        return ByteBuffer.allocate(size).order(ByteOrder.LITTLE_ENDIAN);
    }

    static long[] longs(byte[] packed) {
        long[] found = new long[packed.length / 8];
        ByteBuffer.wrap(packed).order(ByteOrder.LITTLE_ENDIAN).asLongBuffer().get(found);
        return found;
    }
}
