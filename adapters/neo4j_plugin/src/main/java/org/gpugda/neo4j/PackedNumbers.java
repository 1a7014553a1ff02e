package org.gpugda.neo4j;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.util.Arrays;

/**
 * Numbers as bytes that the client reads as an array, little-endian: four bytes each while all fit into unsigned 32
 * bits, else eight. Copies nothing if as many numbers come as were expected.
 */
final class PackedNumbers {
    private static final VarHandle INTS = MethodHandles.byteArrayViewVarHandle(int[].class, ByteOrder.LITTLE_ENDIAN);
    private static final VarHandle LONGS = MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);
    private static final long UNSIGNED_INT = 0xFFFF_FFFFL;

    private final int most;
    private byte[] bytes;
    private boolean wide;

    PackedNumbers(int most) {
        this.most = most;
        this.bytes = new byte[4 * most];
    }

    /** Puts a number; places must increase. */
    void put(int place, long number) {
        if (!wide) {
            if ((number & ~UNSIGNED_INT) == 0) {
                INTS.set(bytes, 4 * place, (int) number);
                return;
            }
            widen(place);
        }
        LONGS.set(bytes, 8 * place, number);
    }

    byte[] done(int count) {
        int size = count * (wide ? 8 : 4);
        return size == bytes.length ? bytes : Arrays.copyOf(bytes, size);
    }

    private void widen(int count) {
        byte[] found = new byte[8 * most];
        for (int i = 0; i < count; i++) LONGS.set(found, 8 * i, (int) INTS.get(bytes, 4 * i) & UNSIGNED_INT);
        bytes = found;
        wide = true;
    }
}
