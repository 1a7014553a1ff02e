package org.gpugda.neo4j;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/** Numbers as the bytes that the client reads as an array: little-endian, of one width. */
final class Columns {
    private static final long UNSIGNED_INT = 0xFFFF_FFFFL;

    private Columns() {}

    static ByteBuffer bytes(int size) {
        return ByteBuffer.allocate(size).order(ByteOrder.LITTLE_ENDIAN);
    }

    /** Four bytes each where all fit into 32 bits without sign, else eight. */
    static byte[] narrow(long[] numbers, int count) {
        long all = 0;
        for (int i = 0; i < count; i++) all |= numbers[i];
        boolean small = (all & ~UNSIGNED_INT) == 0;
        ByteBuffer found = bytes(count * (small ? 4 : 8));
        if (small) for (int i = 0; i < count; i++) found.putInt((int) numbers[i]);
        else for (int i = 0; i < count; i++) found.putLong(numbers[i]);
        return found.array();
    }

    /** Two bytes each. */
    static byte[] codes(int[] codes, int count) {
        ByteBuffer found = bytes(2 * count);
        for (int i = 0; i < count; i++) found.putShort((short) codes[i]);
        return found.array();
    }

    static long[] longs(byte[] packed) {
        long[] found = new long[packed.length / 8];
        ByteBuffer.wrap(packed).order(ByteOrder.LITTLE_ENDIAN).asLongBuffer().get(found);
        return found;
    }
}
