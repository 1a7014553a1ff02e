/* Makes the lists of one type by rank (see ranked_lists.h): relationships become numbers of two ranks, which are
   sorted. Work split: one item per element.

          measure_nodes   per node: lengths = its outgoing entries; keys = sort key of its rank (highest degree first)
          write_ranks     per rank: ranks[order[rank]] = rank
          pack_ranked     per relationship: rank of the start, and of the end in the lowest `bits`; if undirected,
                          also the reverse. Loops are counted by rank: their numbers come after all others in both
                          orders of ends
          pack_window     per relationship: both numbers, if their first rank is low … high-1; it counts from low.
                          Loops are left out, and counted if low is 0
          unpack_ranked   per number: writes its end to neighbours; exchanges the two ranks
          write_starts    per rank from low: start of its list, start of the neighbours below it; raises *max_above
                          to the number of neighbours above it. `base` entries precede the numbers

       lengths, nodes, ranks, loops, middles   uint[node_count]      keys   ulong[node_count]
       before       ulong[node_count + 1]   prefix sums of lengths
       numbers      ulong[count], or ulong[2 * count] if undirected; of a window: ulong[*written] afterwards
       starts       uint[node_count + 1]
*/
#include "work_split.h"
#include "search.h"
#include "csr.h"

kernel void measure_nodes(
    GRAPH_PARAMETERS, uint type, uint node_count, ulong most, global uint *lengths, global ulong *keys, global uint *nodes
) {
    const Csr outgoing = OUTGOING_CSR, incoming = INCOMING_CSR;
    FOR_EACH(v, node_count) {
        uint2 on = run_of(&outgoing, (uint)v, type), back = run_of(&incoming, (uint)v, type);
        lengths[v] = on.y - on.x;
        keys[v] = most - (on.y - on.x) - (back.y - back.x);
        nodes[v] = v;
    }
}

kernel void write_ranks(global const uint *order, uint node_count, global uint *ranks) {
    FOR_EACH(rank, node_count) ranks[order[rank]] = rank;
}

kernel void pack_ranked(
    GRAPH_PARAMETERS, uint type, uint node_count, global const ulong *before, ulong count, global const uint *ranks, uint bits,
    uint undirected, global ulong *numbers, volatile global uint *loops
) {
    const Csr outgoing = OUTGOING_CSR;
    FOR_EACH(i, count) {
        uint node = (uint)first_sum_above(before, 0, (ulong)node_count + 1, i) - 1;
        uint entry = run_of(&outgoing, node, type).x + (uint)(i - before[node]);
        ulong start = ranks[node], end = ranks[outgoing.neighbours[entry]];
        if (start == end) {
            atomic_inc(loops + start);
            start = end = node_count;
        }
        numbers[i] = start << bits | end;
        if (undirected) numbers[count + i] = end << bits | start;
    }
}

kernel void pack_window(
    GRAPH_PARAMETERS, uint type, uint node_count, global const ulong *before, ulong count, global const uint *ranks, uint bits,
    uint low, uint high, volatile global uint *written, global ulong *numbers, volatile global uint *loops
) {
    const Csr outgoing = OUTGOING_CSR;
    FOR_EACH(i, count) {
        uint node = (uint)first_sum_above(before, 0, (ulong)node_count + 1, i) - 1;
        uint entry = run_of(&outgoing, node, type).x + (uint)(i - before[node]);
        ulong start = ranks[node], end = ranks[outgoing.neighbours[entry]];
        if (start == end) {
            if (low == 0) atomic_inc(loops + start);
            continue;
        }
        if (low <= start && start < high) numbers[atomic_inc(written)] = (start - low) << bits | end;
        if (low <= end && end < high) numbers[atomic_inc(written)] = (end - low) << bits | start;
    }
}

kernel void unpack_ranked(global ulong *numbers, ulong count, uint bits, global uint *neighbours, ulong base) {
    ulong mask = (1ul << bits) - 1;
    FOR_EACH(i, count) {
        ulong number = numbers[i], end = number & mask;
        neighbours[base + i] = (uint)end;
        numbers[i] = end << bits | number >> bits;
    }
}

static ulong first_number_from(global const ulong *numbers, ulong count, ulong wanted) {
    return first_sum_from(numbers, 0, count, wanted);
}

kernel void write_starts(
    global const ulong *numbers, ulong count, uint bits, uint node_count, uint low, uint base, global uint *starts,
    global uint *middles, volatile global uint *max_above
) {
    FOR_EACH(v, (ulong)node_count + 1) {
        uint start = (uint)first_number_from(numbers, count, v << bits);
        starts[low + v] = base + start;
        if (v == node_count) continue;
        uint middle = (uint)first_number_from(numbers, count, v << bits | (low + v));
        middles[low + v] = base + middle;
        if (middle - start > *max_above) atomic_max(max_above, middle - start);
    }
}
