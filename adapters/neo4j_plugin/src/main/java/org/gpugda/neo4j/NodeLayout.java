package org.gpugda.neo4j;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import org.neo4j.kernel.impl.store.NodeLabelsField;
import org.neo4j.kernel.impl.store.record.NodeRecord;

/** Records of nodes: a byte of flags, eight bytes that are not needed, and 40 bits that hold the labels or refer to them. */
final class NodeLayout implements RecordFile.Layout<NodeRecord> {
    static final int SIZE = 15;

    private static final VarHandle INTS = MethodHandles.byteArrayViewVarHandle(int[].class, ByteOrder.LITTLE_ENDIAN);
    private static final int IN_USE = 1;
    private static final int LABELS = 9;
    private static final int HIGH_LABELS = 13;
    private static final long UNSIGNED_INT = 0xFFFF_FFFFL;

    private final NodePage into;
    private final boolean bigEndian;

    NodeLayout(NodePage into, boolean bigEndian) {
        this.into = into;
        this.bigEndian = bigEndian;
    }

    @Override
    public void decode(byte[] page, int offset, long id, long end) {
        for (int at = offset; id < end; id++, at += SIZE) {
            if ((page[at] & IN_USE) == 0) continue;
            long field = field(page, at);
            if (NodeLabelsField.fieldPointsToDynamicRecordOfLabels(field)) into.add(id);
            else into.add(id, field);
        }
    }

    @Override
    public boolean isEqual(byte[] page, int offset, NodeRecord record) {
        boolean inUse = (page[offset] & IN_USE) != 0;
        return inUse == record.inUse() && (!inUse || field(page, offset) == record.getLabelField());
    }

    private long field(byte[] page, int at) {
        int low = (int) INTS.get(page, at + LABELS);
        if (bigEndian) low = Integer.reverseBytes(low);
        return low & UNSIGNED_INT | (page[at + HIGH_LABELS] & 0xFFL) << 32;
    }
}
