/* Counts rows by the products of their leaves (see gpugda/plan/counting/degree_messages.py). Work split:

          count_matches     one item per candidate of an anchor: its count in `leaf_counts` = number of its
                            relationships that fit a group of equal leaves; with `adds`, added to the previous value
          count_packed      one item per node: the same for those that are candidates of an anchor; counts may be
                            shorter, and indexed by rank (see leaf_products.h)
          count_common      one item per row of the core: number of relationships that both groups of a factor could
                            match, to a column of the table; with `adds`, added to the previous value
          multiply_leaves   one item per row of the core: product of its factors; the group writes its sum to
                            totals[group], modulo `modulus` (0: 2^64)

       leaf_counts   counts of all groups
       totals        ulong[groups]
*/
#include "leaf_products.h"
#include "group_sum.h"

/* What `matches_of` reads beside the rows. */
typedef struct {
    global const uint *query, *masks, *candidates;
    uint adjacency, mask_words, node_words, row, by_length;
} Asked;

/* The number of a node's relationships that fit a leaf. */
static uint matches_of(
    const Asked *asked, const Csr *outgoing, const Csr *incoming, global const uint *outgoing_relationship_indexes,
    global const uint *incoming_relationship_indexes, uint node
) {
    global const uint *query = asked->query, *words = query + asked->adjacency;
    uint directions = words[0], mask_slot = words[2], total = 0;
    global const uint *row_bits = asked->candidates + (asked->row == NONE ? 0 : (ulong)asked->row * asked->node_words);
    Runs runs = all_runs(directions, words[3], words[4]);
    while (next_run(&runs, outgoing, incoming, query, node)) {
        if (asked->by_length) {
            total += runs.end - runs.begin;
            continue;
        }
        global const uint *neighbours = runs.is_incoming ? incoming->neighbours : outgoing->neighbours;
        for (uint entry = runs.begin; entry < runs.end; ++entry) {
            uint neighbour = neighbours[entry];
            if (asked->row != NONE && !is_candidate(row_bits, neighbour)) continue;
            uint relationship = mask_slot == NONE ? NONE : relationship_at(
                runs.is_incoming, entry, incoming_relationship_indexes, outgoing_relationship_indexes);
            total += fits(directions, runs.is_incoming, node, neighbour, relationship, mask_slot, asked->masks, asked->mask_words);
        }
    }
    return total;
}

#define LEAF_PARAMETERS \
    GRAPH_PARAMETERS, global const uint *query, uint adjacency, global const uint *masks, uint mask_words, \
    global const uint *candidates, uint node_words, uint row, uint by_length, uint adds

#define ASKED {query, masks, candidates, adjacency, mask_words, node_words, row, by_length}

#define MATCHES_OF(node) \
    matches_of(&asked, &outgoing, &incoming, outgoing_relationship_indexes, incoming_relationship_indexes, node)

kernel void count_matches(
    LEAF_PARAMETERS, global const uint *nodes, ulong first_node, ulong count, global uchar *leaf_counts, ulong first_byte
) {
    const Csr outgoing = OUTGOING_CSR, incoming = INCOMING_CSR;
    const Asked asked = ASKED;
    global uint *counts = (global uint *)(leaf_counts + first_byte);
    FOR_EACH(i, count) {
        uint node = nodes[first_node + i], total = MATCHES_OF(node);
        counts[node] = adds ? counts[node] + total : total;
    }
}

kernel void count_packed(
    LEAF_PARAMETERS, ulong first_node, ulong count, global uchar *leaf_counts, ulong first_byte, uint bytes,
    global const ulong *anchor_ranks, uint ranks, uint anchor_row
) {
    const Csr outgoing = OUTGOING_CSR, incoming = INCOMING_CSR;
    const Asked asked = ASKED;
    const Counts counts = {first_byte, bytes, ranks, anchor_row};
    global const uint *anchors = candidates + (ulong)anchor_row * node_words;
    global uchar *first = leaf_counts + first_byte;
    FOR_EACH(i, count) {
        uint node = (uint)(first_node + i);
        if (!is_candidate(anchors, node)) continue;
        uint total = MATCHES_OF(node);
        ulong place = place_of_count(counts, candidates, node_words, anchor_ranks, node);
        if (bytes == 4) {
            global uint *found = (global uint *)first + place;
            *found = adds ? *found + total : total;
        } else if (bytes == 2) {
            global ushort *found = (global ushort *)first + place;
            *found = (ushort)(adds ? *found + total : total);
        } else {
            first[place] = (uchar)(adds ? first[place] + total : total);
        }
    }
}

kernel void count_common(
    GRAPH_PARAMETERS, global const uint *query, global const uint *candidates, uint node_words,
    global const uint *product, uint factor, global uint *table, ulong stride, ulong row_count, uint column, uint adds
) {
    const Core core = {OUTGOING_CSR, INCOMING_CSR, query, candidates, product, 0, table, 0, 0, 0, node_words, stride, 0};
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
    global const uint *product, global const uchar *leaf_counts, global const ulong *anchor_ranks,
    global const ulong *ranks, global const uint *tables, global const uint *table, ulong stride, ulong row_count,
    ulong modulus, global ulong *totals
) {
    const Core core = {OUTGOING_CSR, INCOMING_CSR, query, candidates, product, tables, table, leaf_counts,
                       anchor_ranks, ranks, node_words, stride, modulus};
    local ulong scratch[GROUP_SIZE];
    ulong total = 0;
    FOR_EACH(row, row_count) total += value_of_row(&core, row);
    total = group_sum(total, scratch);
    if (get_local_id(0) == 0) totals[get_group_id(0)] = total;
}
