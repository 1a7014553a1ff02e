/* Rows of the core by the nodes that they are grouped by (see gpugda/execute/row_groups.py).

       sum_groups          adds each row's product of leaves (1 without any) to the sum of its group
       mark_groups         marks the groups of rows whose product is not 0
       weigh_rows          writes the products of some rows
       write_ways          writes the sums of groups of one node as its ways, MOST at most, and no less than the largest one's high
                           and low word to largest[0] and largest[1]

   keys[0] is the number of grouped query nodes; of each: column, row in the matrix of candidates, number of its candidates.
   A group's number is made of the ranks of its nodes among their candidates.

   A sum has three words, the lowest first. A product is at most 2^63, which stands for all above.
*/
#include "leaf_products.h"

#define KEY_WORDS 3
#define SUM_WORDS 3

#define CORE_PARAMETERS \
    GRAPH_PARAMETERS, global const uint *query, global const uint *candidates, uint node_words, \
    global const uint *product, global const uint *ways, uint node_count, \
    global const uint *table, ulong stride

#define CORE {OUTGOING_CSR, INCOMING_CSR, query, candidates, product, ways, table, \
              node_words, node_count, stride, SATURATING}

/* ranks[i]: candidates in the words of the matrix before word i. */
static uint group_of(const Core *core, global const uint *keys, global const ulong *ranks, ulong row) {
    uint group = 0;
    for (uint i = 0; i < keys[0]; ++i) {
        global const uint *key = keys + 1 + KEY_WORDS * i;
        uint node = node_of(core, row, key[0]);
        ulong first = (ulong)key[1] * core->node_words, word = first + (node >> 5);
        uint before = core->candidates[word] & ((1u << (node & 31)) - 1);
        group = group * key[2] + (uint)(ranks[word] - ranks[first]) + popcount(before);
    }
    return group;
}

static void add_to_sum(global uint *sum, ulong low, uint high) {
    uint words[SUM_WORDS] = {(uint)low, (uint)(low >> 32), high}, carry = 0;
    for (uint i = 0; i < SUM_WORDS; ++i) {
        uint more = words[i] + carry;
        carry = more < carry;
        // What has come so far is an error already: it must not be forgotten.
        if (!more || (i == SUM_WORDS - 1 && sum[i] >> 31)) continue;
        carry |= atomic_add(sum + i, more) > NONE - more;
    }
}

#ifdef ON_CPU
/* One atomic addition for rows of a group that follow each other. */
kernel void sum_groups(
    CORE_PARAMETERS, ulong first_row, ulong row_count, global const uint *keys, global const ulong *ranks, global uint *sums
) {
    const Core core = CORE;
    uint group = NONE, high = 0;
    ulong low = 0;
    FOR_EACH(i, row_count) {
        ulong row = first_row + i;
        uint next = group_of(&core, keys, ranks, row);
        if (next != group) {
            if (group != NONE) add_to_sum(sums + (ulong)SUM_WORDS * group, low, high);
            group = next;
            low = high = 0;
        }
        ulong value = value_of_row(&core, row);
        low += value;
        high += low < value;
    }
    if (group != NONE) add_to_sum(sums + (ulong)SUM_WORDS * group, low, high);
}
#else
#define GROUP_SIZE 256

/* The same among the rows of a work group: the first row of each run adds it up. */
kernel void sum_groups(
    CORE_PARAMETERS, ulong first_row, ulong row_count, global const uint *keys, global const ulong *ranks, global uint *sums
) {
    const Core core = CORE;
    local uint groups[GROUP_SIZE];
    local ulong values[GROUP_SIZE];
    uint item = get_local_id(0);
    for (ulong first = (ulong)get_group_id(0) * GROUP_SIZE; first < row_count; first += get_global_size(0)) {
        ulong row = first_row + first + item;
        bool is_row = first + item < row_count;
        groups[item] = is_row ? group_of(&core, keys, ranks, row) : NONE;
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
            add_to_sum(sums + (ulong)SUM_WORDS * group, low, high);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}
#endif

kernel void mark_groups(
    CORE_PARAMETERS, ulong first_row, ulong row_count, global const uint *keys, global const ulong *ranks, global uint *marks
) {
    const Core core = CORE;
    FOR_EACH(i, row_count) {
        ulong row = first_row + i;
        uint group = group_of(&core, keys, ranks, row);
        if (!marks[group] && value_of_row(&core, row)) marks[group] = 1;
    }
}

kernel void weigh_rows(CORE_PARAMETERS, ulong first_row, ulong row_count, global ulong *weights) {
    const Core core = CORE;
    FOR_EACH(i, row_count) weights[i] = value_of_row(&core, first_row + i);
}

kernel void write_ways(
    global const uint *nodes, ulong first_node, ulong count, global const uint *sums,
    global uint *ways, ulong first_way, uint node_count, volatile global uint *largest
) {
    FOR_EACH(i, count) {
        uint node = nodes[first_node + i], low = sums[SUM_WORDS * i], high = sums[SUM_WORDS * i + 1];
        if (high >> 31 || sums[SUM_WORDS * i + 2]) {
            high = MOST >> 32;
            low = 0;
        }
        ways[first_way + node] = low;
        ways[first_way + node_count + node] = high;
        if (high > largest[0]) atomic_max(largest, high);
        if (low > largest[1]) atomic_max(largest + 1, low);
    }
}
