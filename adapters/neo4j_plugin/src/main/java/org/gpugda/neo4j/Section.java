package org.gpugda.neo4j;

/** The sections of a transaction's changes: a fixed count of numbers per entry. */
enum Section {
    /** id */
    CREATED_NODES(1),
    /** id */
    DELETED_NODES(1),
    /** node, code of the label or, if it was removed, -1 - code */
    LABELS(2),
    /** id, start, end, code of the type */
    CREATED_RELATIONSHIPS(4),
    /** id, start, end, code of the type */
    DELETED_RELATIONSHIPS(4),
    /** node, code of the key or, if the value is kept, -1 - code */
    NODE_PROPERTIES(2),
    /** relationship, code of the key as above */
    RELATIONSHIP_PROPERTIES(2);

    static final Section[] ALL = values();

    final int width;

    Section(int width) {
        this.width = width;
    }
}
