package org.gpugda.neo4j;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.neo4j.exceptions.KernelException;
import org.neo4j.internal.kernel.api.NodeCursor;
import org.neo4j.internal.kernel.api.Read;
import org.neo4j.internal.kernel.api.TokenSet;
import org.neo4j.kernel.api.KernelTransaction;
import org.neo4j.procedure.TerminationGuard;

/** The nodes of a range of ids. */
final class NodePage {
    /** One row a page; ids are empty where none is missing. */
    public static final class Row {
        public long count;
        public byte[] ids;
        public byte[] codes;
        public List<List<String>> labelSets = new ArrayList<>();
    }

    private final KernelTransaction kernel;
    private final TerminationGuard guard;
    private final Map<List<Integer>, Integer> sets = new HashMap<>();

    NodePage(KernelTransaction kernel, TerminationGuard guard) {
        this.kernel = kernel;
        this.guard = guard;
    }

    Row read(long first, long last) {
        int width = (int) (last - first + 1);
        long[] ids = new long[width];
        int[] codes = new int[width];
        int[] codeOfLabel = new int[0];
        Read read = kernel.dataRead();
        int count = 0;
        try (NodeCursor cursor = kernel.cursors().allocateNodeCursor(kernel.cursorContext(), kernel.memoryTracker())) {
            for (long id = first; id <= last; id++) {
                if ((id & 0xFFF) == 0) guard.check();
                read.singleNode(id, cursor);
                if (!cursor.next()) continue;
                TokenSet labels = cursor.labels();
                ids[count] = id - first;
                if (labels.numberOfTokens() == 1) {
                    int label = labels.token(0);
                    if (label >= codeOfLabel.length || codeOfLabel[label] == 0) {
                        codeOfLabel = Arrays.copyOf(codeOfLabel, Math.max(label + 1, codeOfLabel.length));
                        codeOfLabel[label] = code(labels) + 1;
                    }
                    codes[count++] = codeOfLabel[label] - 1;
                } else codes[count++] = code(labels);
            }
        }
        Row row = new Row();
        row.count = count;
        row.ids = count == width ? new byte[0] : Columns.narrow(ids, count);
        row.codes = Columns.codes(codes, count);
        row.labelSets = names();
        return row;
    }

    private int code(TokenSet labels) {
        List<Integer> set = new ArrayList<>(labels.numberOfTokens());
        for (int i = 0; i < labels.numberOfTokens(); i++) set.add(labels.token(i));
        Integer known = sets.get(set);
        if (known != null) return known;
        if (sets.size() == Codes.MOST) throw new IllegalStateException("more than 65,536 label sets in a page");
        sets.put(set, sets.size());
        return sets.size() - 1;
    }

    private List<List<String>> names() {
        List<List<String>> found = new ArrayList<>();
        for (int i = 0; i < sets.size(); i++) found.add(List.of());
        sets.forEach((set, code) -> found.set(code, set.stream().map(this::name).toList()));
        return found;
    }

    private String name(int label) {
        try {
            return kernel.tokenRead().nodeLabelName(label);
        } catch (KernelException error) {
            throw new IllegalStateException("a node has a label that has no name", error);
        }
    }
}
