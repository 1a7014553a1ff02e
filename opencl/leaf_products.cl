/* Counts rows by the products of their leaves (see gpugda/plan/counting/degree_messages.py). Work split:

          count_matches     one item per candidate of an anchor: leaf_counts[first_count + node] = number of its
                            relationships that fit a group of equal leaves; with `adds`, added to the previous value
          count_common      one item per row of the core: number of relationships that both groups of a factor could
                            match, to a column of the table; with `adds`, added to the previous value
          multiply_leaves   one item per row of the core: product of its factors; the group writes its sum to
                            totals[group], modulo `modulus` (0: 2^64)

       leaf_counts   uint[slots * node_count]
       totals        ulong[groups]
*/
#include "leaf_products.h"
#include "group_sum.h"

kernel void count_matches(
    GRAPH_PARAMETERS, global const uint *query, uint adjacency, global const uint *masks, uint mask_words,
    global const uint *candidates, uint node_words, uint row, uint by_length, uint adds,
    global const uint *nodes, ulong first_node, ulong count, global uint *leaf_counts, ulong first_count
) {
    const Csr outgoing = OUTGOING_CSR, incoming = INCOMING_CSR;
    uint directions = query[adjacency], mask_slot = query[adjacency + 2];
    global const uint *row_bits = candidates + (row == NONE ? 0 : (ulong)row * node_words);
    FOR_EACH(i, count) {
        uint node = nodes[first_node + i], total = 0;
        Runs runs = all_runs(directions, query[adjacency + 3], query[adjacency + 4]);
        while (next_run(&runs, &outgoing, &incoming, query, node)) {
            if (by_length) {
                total += runs.end - runs.begin;
                continue;
            }
            global const uint *neighbours = runs.is_incoming ? incoming.neighbours : outgoing.neighbours;
            for (uint entry = runs.begin; entry < runs.end; ++entry) {
                uint neighbour = neighbours[entry];
                if (row != NONE && !is_candidate(row_bits, neighbour)) continue;
                uint relationship = mask_slot == NONE ? NONE : relationship_at(
                    runs.is_incoming, entry, incoming_relationship_indexes, outgoing_relationship_indexes);
                total += fits(directions, runs.is_incoming, node, neighbour, relationship, mask_slot, masks, mask_words);
            }
        }
        leaf_counts[first_count + node] = adds ? leaf_counts[first_count + node] + total : total;
    }
}

kernel void count_common(
    GRAPH_PARAMETERS, global const uint *query, global const uint *candidates, uint node_words,
    global const uint *product, uint factor, global uint *table, ulong stride, ulong row_count, uint column, uint adds
) {
    const Core core = {OUTGOING_CSR, INCOMING_CSR, query, candidates, product, 0, 0, table, 0, node_words, 0, stride, 0};
    const Group group = group_at(&core, factor + FACTOR_WORDS), other = group_at(&core, factor + FACTOR_WORDS + GROUP_WORDS);
    FOR_EACH(row, row_count) {
        uint total = in_common(&core, &group, &other, node_of(&core, row, group.column), node_of(&core, row, other.column));
        ulong place = column * stride + row;
        table[place] = adds ? table[place] + total : total;
    }
}

#ifdef ON_CPU
#define GROUP_SIZE 1
#else
#define GROUP_SIZE 256
#endif

kernel void multiply_leaves(
    GRAPH_PARAMETERS, global const uint *query, global const uint *candidates, uint node_words,
    global const uint *product, global const uint *leaf_counts, global const ulong *ranks, global const uint *tables,
    uint node_count, global const uint *table, ulong stride, ulong row_count, ulong modulus, global ulong *totals
) {
    const Core core = {OUTGOING_CSR, INCOMING_CSR, query, candidates, product, leaf_counts, tables, table,
                       ranks, node_words, node_count, stride, modulus};
    local ulong scratch[GROUP_SIZE];
    ulong total = 0;
    FOR_EACH(row, row_count) total += value_of_row(&core, row);
    total = group_sum(total, scratch);
    if (get_local_id(0) == 0) totals[get_group_id(0)] = total;
}
