package org.gpugda.neo4j;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import org.junit.jupiter.api.Test;

class PackedTest {
    private static ByteBuffer read(byte[] bytes) {
        return ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
    }

    @Test
    void numbersAreOfFourBytesUntilOneIsLarger() {
        PackedNumbers numbers = new PackedNumbers(3);
        numbers.put(0, 7);
        numbers.put(1, 0xFFFF_FFFFL);
        ByteBuffer narrow = read(numbers.done(2));
        assertEquals(8, narrow.remaining());
        assertEquals(7, narrow.getInt());
        assertEquals(-1, narrow.getInt());
        numbers.put(2, 1L << 40);
        long[] found = new long[3];
        read(numbers.done(3)).asLongBuffer().get(found);
        assertArrayEquals(new long[] {7, 0xFFFF_FFFFL, 1L << 40}, found);
    }

    @Test
    void idsAreNothingWhereNoneIsMissing() {
        PackedIds ids = new PackedIds(1L << 40, 2);
        assertEquals(0, ids.add(1L << 40));
        assertEquals(1, ids.add((1L << 40) + 1));
        assertEquals(0, ids.done().length);
    }

    @Test
    void idsAreDistancesFromTheFirstWhereOneIsMissing() {
        PackedIds inside = new PackedIds(10, 4);
        for (long id : new long[] {10, 12, 13}) inside.add(id);
        PackedIds atTheEnd = new PackedIds(10, 4);
        for (long id : new long[] {10, 11}) atTheEnd.add(id);
        assertEquals(3, inside.count());
        int[] found = new int[3];
        read(inside.done()).asIntBuffer().get(found);
        assertArrayEquals(new int[] {0, 2, 3}, found);
        int[] first = new int[2];
        read(atTheEnd.done()).asIntBuffer().get(first);
        assertArrayEquals(new int[] {0, 1}, first);
        assertEquals(0, new PackedIds(10, 4).done().length);
    }

    @Test
    void codesAreOfTwoBytesWithoutSign() {
        PackedCodes codes = new PackedCodes(3);
        codes.put(0, 65_535);
        codes.put(1, 1);
        ByteBuffer found = read(codes.done(2));
        assertEquals(4, found.remaining());
        assertEquals(65_535, found.getShort() & 0xFFFF);
        assertEquals(1, found.getShort());
    }
}
