/* Aggregates rows of the core by the nodes that they are grouped by (see gpugda/execute/row_groups.py). Work split:

          sum_groups    one item per row: adds its product of leaves (1 without any) to the sum of its group, atomically
          mark_groups   one item per row: marks[group] = 1 if its product is not 0
          weigh_rows    one item per row: weights[i] = its product
          weigh_sums    one item per group: its sum, times a factor per slot and node; each work group writes a 128-bit
                        total
          largest_sum   one item per group: raises largest[0] and largest[1] to the high and low word of its sum (MAX_VALUE
                        at most), so that both together are an upper bound

       sums      uint[3 * groups]   from first_word on, lowest word first
       weights   ulong[row_count]
       totals    ulong[2 * work groups]   low and high word

   Groups are numbered by `group_of`. A product is at most 2^63, which stands for all greater values.
*/
#include "leaf_products.h"

#define CORE_PARAMETERS \
    GRAPH_PARAMETERS, global const uint *query, global const uint *candidates, uint node_words, \
    global const uint *product, global const uchar *leaf_counts, global const ulong *anchor_ranks, \
    global const ulong *ranks, global const uint *tables, global const uint *table, ulong stride

#define CORE {OUTGOING_CSR, INCOMING_CSR, query, candidates, product, tables, table, leaf_counts, \
              anchor_ranks, ranks, node_words, stride, SATURATING}

static void add_to_sum(global uint *sum, ulong low, uint high) {
    uint words[SUM_WORDS] = {(uint)low, (uint)(low >> 32), high}, carry = 0;
    for (uint i = 0; i < SUM_WORDS; ++i) {
        uint more = words[i] + carry;
        carry = more < carry;
        // A sum that reaches the top bit is an error already and must not wrap around.
        if (!more || (i == SUM_WORDS - 1 && sum[i] >> 31)) continue;
        carry |= atomic_add(sum + i, more) > NONE - more;
    }
}

#ifdef ON_CPU
/* One atomic addition for consecutive rows of a group. */
kernel void sum_groups(
    CORE_PARAMETERS, ulong first_row, ulong row_count, global const uint *keys, global uint *sums, ulong first_word
) {
    const Core core = CORE;
    uint group = NONE, high = 0;
    ulong low = 0;
    FOR_EACH(i, row_count) {
        ulong row = first_row + i;
        uint next = group_of(&core, keys, row);
        if (next != group) {
            if (group != NONE) add_to_sum(sums + first_word + (ulong)SUM_WORDS * group, low, high);
            group = next;
            low = high = 0;
        }
        ulong value = value_of_row(&core, row);
        low += value;
        high += low < value;
    }
    if (group != NONE) add_to_sum(sums + first_word + (ulong)SUM_WORDS * group, low, high);
}
#else
#define GROUP_SIZE 256

/* The same among the rows of a work group: the first row of each run of equal groups adds it up. */
kernel void sum_groups(
    CORE_PARAMETERS, ulong first_row, ulong row_count, global const uint *keys, global uint *sums, ulong first_word
) {
    const Core core = CORE;
    local uint groups[GROUP_SIZE];
    local ulong values[GROUP_SIZE];
    uint item = get_local_id(0);
    for (ulong first = (ulong)get_group_id(0) * GROUP_SIZE; first < row_count; first += get_global_size(0)) {
        ulong row = first_row + first + item;
        bool is_row = first + item < row_count;
        groups[item] = is_row ? group_of(&core, keys, row) : NONE;
        values[item] = is_row ? value_of_row(&core, row) : 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        uint group = groups[item];
        if (is_row && (item == 0 || groups[item - 1] != group)) {
            ulong low = 0;
            uint high = 0;
            for (uint other = item; other < GROUP_SIZE && groups[other] == group; ++other) {
                low += values[other];
                high += low < values[other];
            }
            add_to_sum(sums + first_word + (ulong)SUM_WORDS * group, low, high);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}
#endif

kernel void mark_groups(
    CORE_PARAMETERS, ulong first_row, ulong row_count, global const uint *keys, global uint *marks
) {
    const Core core = CORE;
    FOR_EACH(i, row_count) {
        ulong row = first_row + i;
        uint group = group_of(&core, keys, row);
        if (!marks[group] && value_of_row(&core, row)) marks[group] = 1;
    }
}

kernel void weigh_rows(CORE_PARAMETERS, ulong first_row, ulong row_count, global ulong *weights) {
    const Core core = CORE;
    FOR_EACH(i, row_count) weights[i] = value_of_row(&core, first_row + i);
}

kernel void largest_sum(global const uint *sums, ulong first_word, ulong count, volatile global uint *largest) {
    uint highest = 0, lowest = 0;
    FOR_EACH(i, count) {
        global const uint *sum = sums + first_word + SUM_WORDS * i;
        bool is_most = sum[1] >> 31 || sum[2];
        highest = max(highest, is_most ? (uint)(MAX_VALUE >> 32) : sum[1]);
        lowest = max(lowest, is_most ? 0 : sum[0]);
    }
    if (highest > largest[0]) atomic_max(largest, highest);
    if (lowest > largest[1]) atomic_max(largest + 1, lowest);
}

#ifdef ON_CPU
#define MAX_ITEMS 1
#else
#define MAX_ITEMS GROUP_SIZE
#endif

/* factors[slot * node_count + node]; group g has the node nodes[first_node + g]. */
kernel void weigh_sums(
    global const uint *sums, ulong first_word, ulong count, global const uint *nodes, ulong first_node, global const uint *factors,
    uint slots, uint node_count, global ulong *totals
) {
    local ulong lows[MAX_ITEMS], highs[MAX_ITEMS];
    ulong low = 0, high = 0;
    FOR_EACH(i, count) {
        global const uint *sum = sums + first_word + SUM_WORDS * i;
        ulong value = sum[2] || sum[1] >> 31 ? MAX_VALUE : sum[0] | (ulong)sum[1] << 32;
        for (uint slot = 0; slot < slots && value; ++slot) {
            ulong factor = factors[(ulong)slot * node_count + nodes[first_node + i]];
            value = mul_hi(value, factor) ? MAX_VALUE : min(value * factor, MAX_VALUE);
        }
        low += value;
        high += low < value;
    }
    lows[get_local_id(0)] = low;
    highs[get_local_id(0)] = high;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (get_local_id(0) == 0) {
        for (uint item = 1; item < MAX_ITEMS; ++item) {
            low += lows[item];
            high += highs[item] + (low < lows[item]);
        }
        totals[2 * get_group_id(0)] = low;
        totals[2 * get_group_id(0) + 1] = high;
    }
}
