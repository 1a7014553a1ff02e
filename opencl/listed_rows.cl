/* The rows of the kept entries in a graph with one type: only nodes that some link may start from have one (see
   kept_entries.cl, and LISTED in csr.h). Work split:

          mark_rows     one item per 32 nodes: the nodes that are candidates in one of the rows of the matrix
          list_rows     one item per 32 nodes: bits and rows before, as LISTED has them
          start_rows    one item per node whose row begins in a chunk, or, for the last chunk, at its end: the start of
                        its row among the kept entries. The node after the last one ends the last row
          mark_filled   one item per 32 nodes: the nodes with a listed row that has entries
          move_starts   one item per 32 nodes: the starts of the rows of marked nodes; the first item ends the last row

       rows          number of rows of the matrix, then these; NONE stands for all nodes
       marks, sums   uint[words], ulong[words + 1]   a bit per node, and prefix sums of these
       starts        row offsets of nodes, from `place` on; only `known` of them are there, as all others equal the last
       kept_starts   uint[listed rows + 1]
       filled_starts uint[marked nodes + 1]
*/
#include "work_split.h"
#include "csr.h"
#include "kept_bits.h"

kernel void mark_rows(
    global const uint *candidates, uint words, uint node_count, global const uint *rows, global uint *marks
) {
    FOR_EACH(word, words) {
        uint found = 0;
        for (uint i = 1; i <= rows[0]; ++i) found |= rows[i] == NONE ? NONE : candidates[(ulong)rows[i] * words + word];
        uint left = node_count - 32 * (uint)word;
        marks[word] = left < 32 ? found & ((1u << left) - 1) : found;
    }
}

kernel void list_rows(global const uint *marks, global const ulong *sums, uint words, global uint *listed) {
    FOR_EACH(word, words) {
        listed[2 + 2 * word] = marks[word];
        listed[3 + 2 * word] = (uint)sums[word];
    }
    if (get_global_id(0) == 0) listed[0] = LISTED;
}

kernel void start_rows(
    global const uint *starts, ulong place, uint known, uint first_node, ulong count, uint node_count, uint first_entry,
    uint entry_count, global const uint *bits, global const ulong *sums, global const ulong *kept, uint chunk,
    global const uint *listed, uint listed_count, global uint *kept_starts
) {
    FOR_EACH(i, count) {
        uint node = first_node + (uint)i, row = listed_count;
        if (node < node_count) {
            global const uint *word = listed + 2 + 2 * (node >> 5);
            uint bit = 1u << (node & 31);
            if (!(word[0] & bit)) continue;
            row = word[1] + popcount(word[0] & (bit - 1));
        }
        uint entry = starts[place + min((uint)i, known - 1)] - first_entry;
        kept_starts[row] = (uint)(kept[chunk] + kept_before(bits, sums, entry_count, entry));
    }
}

kernel void mark_filled(global const uint *listed, global const uint *kept_starts, uint words, global uint *marks) {
    FOR_EACH(word, words) {
        uint found = 0, row = listed[3 + 2 * word];
        for (uint left = listed[2 + 2 * word]; left; left &= left - 1, ++row) {
            if (kept_starts[row + 1] > kept_starts[row]) found |= left & -left;
        }
        marks[word] = found;
    }
}

kernel void move_starts(
    global const uint *listed, uint listed_count, global const uint *kept_starts, global const uint *marks,
    global const ulong *sums, uint words, global uint *filled_starts
) {
    FOR_EACH(word, words) {
        uint row = listed[3 + 2 * word];
        ulong place = sums[word];
        for (uint left = listed[2 + 2 * word]; left; left &= left - 1, ++row) {
            if (marks[word] & left & -left) filled_starts[place++] = kept_starts[row];
        }
    }
    if (get_global_id(0) == 0) filled_starts[sums[words]] = kept_starts[listed_count];
}
