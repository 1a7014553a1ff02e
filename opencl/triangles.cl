/* Counting undirected triangles of any nodes, all of whose relationships may be of the same types: `count_triangles`.

   All orders of a triangle's nodes are embeddings, so only a > b > c are looked for, by marks of the lower neighbours of a:

       a's lists      … b … c … | a …       marks: in how many ways they lead to each node before a
       b's lists      … c … | b …           the sum of these marks, six times

   Where relationships run UPWARDS, triangles a -> b -> c, a -> c are counted, each once, with the whole outgoing lists of a and b.
   With a loop at a node of the three, two of them are the same one, and the others are two different relationships between two
   nodes; or all three are loops. Items take nodes from a counter of tasks until they looked at `most_work` entries. Each has a
   byte of scratch per node, in whole words, zero before and after: no two nodes may have more than 255 relationships. Cycles are written as squares are: of these only the lists are used.
*/
#include "work_split.h"
#include "csr.h"
#include "cycle_lists.h"

#ifdef ON_CPU
/* Entries that lead to nodes before this one: next_list, cut. Upwards all of them. */
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

/* Triangles whose highest node this is; upwards those that begin there. */
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

/* Those that are a loop and two relationships to one other node, the loop in each of three places, or three loops. */
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
    GRAPH_PARAMETERS, global const uint *words, uint node_count, uint task_nodes, ulong most_work,
    global uint *scratch, volatile global uint *counters, global ulong *totals
) {
    const Square square = {OUTGOING_CSR, INCOMING_CSR, incoming_relationship_indexes, words, 0, 0, 0, 0};
    global uchar *marks = (global uchar *)(scratch + get_global_id(0) * (((ulong)node_count + 3) / 4));
    ulong total = 0, work = 0;
    while (work < most_work) {
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
