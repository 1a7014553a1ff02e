package org.gpugda.neo4j;

import java.util.ArrayList;
import java.util.List;
import org.neo4j.exceptions.KernelException;
import org.neo4j.internal.kernel.api.Read;
import org.neo4j.internal.kernel.api.RelationshipScanCursor;
import org.neo4j.kernel.api.KernelTransaction;
import org.neo4j.procedure.TerminationGuard;

/** The relationships of a range of ids. */
final class RelationshipPage {
    /** One row a page; ids are empty where none is missing. */
    public static final class Row {
        public long count;
        public byte[] ids;
        public byte[] sources;
        public byte[] targets;
        public byte[] codes;
        public List<String> types = new ArrayList<>();
    }

    private final KernelTransaction kernel;
    private final TerminationGuard guard;

    RelationshipPage(KernelTransaction kernel, TerminationGuard guard) {
        this.kernel = kernel;
        this.guard = guard;
    }

    Row read(long first, long last) {
        int width = (int) (last - first + 1);
        long[] ids = new long[width];
        long[] sources = new long[width];
        long[] targets = new long[width];
        int[] codes = new int[width];
        Codes types = new Codes();
        Read read = kernel.dataRead();
        int count = 0;
        try (RelationshipScanCursor cursor =
                kernel.cursors().allocateRelationshipScanCursor(kernel.cursorContext(), kernel.memoryTracker())) {
            for (long id = first; id <= last; id++) {
                if ((id & 0xFFF) == 0) guard.check();
                read.singleRelationship(id, cursor);
                if (!cursor.next()) continue;
                ids[count] = id - first;
                sources[count] = cursor.sourceNodeReference();
                targets[count] = cursor.targetNodeReference();
                codes[count++] = types.of(cursor.type());
            }
        }
        Row row = new Row();
        row.count = count;
        row.ids = count == width ? new byte[0] : Columns.narrow(ids, count);
        row.sources = Columns.narrow(sources, count);
        row.targets = Columns.narrow(targets, count);
        row.codes = Columns.codes(codes, count);
        for (int type : types.tokens()) row.types.add(name(type));
        return row;
    }

    private String name(int type) {
        try {
            return kernel.tokenRead().relationshipTypeName(type);
        } catch (KernelException error) {
            throw new IllegalStateException("a relationship has a type that has no name", error);
        }
    }
}
