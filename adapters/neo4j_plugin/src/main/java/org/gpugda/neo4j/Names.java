package org.gpugda.neo4j;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** Codes for names of labels, types and keys that occur in changes. */
final class Names {
    private final Map<String, Integer> codes = new ConcurrentHashMap<>();
    private final List<String> names = new ArrayList<>();

    int code(String name) {
        Integer known = codes.get(name);
        return known == null ? add(name) : known;
    }

    synchronized String name(int code) {
        return names.get(code);
    }

    private synchronized int add(String name) {
        return codes.computeIfAbsent(name, each -> {
            names.add(each);
            return names.size() - 1;
        });
    }
}
