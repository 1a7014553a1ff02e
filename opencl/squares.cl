/* Counting cycles of four query nodes by what two opposite ones have in common: `count_squares`.

       0 ── link 0 ── 1          For a node a in the place of 0, each node c in the place of 2 is marked with the number of ways
       │              │          over 1. Going through the ways over 3 then adds up marks, so that all squares cost what paths of
     link 3         link 1       two cost. This counts homomorphisms. What it counts wrongly are squares two of whose relationships
       │              │          are between the same two nodes, which squares.h takes out again.
       3 ── link 2 ── 2

   Items take nodes from a counter of tasks, `task_nodes` at a time, until they looked at `most_work` entries. Each has
   2 * node_count + 1 words of scratch, marks, zero before and after, and the list of what is marked; where there are loops as
   many again for their numbers.
*/
#include "work_split.h"
#include "csr.h"
#include "cycle_lists.h"
#include "squares.h"
#include "square_marks.h"

#ifdef ON_CPU
kernel void count_squares(
    GRAPH_PARAMETERS, global const uint *words, global const uint *masks, uint mask_words,
    global const uint *candidates, uint node_words, uint node_count, uint task_nodes, ulong most_work,
    global uint *scratch, volatile global uint *counters, global ulong *totals
) {
    const Square square = {OUTGOING_CSR, INCOMING_CSR, incoming_relationship_indexes, words, masks, candidates, mask_words, node_words};
    ulong item_words = (has_loops(&square) ? 4 : 2) * (ulong)node_count + 1;
    global uint *marks = scratch + get_global_id(0) * item_words, *marked = marks + node_count, *loops = marked + node_count + 1;
    ulong total = 0, work = 0;
    while (work < most_work) {
        ulong begin = (ulong)atomic_inc(counters) * task_nodes, end = min(begin + task_nodes, (ulong)node_count);
        if (begin >= node_count) break;
        for (uint node = (uint)begin; node < end; ++node) {
            if (fits_place(&square, 0, node)) {
                total += all_ways(&square, node, marks, marked, &work);
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
