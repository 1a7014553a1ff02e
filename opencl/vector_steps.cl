/* Runs a program of sparse vectors (see vector_program.h) for each pinned node on a CPU: cutset counting. A work item
   takes a pinned node of a share at a time, until it has read `max_work` entries.

       scratch  uint[items][(vectors + lists) * node_count]   values of the vectors, and the nodes of the lists; zero before
                                                              and after
       totals   ulong[items][terms]   highs  uint[items][terms]   the products of sums over vectors are added to
                                                              totals + 2^64 * highs, one per term; each item to its own
*/
#include "work_split.h"
#include "search.h"
#include "ranked_lists.h"
#include "vector_program.h"

#define MAX_VECTOR_LISTS 16

/* The sum of a vector over the neighbours of a node. */
static inline ulong pulled(const Lists *lists, Edge edge, global const uint *source, uint node, ulong *read) {
    ulong sum = 0;
    for (uint side = 0; side < 2; ++side) {
        if (!(edge.sides >> side & 1)) continue;
        uint2 part = part_of(lists, side, node, edge.below);
        global const uint *neighbours = neighbours_on(lists, side);
        *read += part.y - part.x;
        for (uint place = part.x; place < part.y; ++place) {
            uint other = neighbours[place];
            ulong value = source[other];
            if (value) sum += value * multiplicity(lists, edge.more, node, other);
        }
    }
    return sum;
}

/* Adds a value times the number of relationships to a vector, at all neighbours of a node. */
static inline void push(
    const Lists *lists, Edge edge, uint node, uint value, global uint *values, global uint *list, uint *count, ulong *read
) {
    for (uint side = 0; side < 2; ++side) {
        if (!(edge.sides >> side & 1)) continue;
        uint2 part = part_of(lists, side, node, edge.below);
        global const uint *neighbours = neighbours_on(lists, side);
        *read += part.y - part.x;
        for (uint place = part.x; place < part.y; ++place) {
            uint other = neighbours[place], ways = value * (uint)multiplicity(lists, edge.more, node, other);
            if (ways == 0) continue;
            if (values[other] == 0) list[(*count)++] = other;
            values[other] += ways;
        }
    }
}

static inline ulong product_at(
    global const uint *factors, uint count, global const uint *values, uint node_count, uint node
) {
    ulong product = 1;
    for (uint i = 0; i < count; ++i)
        product *= raised(values[(ulong)factors[2 * i] * node_count + node], factors[2 * i + 1]);
    return product;
}

kernel void count_vectors(
    RANKED_PARAMETERS, uint node_count, uint vectors, uint term_count, uint below_only, ulong max_work, global const uint *program,
    global const ulong *weights, global uint *scratch, uint scratch_nodes, volatile global uint *counters,
    global ulong *totals, global uint *highs
) {
    uint counts[MAX_VECTOR_LISTS];
    ulong registers[MAX_REGISTERS];
    Lists lists = {OUTGOING_RANKED, INCOMING_RANKED, 0, node_count};
    global uint *values = scratch + (ulong)get_global_id(0) * scratch_nodes * node_count;
    global uint *listed = values + (ulong)vectors * node_count;
    totals += (ulong)get_global_id(0) * term_count;
    highs += (ulong)get_global_id(0) * term_count;
    for (ulong read = 0; read < max_work; ++read) {
        uint pin = lists.pin = next_of_share(counters);
        if (pin >= node_count) break;
        if (below_only && lists.outgoing.middles[pin] == lists.outgoing.starts[pin + 1] &&
            lists.incoming.middles[pin] == lists.incoming.starts[pin + 1])
            continue;
        for (uint i = 0; i < MAX_VECTOR_LISTS; ++i) counts[i] = 0;
        for (uint i = 0; i < MAX_REGISTERS; ++i) registers[i] = 0;
        global const uint *at = program;
        while (at[0] != END) {
            if (at[0] == START) {
                global uint *vector = values + (ulong)at[1] * node_count, *list = listed + (ulong)at[2] * node_count;
                push(&lists, edge_at(at + 3), pin, 1, vector, list, counts + at[2], &read);
                at += 6;
            } else if (at[0] == PUSH) {
                global uint *vector = values + (ulong)at[1] * node_count, *list = listed + (ulong)at[2] * node_count;
                global const uint *source = values + (ulong)at[3] * node_count;
                global const uint *nodes = listed + (ulong)at[4] * node_count;
                for (uint i = 0; i < counts[at[4]]; ++i)
                    if (source[nodes[i]])
                        push(&lists, edge_at(at + 5), nodes[i], source[nodes[i]], vector, list, counts + at[2], &read);
                at += 8;
            } else if (at[0] == PULL) {
                global uint *vector = values + (ulong)at[1] * node_count;
                global const uint *nodes = listed + (ulong)at[2] * node_count;
                global const uint *source = values + (ulong)at[3] * node_count;
                for (uint i = 0; i < counts[at[2]]; ++i)
                    vector[nodes[i]] = (uint)pulled(&lists, edge_at(at + 4), source, nodes[i], &read);
                at += 7;
            } else if (at[0] == MAKE) {
                global uint *vector = values + (ulong)at[1] * node_count;
                global const uint *nodes = listed + (ulong)at[2] * node_count;
                uint factors = at[3], weight = at[4 + 2 * factors];
                for (uint i = 0; i < counts[at[2]]; ++i) {
                    ulong made = product_at(at + 4, factors, values, node_count, nodes[i]);
                    vector[nodes[i]] = (uint)(made * weight_at(weights, weight, node_count, nodes[i]));
                }
                at += 5 + 2 * factors;
            } else { /* SUM */
                global const uint *nodes = listed + (ulong)at[1] * node_count, *rest = at + 3 + 2 * at[2];
                global const uint *source = values + (ulong)rest[1] * node_count;
                uint into = rest[5];
                for (uint i = 0; i < counts[at[1]]; ++i) {
                    uint node = nodes[i];
                    ulong product = product_at(at + 3, at[2], values, node_count, node);
                    if (product && rest[0]) product *= pulled(&lists, edge_at(rest + 2), source, node, &read);
                    if (product == 0) continue;
                    for (uint k = 0; k < into; ++k)
                        registers[rest[6 + 2 * k]] += product * weight_at(weights, rest[7 + 2 * k], node_count, node);
                }
                at = rest + 6 + 2 * into;
            }
        }
        global const uint *terms = at + 2, *lists_of = terms + term_count * TERM_WORDS;
        for (uint t = 0; t < term_count; ++t) {
            global const uint *term = terms + t * TERM_WORDS;
            ulong product = weight_at(weights, term[0], node_count, pin);
            for (uint k = 0; k < term[1]; ++k) product *= registers[term[2 + k]];
            totals[t] += product;
            highs[t] += totals[t] < product;
        }
        for (uint v = 0; v < vectors; ++v) {
            global uint *vector = values + (ulong)v * node_count;
            global const uint *nodes = listed + (ulong)lists_of[v] * node_count;
            for (uint i = 0; i < counts[lists_of[v]]; ++i) vector[nodes[i]] = 0;
        }
    }
}
