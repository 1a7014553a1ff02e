/* Counts squares (see squares.cl) per node at position 0, in the three-word format of sums of rows: a factor for
   the rest of a pattern that is attached to this node. Work split:

          sum_squares           work groups (CPU: items) take tasks of task_nodes listed nodes from counters[0] until
                                they have read max_work entries; per node: paths over 1 to each node at position 2,
                                times paths over 3, as if they were independent. On a GPU teams of LANES items take
                                one path to a node at position 1 or 3 each
          measure_odd_ends      one item per node at positions 1 and 3: paths on to position 2, and those that take one
                                relationship twice
          correct_square_sums   one item per listed node: corrects the sum for two opposite nodes that are the same

       scratch    uint[groups * node_count]; on a CPU uint[items * (2 * node_count + 1)]: a mark per node, on a CPU
                  also the list of marked nodes; zero before and after
       odd_ends   long[2 * node_count]
       sums       uint[3 * listed]   from first_word on
*/
#include "work_split.h"
#include "csr.h"
#include "cycle_lists.h"
#include "squares.h"
#include "square_marks.h"

#define SUM_WORDS 3
#define SQUARE_PARAMETERS \
    GRAPH_PARAMETERS, global const uint *words, global const uint *masks, uint mask_words, global const uint *candidates, uint node_words
#define SQUARE_ARGUMENTS \
    {OUTGOING_CSR, INCOMING_CSR, incoming_relationship_indexes, words, masks, candidates, mask_words, node_words}

static inline void write_sum(global uint *sums, ulong place, ulong sum) {
    sums[place] = (uint)sum;
    sums[place + 1] = (uint)(sum >> 32);
    sums[place + 2] = 0;
}

#ifndef ON_CPU
#define GROUP_SIZE 256
#define LANES 16
#define MARKS 0
#define ADDS 1
#define SQUARES 2
#define CLEARS 3

/* Follows a link from a node at position 1 or 3 to all nodes but `from`; a team together. */
static ulong second_link(const Square *square, uint link, uint node, uint from, volatile global uint *marks, uint what, ulong *work) {
    ulong sum = 0;
    Lists lists = all_lists(square, link, false);
    while (next_list(&lists, square, node)) {
        for (uint entry = lists.entries.x + get_local_id(0) % LANES; entry < lists.entries.y; entry += LANES) {
            ++*work;
            uint opposite = neighbours_of(square, lists.is_incoming)[entry];
            if (opposite == from || !fits_place(square, 2, opposite) || !entry_fits(square, &lists, node, entry)) continue;
            if (what == MARKS) {
                atomic_inc(marks + opposite);
            } else if (what == ADDS) {
                sum += marks[opposite];
            } else if (what == SQUARES) {
                ulong mark = atomic_xchg(marks + opposite, 0u);
                sum += mark * mark;
            } else {
                marks[opposite] = 0;
            }
        }
    }
    return sum;
}

/* The same for all paths that begin at `from`, at position 0; teams take one each. */
static ulong two_links(
    const Square *square, uint first, uint second, uint from, volatile global uint *marks, uint what, ulong *work
) {
    ulong sum = 0;
    uint middle = first == 0 ? 1 : 3;
    Lists lists = all_lists(square, first, true);
    while (next_list(&lists, square, from)) {
        for (uint entry = lists.entries.x + get_local_id(0) / LANES; entry < lists.entries.y; entry += GROUP_SIZE / LANES) {
            uint node = neighbours_of(square, lists.is_incoming)[entry];
            if (!fits_place(square, middle, node) || !entry_fits(square, &lists, from, entry)) continue;
            sum += second_link(square, second, node, from, marks, what, work);
        }
    }
    barrier(CLK_GLOBAL_MEM_FENCE);
    return sum;
}

static ulong squares_from(const Square *square, uint from, volatile global uint *marks, ulong *work) {
    two_links(square, 0, 1, from, marks, MARKS, work);
    if (square->words[FLAGS_AT] & SYMMETRIC) return two_links(square, 0, 1, from, marks, SQUARES, work);
    ulong sum = two_links(square, 3, 2, from, marks, ADDS, work);
    two_links(square, 0, 1, from, marks, CLEARS, work);
    return sum;
}
#endif

