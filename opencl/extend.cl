/* Extends partial embeddings by one query node, one (partial row, neighbour) pair at a time (see extension.h). Work
   split:

          measure_extensions   one item per row: bases[row] = its link with the fewest entries, lengths[row] = their
                               number
          extend_pairs         one item per pair: tests the neighbour, appends a row to extended
          count_pairs          one item per pair: adds the number of rows that would be appended to totals[group]
          test_rows            one item per row: counts[row] = 1 if it passes the tests, for a step that adds nothing

       lengths    uint[row_count]         bases   uchar[row_count]
       sums       ulong[row_count + 1]    prefix sums of lengths: pair p belongs to the row with
                                          sums[row] <= p < sums[row + 1]; a launch processes pairs low … high-1
       extended   new table; rows are appended in any order from *appended on, which is increased atomically
       totals     ulong[groups]

   On a CPU an item takes a contiguous share of pairs and processes it row by row.
*/
#include "work_split.h"
#include "search.h"
#include "csr.h"
#include "query_graph.h"
#include "extension.h"
#include "row_ranges.h"
#include "whole_rows.h"
#include "group_sum.h"

kernel void measure_extensions(STEP_PARAMETERS, ulong row_count, global uint *lengths, global uchar *bases) {
    const Step step = STEP_ARGUMENTS;
    FOR_EACH(row, row_count) {
        uint base = 0;
        lengths[row] = shortest_list(&step, row, &base);
        bases[row] = (uchar)base;
    }
}

kernel void test_rows(STEP_PARAMETERS, ulong row_count, global uint *counts) {
    const Step step = STEP_ARGUMENTS;
    FOR_EACH(row, row_count) counts[row] = passes_tests(&step, row, NONE, 0);
}

#ifdef ON_CPU
static ulong extend_share(
    const Step *step, ulong row_count, global const ulong *sums, global const uchar *bases, ulong low, ulong high,
    global uint *extended, ulong extended_stride, volatile global uint *appended
) {
    Found found;
    found.count = 0;
    const Output output = {&found, extended, extended_stride, appended};
    ulong pair = low + share_begin(high - low), last = low + share_end(high - low), total = 0;
    ulong row = pair < last ? first_sum_above(sums, 0, row_count + 1, pair) - 1 : 0;
    for (; pair < last; ++row) {
        ulong end = min(sums[row + 1], last);
        if (pair >= end) continue;
        total += extend_row(step, row, bases[row], (uint)(pair - sums[row]), (uint)(end - sums[row]), &output);
        pair = end;
    }
    if (extended) append(step, &found, extended, extended_stride, appended);
    return total;
}

kernel void extend_pairs(
    STEP_PARAMETERS, ulong row_count, global const ulong *sums, global const uchar *bases, ulong low, ulong high, uint tiles,
    global uint *extended, ulong extended_stride, volatile global uint *appended
) {
    const Step step = STEP_ARGUMENTS;
    extend_share(&step, row_count, sums, bases, low, high, extended, extended_stride, appended);
}

kernel void count_pairs(
    STEP_PARAMETERS, ulong row_count, global const ulong *sums, global const uchar *bases, ulong low, ulong high, uint tiles,
    global ulong *totals
) {
    const Step step = STEP_ARGUMENTS;
    totals[get_group_id(0)] += extend_share(&step, row_count, sums, bases, low, high, 0, 0, 0);
}
#else
/* Each group takes pieces of `tiles` times its size of pairs, and finds the rows of a piece once. */
#define PIECES(begin) \
    for (ulong begin = low + get_group_id(0) * piece; begin < high; begin += get_num_groups(0) * piece)

kernel void extend_pairs(
    STEP_PARAMETERS, ulong row_count, global const ulong *sums, global const uchar *bases, ulong low, ulong high, uint tiles,
    global uint *extended, ulong extended_stride, volatile global uint *appended
) {
    const Step step = STEP_ARGUMENTS;
    local ulong rows[2];
    local uint found_count, first_place;
    uint item = get_local_id(0), size = get_local_size(0), node = 0, place = 0;
    uint counts[MAX_LINKS], relationships[MAX_LINKS];
    ulong piece = (ulong)size * tiles, row = 0, product = 0, weight = 0;
    PIECES(begin) {
        ulong end = min(begin + piece, high);
        if (item < 2) rows[item] = first_sum_above(sums, 0, row_count + 1, item ? end - 1 : begin);
        barrier(CLK_LOCAL_MEM_FENCE);
        for (ulong tile = begin; tile < end; tile += size) {
            ulong pair = tile + item;
            weight = 0;
            if (item == 0) found_count = 0;
            if (pair < end) {
                row = first_sum_above(sums, rows[0] - 1, rows[1], pair) - 1;
                product = nth_combinations(&step, row, bases[row], (uint)(pair - sums[row]), &node, counts, relationships);
                weight = passing(&step, row, node, counts, product, relationships);
            }
            barrier(CLK_LOCAL_MEM_FENCE);
            if (weight) place = atomic_add(&found_count, (uint)weight);
            barrier(CLK_LOCAL_MEM_FENCE);
            if (item == 0) first_place = found_count ? atomic_add(appended, found_count) : 0;
            barrier(CLK_LOCAL_MEM_FENCE);
            if (weight) {
                for (ulong which = 0; which < product; ++which) {
                    if (product > 1) {
                        take_combination(&step, row, node, counts, which, relationships);
                        if (!passes_late(&step, row, node, relationships)) continue;
                    }
                    write_row(&step, row, node, relationships, extended, extended_stride, (ulong)first_place + place++);
                }
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}

kernel void count_pairs(
    STEP_PARAMETERS, ulong row_count, global const ulong *sums, global const uchar *bases, ulong low, ulong high, uint tiles,
    global ulong *totals
) {
    const Step step = STEP_ARGUMENTS;
    local ulong rows[2], scratch[256];
    uint item = get_local_id(0), size = get_local_size(0), node, counts[MAX_LINKS], relationships[MAX_LINKS];
    ulong piece = (ulong)size * tiles, total = 0;
    PIECES(begin) {
        ulong end = min(begin + piece, high);
        if (item < 2) rows[item] = first_sum_above(sums, 0, row_count + 1, item ? end - 1 : begin);
        barrier(CLK_LOCAL_MEM_FENCE);
        for (ulong pair = begin + item; pair < end; pair += size) {
            ulong row = first_sum_above(sums, rows[0] - 1, rows[1], pair) - 1;
            ulong product = nth_combinations(
                &step, row, bases[row], (uint)(pair - sums[row]), &node, counts, relationships);
            total += passing(&step, row, node, counts, product, relationships);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    total = group_sum(total, scratch);
    if (item == 0) totals[get_group_id(0)] += total;
}
#endif
