package org.gpugda.neo4j;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** Dense codes for the tokens of a page, in order of first occurrence. */
final class Codes {
    /** The client reads codes as unsigned 16-bit numbers. */
    static final int MOST = 1 << 16;

    private int[] codeOf = new int[64];
    private final List<Integer> tokens = new ArrayList<>();

    int of(int token) {
        if (token < codeOf.length && codeOf[token] != 0) return codeOf[token] - 1;
        return add(token);
    }

    List<Integer> tokens() {
        return tokens;
    }

    private int add(int token) {
        if (tokens.size() == MOST) throw new IllegalStateException("more than 65,536 different types or label sets");
        if (token >= codeOf.length) codeOf = Arrays.copyOf(codeOf, Math.max(token + 1, 2 * codeOf.length));
        tokens.add(token);
        codeOf[token] = tokens.size();
        return tokens.size() - 1;
    }
}
