package org.gpugda.neo4j;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import org.neo4j.kernel.impl.store.record.RelationshipRecord;

/**
 * Records of relationships: a byte of flags, and the lowest 32 bits of start node, end node and type. The type has 16
 * bits; the highest bits of the ends are in the flags and above the type.
 */
final class RelationshipLayout implements RecordFile.Layout<RelationshipRecord> {
    static final int SIZE = 34;

    private static final VarHandle INTS = MethodHandles.byteArrayViewVarHandle(int[].class, ByteOrder.LITTLE_ENDIAN);
    private static final int IN_USE = 1;
    private static final int SOURCE = 1;
    private static final int TARGET = 5;
    private static final int TYPE = 9;
    private static final int HIGH_SOURCE = 0x0E;
    private static final int HIGH_TARGET = 0x7000_0000;
    private static final int TYPES = 0xFFFF;
    private static final long UNSIGNED_INT = 0xFFFF_FFFFL;

    private final RecordFile<RelationshipRecord> file;
    private final RelationshipPage into;
    private final boolean bigEndian;

    RelationshipLayout(RecordFile<RelationshipRecord> file, RelationshipPage into) {
        this.file = file;
        this.into = into;
        bigEndian = file.isBigEndian();
    }

    @Override
    public void decode(byte[] page, int offset, long id, long end) {
        for (int at = offset; id < end; id++, at += SIZE) {
            int flags = page[at];
            if ((flags & IN_USE) == 0) continue;
            int source = number(page, at + SOURCE), target = number(page, at + TARGET), type = number(page, at + TYPE);
            if ((flags & HIGH_SOURCE | type & HIGH_TARGET) == 0)
                into.add(id, source & UNSIGNED_INT, target & UNSIGNED_INT, type & TYPES);
            else addLarge(id);
        }
    }

    @Override
    public boolean isEqual(byte[] page, int offset, RelationshipRecord record) {
        int flags = page[offset], type = number(page, offset + TYPE);
        boolean inUse = (flags & IN_USE) != 0;
        if (!inUse || !record.inUse()) return inUse == record.inUse();
        return (flags & HIGH_SOURCE | type & HIGH_TARGET) != 0
                || ((number(page, offset + SOURCE) & UNSIGNED_INT) == record.getFirstNode()
                        && (number(page, offset + TARGET) & UNSIGNED_INT) == record.getSecondNode()
                        && (type & TYPES) == record.getType());
    }

    /** Adds a relationship of a node whose id has more than 32 bits. */
    private void addLarge(long id) {
        RelationshipRecord record = file.record(id);
        if (record.inUse()) into.add(id, record.getFirstNode(), record.getSecondNode(), record.getType());
    }

    private int number(byte[] page, int offset) {
        int found = (int) INTS.get(page, offset);
        return bigEndian ? Integer.reverseBytes(found) : found;
    }
}