kernel void sum_squares(
    SQUARE_PARAMETERS, uint node_count, global const uint *nodes, uint first, uint listed, uint task_nodes, ulong max_work,
    global uint *scratch, volatile global uint *counters, global uint *sums, ulong first_word
) {
    const Square square = SQUARE_ARGUMENTS;
#ifdef ON_CPU
    global uint *marks = scratch + get_global_id(0) * (2 * (ulong)node_count + 1), *marked = marks + node_count;
    ulong work = 0;
    while (work < max_work) {
        ulong begin = (ulong)atomic_inc(counters) * task_nodes, end = min(begin + task_nodes, (ulong)listed);
        if (begin >= listed) break;
        for (ulong i = begin; i < end; ++i, ++work) {
            write_sum(sums, first_word + i * SUM_WORDS, squares_from(&square, nodes[first + i], marks, marked, &work));
        }
    }
#else
    volatile global uint *marks = scratch + get_group_id(0) * (ulong)node_count;
    local uint next_task;
    local ulong of_items[GROUP_SIZE], looks_of_items[GROUP_SIZE];
    local ulong looked_at;
    ulong group_work = 0;
    if (get_local_id(0) == 0) looked_at = 0;
    while (group_work < max_work) {
        if (get_local_id(0) == 0) next_task = atomic_inc(counters);
        barrier(CLK_LOCAL_MEM_FENCE);
        ulong begin = (ulong)next_task * task_nodes, end = min(begin + task_nodes, (ulong)listed);
        if (begin >= listed) break;
        for (ulong i = begin; i < end; ++i) {
            ulong work = 1;
            of_items[get_local_id(0)] = squares_from(&square, nodes[first + i], marks, &work);
            looks_of_items[get_local_id(0)] = work;
            barrier(CLK_LOCAL_MEM_FENCE);
            if (get_local_id(0) == 0) {
                ulong sum = 0;
                for (uint item = 0; item < GROUP_SIZE; ++item) {
                    sum += of_items[item];
                    looked_at += looks_of_items[item];
                }
                write_sum(sums, first_word + i * SUM_WORDS, sum);
            }
            barrier(CLK_LOCAL_MEM_FENCE);
        }
        group_work = looked_at;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
#endif
}

/* odd_ends: two words per node of the data graph. */
kernel void measure_odd_ends(SQUARE_PARAMETERS, uint node_count, global long *odd_ends) {
    const Square square = SQUARE_ARGUMENTS;
    FOR_EACH(node, node_count) {
        long product = 0, twice = 0;
        if (fits_place(&square, 1, (uint)node) && fits_place(&square, 3, (uint)node)) {
            Pairs pairs;
            all_pairs(&square, (uint)node, &pairs);
            while (next_pair(&pairs, &square, (uint)node, false)) {
                if (!fits_place(&square, 2, pairs.node)) continue;
                product += product_of(&pairs, 1, 2);
                twice += shared(&square, &pairs, 1, 2);
            }
        }
        odd_ends[2 * node] = product;
        odd_ends[2 * node + 1] = twice;
    }
}

/* One node at positions 1 and 3: corrects for pairs of links, 0 and 3 or 1 and 2, that were counted with one
   relationship for both. */
static ulong one_odd_node(const Square *square, uint node, global const long *odd_ends) {
    long sum = 0;
    bool is_opposite = fits_place(square, 2, node);
    Pairs pairs;
    all_pairs(square, node, &pairs);
    while (next_pair(&pairs, square, node, true)) {
        if (!fits_place(square, 1, pairs.node) || !fits_place(square, 3, pairs.node)) continue;
        long product = product_of(&pairs, 0, 3), twice = shared(square, &pairs, 0, 3);
        if (product == 0) continue;
        long on = odd_ends[2 * (ulong)pairs.node], on_twice = odd_ends[2 * (ulong)pairs.node + 1];
        if (is_opposite) {
            on -= product_of(&pairs, 1, 2);
            on_twice -= shared(square, &pairs, 1, 2);
        }
        sum += twice * on_twice - product * on_twice - twice * on;
    }
    return sum;
}

kernel void correct_square_sums(
    SQUARE_PARAMETERS, uint node_count, global const uint *nodes, uint first, uint listed, global const long *odd_ends,
    global uint *sums, ulong first_word
) {
    const Square square = SQUARE_ARGUMENTS;
    FOR_EACH(i, listed) {
        uint node = nodes[first + i];
        ulong place = first_word + i * SUM_WORDS, work = 0;
        ulong sum = sums[place] | (ulong)sums[place + 1] << 32;
        if (fits_place(&square, 2, node)) sum += opposite_same(&square, node, 0, &work);
        if (has_loops(&square)) sum += over_loops(&square, node, node_count, 0);
        if (words[FLAGS_AT] & MEET_AT_ODD) sum += one_odd_node(&square, node, odd_ends);
        write_sum(sums, place, sum);
    }
}
