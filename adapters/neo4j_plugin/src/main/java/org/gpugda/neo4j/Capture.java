package org.gpugda.neo4j;

import java.lang.reflect.Array;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.neo4j.graphdb.Entity;
import org.neo4j.graphdb.Node;
import org.neo4j.graphdb.Relationship;
import org.neo4j.graphdb.event.LabelEntry;
import org.neo4j.graphdb.event.PropertyEntry;
import org.neo4j.graphdb.event.TransactionData;

/** Takes down what a transaction changes, as far as its bytes are worth keeping. */
final class Capture {
    private static final long VALUE_BYTES = 48;

    private final Names names;
    private final KeptKeys keys;
    private final long mostBytes;
    private final Numbers[] sections = new Numbers[Section.ALL.length];
    private final List<Object> nodeValues = new ArrayList<>(0);
    private final List<Object> relationshipValues = new ArrayList<>(0);
    private long bytes = Changes.OVERHEAD;

    private Capture(Names names, KeptKeys keys, long mostBytes) {
        this.names = names;
        this.keys = keys;
        this.mostBytes = mostBytes;
        for (int i = 0; i < sections.length; i++) sections[i] = new Numbers();
    }

    /** What it changes; null if that takes more bytes. */
    static Changes of(TransactionData data, Names names, KeptKeys keys, long mostBytes) {
        return new Capture(names, keys, mostBytes).take(data);
    }

    private Changes take(TransactionData data) {
        // What is deleted is asked for per entity: a set costs less than isDeleted, which makes objects.
        Set<Long> gone = new HashSet<>();
        for (Node node : data.createdNodes()) add(Section.CREATED_NODES, id(node));
        for (Node node : data.deletedNodes()) {
            add(Section.DELETED_NODES, id(node));
            gone.add(id(node));
        }
        takeLabels(data.assignedLabels(), false, gone);
        takeLabels(data.removedLabels(), true, gone);
        takeProperties(Section.NODE_PROPERTIES, data.assignedNodeProperties(), false, gone);
        takeProperties(Section.NODE_PROPERTIES, data.removedNodeProperties(), true, gone);
        gone.clear();
        for (Relationship one : data.createdRelationships()) add(Section.CREATED_RELATIONSHIPS, one);
        for (Relationship one : data.deletedRelationships()) {
            add(Section.DELETED_RELATIONSHIPS, one);
            gone.add(id(one));
        }
        takeProperties(Section.RELATIONSHIP_PROPERTIES, data.assignedRelationshipProperties(), false, gone);
        takeProperties(Section.RELATIONSHIP_PROPERTIES, data.removedRelationshipProperties(), true, gone);
        if (bytes > mostBytes) return null;
        long[][] found = new long[sections.length][];
        for (int i = 0; i < found.length; i++) found[i] = sections[i].done();
        return new Changes(found, nodeValues, relationshipValues, bytes);
    }

    private void takeLabels(Iterable<LabelEntry> entries, boolean removed, Set<Long> gone) {
        for (LabelEntry entry : entries) {
            if (!gone.isEmpty() && gone.contains(id(entry.node()))) continue;
            int name = names.code(entry.label().name());
            add(Section.LABELS, id(entry.node()), removed ? -1 - name : name);
        }
    }

    private <E extends Entity> void takeProperties(
            Section section, Iterable<PropertyEntry<E>> entries, boolean removed, Set<Long> gone) {
        boolean ofNodes = section == Section.NODE_PROPERTIES;
        Map<String, Long> kept = ofNodes ? keys.nodes() : keys.relationships();
        List<Object> values = ofNodes ? nodeValues : relationshipValues;
        for (PropertyEntry<E> entry : entries) {
            long id = id(entry.entity());
            if (!gone.isEmpty() && gone.contains(id)) continue;
            int name = names.code(entry.key());
            boolean keep = kept.containsKey(entry.key());
            add(section, id, keep ? -1 - name : name);
            if (!keep || bytes > mostBytes) continue;
            Object value = removed ? null : entry.value();
            bytes += size(value);
            values.add(value);
        }
    }

    private void add(Section section, Relationship one) {
        add(section, id(one), one.getStartNodeId(), one.getEndNodeId(), names.code(one.getType().name()));
    }

    private void add(Section section, long... numbers) {
        bytes += 8L * numbers.length;
        if (bytes > mostBytes) return;
        for (long number : numbers) sections[section.ordinal()].add(number);
    }

    @SuppressWarnings("deprecation") // the client's ids are numbers, as in all that it reads
    private static long id(Entity entity) {
        return entity.getId();
    }

    private static long size(Object value) {
        if (value instanceof String text) return VALUE_BYTES + 2L * text.length();
        if (value == null || !value.getClass().isArray()) return VALUE_BYTES;
        long found = VALUE_BYTES;
        int length = Array.getLength(value);
        if (value.getClass().getComponentType().isPrimitive()) return found + 8L * length;
        for (int i = 0; i < length; i++) found += size(Array.get(value, i));
        return found;
    }
}
