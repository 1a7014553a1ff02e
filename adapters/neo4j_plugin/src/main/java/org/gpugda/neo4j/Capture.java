package org.gpugda.neo4j;

import java.lang.reflect.Array;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.eclipse.collections.api.set.primitive.LongSet;
import org.eclipse.collections.api.set.primitive.MutableLongSet;
import org.eclipse.collections.impl.factory.primitive.LongSets;
import org.neo4j.graphdb.Entity;
import org.neo4j.graphdb.Node;
import org.neo4j.graphdb.Relationship;
import org.neo4j.graphdb.event.LabelEntry;
import org.neo4j.graphdb.event.PropertyEntry;
import org.neo4j.graphdb.event.TransactionData;

/** Captures what a transaction changes, section by section, up to a limit of bytes. */
final class Capture {
    private static final long VALUE_BYTES = 48;
    private static final int USUAL_NUMBERS = 24;

    private final Names names;
    private final KeptKeys keys;
    private final long mostBytes;
    private final Numbers numbers = new Numbers(Section.ALL.length, USUAL_NUMBERS);
    private List<Object> nodeValues = List.of();
    private List<Object> relationshipValues = List.of();
    private long bytes = Changes.OVERHEAD;

    private Capture(Names names, KeptKeys keys, long mostBytes) {
        this.names = names;
        this.keys = keys;
        this.mostBytes = mostBytes;
    }

    /** The transaction's changes; null if they need more bytes. */
    static Changes of(TransactionData data, Names names, KeptKeys keys, long mostBytes) {
        return new Capture(names, keys, mostBytes).take(data);
    }

    private Changes take(TransactionData data) {
        for (Node node : data.createdNodes()) add(id(node));
        end(Section.CREATED_NODES);
        // One set of deleted entities is cheaper than calling isDeleted per entity, which allocates objects.
        LongSet goneNodes = addDeleted(data.deletedNodes());
        end(Section.DELETED_NODES);
        takeLabels(data.assignedLabels(), false, goneNodes);
        takeLabels(data.removedLabels(), true, goneNodes);
        end(Section.LABELS);
        for (Relationship one : data.createdRelationships()) addWhole(one);
        end(Section.CREATED_RELATIONSHIPS);
        LongSet goneRelationships = addDeletedWhole(data.deletedRelationships());
        end(Section.DELETED_RELATIONSHIPS);
        nodeValues = takeProperties(keys.nodes(), data.assignedNodeProperties(), false, goneNodes, nodeValues);
        nodeValues = takeProperties(keys.nodes(), data.removedNodeProperties(), true, goneNodes, nodeValues);
        end(Section.NODE_PROPERTIES);
        relationshipValues = takeProperties(
                keys.relationships(), data.assignedRelationshipProperties(), false, goneRelationships, relationshipValues);
        relationshipValues = takeProperties(
                keys.relationships(), data.removedRelationshipProperties(), true, goneRelationships, relationshipValues);
        end(Section.RELATIONSHIP_PROPERTIES);
        return bytes > mostBytes ? null : new Changes(numbers.done(), nodeValues, relationshipValues, bytes);
    }

    private LongSet addDeleted(Iterable<Node> nodes) {
        MutableLongSet gone = null;
        for (Node node : nodes) {
            add(id(node));
            if (gone == null) gone = LongSets.mutable.empty();
            gone.add(id(node));
        }
        return gone == null ? LongSets.immutable.empty() : gone;
    }

    private LongSet addDeletedWhole(Iterable<Relationship> relationships) {
        MutableLongSet gone = null;
        for (Relationship one : relationships) {
            addWhole(one);
            if (gone == null) gone = LongSets.mutable.empty();
            gone.add(id(one));
        }
        return gone == null ? LongSets.immutable.empty() : gone;
    }

    private void takeLabels(Iterable<LabelEntry> entries, boolean removed, LongSet gone) {
        for (LabelEntry entry : entries) {
            long node = id(entry.node());
            if (gone.contains(node)) continue;
            int name = names.code(entry.label().name());
            add(node);
            add(removed ? -1 - name : name);
        }
    }

    /** Returns the values, with the kept ones appended. */
    private <E extends Entity> List<Object> takeProperties(
            Map<String, Long> kept, Iterable<PropertyEntry<E>> entries, boolean removed, LongSet gone, List<Object> values) {
        List<Object> found = values;
        for (PropertyEntry<E> entry : entries) {
            long id = id(entry.entity());
            if (gone.contains(id)) continue;
            int name = names.code(entry.key());
            boolean keep = kept.containsKey(entry.key());
            add(id);
            add(keep ? -1 - name : name);
            if (!keep || bytes > mostBytes) continue;
            Object value = removed ? null : entry.value();
            bytes += size(value);
            if (found.isEmpty()) found = new ArrayList<>(1);
            found.add(value);
        }
        return found;
    }

    private void addWhole(Relationship one) {
        add(id(one));
        add(one.getStartNodeId());
        add(one.getEndNodeId());
        add(names.code(one.getType().name()));
    }

    private void add(long number) {
        bytes += Long.BYTES;
        if (bytes <= mostBytes) numbers.add(number);
    }

    private void end(Section section) {
        numbers.set(section.ordinal(), numbers.count());
    }

    @SuppressWarnings("deprecation") // the client identifies entities by numeric ids throughout
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
