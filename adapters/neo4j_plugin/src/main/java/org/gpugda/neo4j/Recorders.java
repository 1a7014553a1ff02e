package org.gpugda.neo4j;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** The recorders of the running databases, by name. */
final class Recorders {
    private static final Map<String, Recorder> BY_NAME = new ConcurrentHashMap<>();

    private Recorders() {}

    static void put(String database, Recorder recorder) {
        BY_NAME.put(database, recorder);
    }

    static void remove(String database, Recorder recorder) {
        BY_NAME.remove(database, recorder);
    }

    /** Null if the plugin was not installed when the database started. */
    static Recorder of(String database) {
        return BY_NAME.get(database);
    }
}
