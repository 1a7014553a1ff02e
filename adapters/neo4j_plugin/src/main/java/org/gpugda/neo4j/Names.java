package org.gpugda.neo4j;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Numbers for the names of labels, types and keys, as they occur in changes. */
final class Names {
    private final Map<String, Integer> codes = new HashMap<>();
    private final List<String> names = new ArrayList<>();

    synchronized int code(String name) {
        Integer known = codes.get(name);
        if (known != null) return known;
        codes.put(name, names.size());
        names.add(name);
        return names.size() - 1;
    }

    synchronized String name(int code) {
        return names.get(code);
    }
}
