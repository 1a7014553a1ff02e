/* Counts cycles of four query nodes by the common neighbours of two opposite ones: `count_squares`.

          0 ── link 0 ── 1          For a node a at position 0, each node c at position 2 is marked with the number of
          │              │          paths over 1. Walking the paths over 3 then adds up marks, so that all squares
        link 3         link 1       cost as much as paths of two. This counts homomorphisms. Squares with two
          │              │          relationships between the same two nodes are counted wrongly; squares.h corrects
          3 ── link 2 ── 2          these.

   Work split: items take tasks of `task_nodes` nodes from counters[0] until they have read `max_work` entries.

       scratch   uint[items * (2 * node_count + 1)]   marks, zero before and after, and the list of marked nodes; if
                                                      there are loops, 2 * node_count more words for their numbers
       totals    ulong[items]                         each item adds to its own
*/
#include "work_split.h"
#include "csr.h"
#include "cycle_lists.h"
#include "squares.h"
#include "square_marks.h"

#ifdef ON_CPU
kernel void count_squares(
    GRAPH_PARAMETERS, global const uint *words, global const uint *masks, uint mask_words,
    global const uint *candidates, uint node_words, uint node_count, uint task_nodes, ulong max_work,
    global uint *scratch, volatile global uint *counters, global ulong *totals
) {
    const Square square = {OUTGOING_CSR, INCOMING_CSR, incoming_relationship_indexes, words, masks, candidates, mask_words, node_words};
    ulong item_words = (has_loops(&square) ? 4 : 2) * (ulong)node_count + 1;
    global uint *marks = scratch + get_global_id(0) * item_words, *marked = marks + node_count, *loops = marked + node_count + 1;
    ulong total = 0, work = 0;
    while (work < max_work) {
        ulong begin = (ulong)atomic_inc(counters) * task_nodes, end = min(begin + task_nodes, (ulong)node_count);
        if (begin >= node_count) break;
        for (uint node = (uint)begin; node < end; ++node) {
            if (fits_place(&square, 0, node)) {
                total += squares_from(&square, node, marks, marked, &work);
                if (fits_place(&square, 2, node)) total += opposite_same(&square, node, 0, &work);
                if (has_loops(&square)) total += over_loops(&square, node, node_count, loops);
            }
            bool both = fits_place(&square, 1, node) && fits_place(&square, 3, node);
            if (both && (words[FLAGS_AT] & MEET_AT_ODD)) total += opposite_same(&square, node, 1, &work);
            ++work;
        }
    }
    totals[get_group_id(0)] += total;
}
#endif
