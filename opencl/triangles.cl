/* Counts undirected triangles of any nodes, all of whose relationships may be of the same types: `count_triangles`.

   All orders of a triangle's nodes are embeddings, so only a > b > c are searched for, by marks of the lower
   neighbours of a:

          a's lists      … b … c … | a …       marks: number of relationships to each node below a
          b's lists      … c … | b …           the sum of these marks, times six

   If relationships run UPWARDS, triangles a -> b -> c, a -> c are counted, each once, with the whole outgoing lists
   of a and b.
   With a loop at a node of the three, two of them are the same node, and the other relationships are two different
   ones between two nodes; or all three are loops.
   Work split: items take tasks of nodes from counters[0] until they have read `max_work` entries.

       scratch   uint[items * ceil(node_count / 4)]   a byte per node, zero before and after: no two nodes may have more
                                                      than 255 relationships
       totals    ulong[items]                         each item adds to its own

   Cycles are encoded as squares are, of which only the lists are used.
*/
#include "work_split.h"
#include "csr.h"
#include "cycle_lists.h"

#ifdef ON_CPU
/* The entries of next_list that lead to nodes before this one; if UPWARDS, all of them. */
static inline bool next_lower(Lists *lists, const Square *square, uint node) {
    if (!next_list(lists, square, node)) return false;
    if (square->words[FLAGS_AT] & UPWARDS) return true;
    lists->entries.y = first_entry_from(square, lists->is_incoming, lists->entries, node);
    return true;
}

static void clear_marks(const Square *square, uint node, global uchar *marks) {
    Lists lists = all_lists(square, 0, true);
    while (next_list(&lists, square, node)) {
        global const uint *neighbours = neighbours_of(square, lists.is_incoming);
        for (uint entry = lists.entries.x; entry < lists.entries.y; ++entry) marks[neighbours[entry]] = 0;
    }
}

static ulong sum_of_marks(const Square *square, uint node, global const uchar *restrict marks, ulong *work) {
    ulong sum = 0;
    Lists lists = all_lists(square, 0, true);
    while (next_lower(&lists, square, node)) {
        global const uint *restrict neighbours = neighbours_of(square, lists.is_incoming);
        for (uint entry = lists.entries.x; entry < lists.entries.y; ++entry) sum += marks[neighbours[entry]];
        *work += lists.entries.y - lists.entries.x;
    }
    return sum;
}

/* The number of triangles whose highest node this is; if UPWARDS, of those that begin there. */
static ulong below(const Square *square, uint node, global uchar *marks, ulong *work) {
    ulong sum = 0;
    Lists lists = all_lists(square, 0, true);
    while (next_lower(&lists, square, node)) {
        global const uint *neighbours = neighbours_of(square, lists.is_incoming);
        for (uint entry = lists.entries.x; entry < lists.entries.y; ++entry) ++marks[neighbours[entry]];
    }
    lists = all_lists(square, 0, true);
    while (next_lower(&lists, square, node)) {
        global const uint *neighbours = neighbours_of(square, lists.is_incoming);
        for (uint entry = lists.entries.x; entry < lists.entries.y; ++entry) {
            sum += sum_of_marks(square, neighbours[entry], marks, work);
        }
    }
    clear_marks(square, node, marks);
    return square->words[FLAGS_AT] & UPWARDS ? sum : 6 * sum;
}

/* The number of triangles with a loop and two relationships to one other node, the loop in each of three places,
   or with three loops. */
static ulong over_loops(const Square *square, uint node, global uchar *marks, ulong *work) {
    ulong loops = 0, pairs = 0;
    Lists lists = all_lists(square, 0, true);
    while (next_list(&lists, square, node)) {
        uint2 found = entries_to(square, lists.is_incoming, lists.entries, node);
        if (lists.takes_loops) loops += found.y - found.x;
    }
    if (!loops) return 0;
    lists = all_lists(square, 0, true);
    while (next_list(&lists, square, node)) {
        global const uint *neighbours = neighbours_of(square, lists.is_incoming);
        for (uint entry = lists.entries.x; entry < lists.entries.y; ++entry) {
            if (neighbours[entry] != node) pairs += 2 * marks[neighbours[entry]]++;
        }
        *work += lists.entries.y - lists.entries.x;
    }
    clear_marks(square, node, marks);
    return 3 * loops * pairs + (loops > 2 ? loops * (loops - 1) * (loops - 2) : 0);
}

kernel void count_triangles(
    GRAPH_PARAMETERS, global const uint *words, uint node_count, uint task_nodes, ulong max_work,
    global uint *scratch, volatile global uint *counters, global ulong *totals
) {
    const Square square = {OUTGOING_CSR, INCOMING_CSR, incoming_relationship_indexes, words, 0, 0, 0, 0};
    global uchar *marks = (global uchar *)(scratch + get_global_id(0) * (((ulong)node_count + 3) / 4));
    ulong total = 0, work = 0;
    while (work < max_work) {
        ulong begin = (ulong)atomic_inc(counters) * task_nodes, end = min(begin + task_nodes, (ulong)node_count);
        if (begin >= node_count) break;
        for (uint node = (uint)begin; node < end; ++node, ++work) {
            total += below(&square, node, marks, &work);
            if (has_loops(&square)) total += over_loops(&square, node, marks, &work);
        }
    }
    totals[get_group_id(0)] += total;
}
#endif
