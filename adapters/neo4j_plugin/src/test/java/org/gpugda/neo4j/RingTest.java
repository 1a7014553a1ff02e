package org.gpugda.neo4j;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class RingTest {
    private static Changes of(long bytes) {
        return new Changes(new long[Section.ALL.length], List.of(), List.of(), bytes);
    }

    private static List<Long> numbers(Ring ring, long since, long last) {
        return ring.between(since, last).stream().map(Map.Entry::getKey).toList();
    }

    @Test
    void theOldestGiveWay() {
        Ring ring = new Ring(30);
        ring.startAfter(5);
        for (long each = 6; each <= 9; each++) ring.add(each, of(10));
        assertEquals(6, ring.start());
        assertEquals(30, ring.bytes());
        assertEquals(List.of(7L, 8L, 9L), numbers(ring, 6, 9));
        assertEquals(List.of(8L), numbers(ring, 7, 8));
        assertEquals(List.of(), numbers(ring, 9, 9));
    }

    @Test
    void oneThatDoesNotFitLeavesNothing() {
        Ring ring = new Ring(30);
        ring.add(1, of(10));
        ring.add(2, of(31));
        assertEquals(2, ring.start());
        assertEquals(0, ring.bytes());
        assertEquals(0, ring.size());
    }

    @Test
    void theyMayComeInAnyOrder() {
        Ring ring = new Ring(20);
        ring.add(3, of(10));
        ring.add(2, of(10));
        assertEquals(List.of(2L, 3L), numbers(ring, 1, 3));
        ring.add(5, of(10));
        assertEquals(2, ring.start());
        ring.add(1, of(10)); // evicted already
        assertEquals(List.of(3L, 5L), numbers(ring, 2, 5));
    }

    @Test
    void aLaterOneStaysIfAnUnknownOneReportsAfterIt() {
        Ring ring = new Ring(100);
        ring.startAfter(7);
        for (long each : new long[] {8, 10, 11}) ring.add(each, of(10));
        ring.startAfter(9); // it was too large, or could not be recorded
        assertEquals(9, ring.start());
        assertEquals(List.of(10L, 11L), numbers(ring, 9, 11));
        assertEquals(20, ring.bytes());
    }

    @Test
    void howFarItIsUnbroken() {
        Ring ring = new Ring(100);
        for (long each : new long[] {4, 5, 7}) ring.add(each, of(1));
        assertEquals(5, ring.unbrokenFrom(3));
        assertEquals(7, ring.unbrokenFrom(6));
        assertEquals(2, ring.unbrokenFrom(2));
    }

    @Test
    void forgettingNeverGoesBack() {
        Ring ring = new Ring(100);
        ring.startAfter(9);
        ring.startAfter(4);
        ring.add(7, of(1));
        assertEquals(9, ring.start());
        assertTrue(numbers(ring, 0, 100).isEmpty());
    }
}
