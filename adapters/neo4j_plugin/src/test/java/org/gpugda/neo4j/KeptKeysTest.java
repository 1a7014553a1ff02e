package org.gpugda.neo4j;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;

import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class KeptKeysTest {
    @Test
    void aKeyIsKeptSinceItWasAskedForFirst() {
        KeptKeys keys = KeptKeys.NONE.with(List.of("x"), List.of("w"), 5).with(List.of("x", "y"), List.of(), 9);
        assertEquals(Map.of("x", 5L, "y", 9L), keys.nodes());
        assertEquals(Map.of("w", 5L), keys.relationships());
        assertSame(keys, keys.with(List.of("y"), List.of("w"), 11));
    }

    @Test
    void aTransactionThatBeganBeforeDidNotKeepIt() {
        KeptKeys before = KeptKeys.NONE.with(List.of("x"), List.of(), 5);
        KeptKeys now = before.with(List.of("y"), List.of("w"), 9);
        KeptKeys then = now.notKeptBy(before, 12);
        assertEquals(Map.of("x", 5L, "y", 12L), then.nodes());
        assertEquals(Map.of("w", 12L), then.relationships());
    }

    @Test
    void oneThatKeptAllOfThemChangesNothing() {
        KeptKeys keys = KeptKeys.NONE.with(List.of("x"), List.of("w"), 5);
        KeptKeys more = keys.with(List.of("y"), List.of(), 6);
        assertSame(keys, keys.notKeptBy(more, 7));
        assertSame(keys, keys.notKeptBy(new KeptKeys(keys.nodes(), keys.relationships()), 8));
    }
}
