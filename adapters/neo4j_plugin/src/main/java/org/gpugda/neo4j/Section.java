package org.gpugda.neo4j;

/** What a transaction's changes consist of: numbers of a fixed count per entry. */
enum Section {
    /** id */
    CREATED_NODES(1),
    /** id */
    DELETED_NODES(1),
    /** node, name of the label or, where it was removed, -1 - name */
    LABELS(2),
    /** id, start, end, name of the type */
    CREATED_RELATIONSHIPS(4),
    /** id, start, end, name of the type */
    DELETED_RELATIONSHIPS(4),
    /** node, name of the key or, where the value is among the values, -1 - name */
    NODE_PROPERTIES(2),
    /** relationship, likewise */
    RELATIONSHIP_PROPERTIES(2);

    static final Section[] ALL = values();

    final int width;

    Section(int width) {
        this.width = width;
    }
}
