package org.gpugda.neo4j;

import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The keys whose values are kept, and the transaction from which on.
 *
 * @param nodes by node property key: the values of all later transactions are kept
 * @param relationships likewise, by relationship property key
 */
record KeptKeys(Map<String, Long> nodes, Map<String, Long> relationships) {
    static final KeptKeys NONE = new KeptKeys(Map.of(), Map.of());

    KeptKeys with(List<String> nodeKeys, List<String> relationshipKeys, long since) {
        if (nodes.keySet().containsAll(nodeKeys) && relationships.keySet().containsAll(relationshipKeys)) return this;
        return new KeptKeys(with(nodes, nodeKeys, since), with(relationships, relationshipKeys, since));
    }

    /** The keys after a transaction that kept only the values of {@code other}. */
    KeptKeys notKeptBy(KeptKeys other, long transaction) {
        if (other == this) return this;
        if (other.nodes.keySet().containsAll(nodes.keySet())
                && other.relationships.keySet().containsAll(relationships.keySet())) return this;
        return new KeptKeys(raised(nodes, other.nodes, transaction), raised(relationships, other.relationships, transaction));
    }

    private static Map<String, Long> with(Map<String, Long> known, List<String> keys, long since) {
        Map<String, Long> found = new HashMap<>(known);
        for (String key : keys) found.putIfAbsent(key, since);
        return Map.copyOf(found);
    }

    private static Map<String, Long> raised(Map<String, Long> known, Map<String, Long> kept, long transaction) {
        Map<String, Long> found = new HashMap<>(known);
        found.replaceAll((key, since) -> kept.containsKey(key) ? since : Math.max(since, transaction));
        return Map.copyOf(found);
    }
}
