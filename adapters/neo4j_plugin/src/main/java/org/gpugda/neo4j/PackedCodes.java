package org.gpugda.neo4j;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.util.Arrays;

/** Small numbers, two bytes each, little-endian. */
final class PackedCodes {
    private static final VarHandle SHORTS = MethodHandles.byteArrayViewVarHandle(short[].class, ByteOrder.LITTLE_ENDIAN);

    private final byte[] bytes;

    PackedCodes(int most) {
        bytes = new byte[2 * most];
    }

    void put(int place, int code) {
        SHORTS.set(bytes, 2 * place, (short) code);
    }

    byte[] done(int count) {
        return 2 * count == bytes.length ? bytes : Arrays.copyOf(bytes, 2 * count);
    }
}
