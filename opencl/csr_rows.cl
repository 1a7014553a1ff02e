/* Builds compressed sparse rows of relationships (see csr.h) from sorted numbers.

   A number packs node, type and, if low_bits > 0, the neighbour, with the node highest. `low_bits` are the bits of
   the neighbour. Work split: one item per element.

          pack_outgoing   per relationship: numbers[i] = start, type, end; places[i] = i, the position of arrival
          pack_incoming   per sorted number: replaces it by end, type; writes relationship index, start and end
                          separately
          mark_runs       per word of 32 entries: bit i is set if entry i begins a run
          write_runs      per word: start, type and node of each run that begins there; run_starts[runs] = count
          write_rows      per node: where its runs and its entries begin
          take_starts     per position: found[i] = starts[places[i]]
          check_pairs     per sorted number: counts loops per type; parallel[type] = 1 if it equals the one before
          pack_pairs      per number: pairs[i] = start, end, without the type

       numbers, pairs              ulong[count]
       starts, ends, places        uint[count]
       words                       uint[ceil(count / 32)]; runs_before: their prefix sums of bits, one more element
       run_starts                  uint[runs + 1]      run_types  ushort[runs]      run_nodes  uint[runs]
       run_offsets, row_offsets    uint[nodes + 1]
       loops, parallel             uint[types]
*/
#include "work_split.h"

#define WORD 32

kernel void pack_outgoing(
    global const uint *starts, global const ushort *types, global const uint *ends, ulong count, uint type_bits,
    uint node_bits, global ulong *numbers, global uint *places
) {
    FOR_EACH(i, count) {
        ulong type = types ? types[i] : 0;
        numbers[i] = ((ulong)starts[i] << type_bits | type) << node_bits | ends[i];
        if (places) places[i] = i;
    }
}

kernel void pack_incoming(
    ulong count, uint type_bits, uint node_bits, global ulong *numbers, global uint *places, global uint *starts,
    global uint *ends
) {
    ulong node_mask = (1ul << node_bits) - 1, type_mask = (1ul << type_bits) - 1;
    FOR_EACH(i, count) {
        ulong number = numbers[i], end = number & node_mask;
        numbers[i] = end << type_bits | (number >> node_bits & type_mask);
        places[i] = i;
        starts[i] = number >> node_bits >> type_bits;
        ends[i] = end;
    }
}

kernel void mark_runs(global const ulong *numbers, ulong count, uint low_bits, ulong word_count, global uint *words) {
    FOR_EACH(w, word_count) {
        uint word = 0;
        for (uint bit = 0; bit < WORD; ++bit) {
            ulong i = w * WORD + bit;
            if (i < count && (!i || numbers[i] >> low_bits != numbers[i - 1] >> low_bits)) word |= 1u << bit;
        }
        words[w] = word;
    }
}

kernel void write_runs(
    global const ulong *numbers, ulong count, uint low_bits, uint type_bits, ulong word_count, global const uint *words,
    global const ulong *runs_before, global uint *run_starts, global ushort *run_types, global uint *run_nodes
) {
    ulong type_mask = (1ul << type_bits) - 1;
    FOR_EACH(w, word_count) {
        ulong run = runs_before[w];
        for (uint left = words[w]; left; left &= left - 1) {
            ulong i = w * WORD + popcount((left & -left) - 1), node_and_type = numbers[i] >> low_bits;
            run_starts[run] = i;
            run_types[run] = node_and_type & type_mask;
            run_nodes[run] = node_and_type >> type_bits;
            ++run;
        }
        if (w + 1 == word_count) run_starts[run] = count;
    }
}

kernel void write_rows(
    global const uint *run_nodes, global const uint *run_starts, ulong run_count, ulong offset_count,
    global uint *run_offsets, global uint *row_offsets
) {
    FOR_EACH(node, offset_count) {
        ulong low = 0, high = run_count;
        while (low < high) {
            ulong middle = (low + high) / 2;
            if (run_nodes[middle] < node) low = middle + 1;
            else high = middle;
        }
        run_offsets[node] = low;
        row_offsets[node] = run_starts[low];
    }
}

kernel void take_starts(global const uint *starts, global const uint *places, ulong count, global uint *found) {
    FOR_EACH(i, count) found[i] = starts[places[i]];
}

kernel void check_pairs(
    global const ulong *numbers, ulong count, uint type_bits, uint node_bits, volatile global uint *loops, global uint *parallel
) {
    ulong node_mask = (1ul << node_bits) - 1, type_mask = (1ul << type_bits) - 1;
    FOR_EACH(i, count) {
        ulong number = numbers[i], type = number >> node_bits & type_mask;
        if (number >> node_bits >> type_bits == (number & node_mask)) atomic_inc(&loops[type]);
        if (i && numbers[i - 1] == number) parallel[type] = 1;
    }
}

kernel void pack_pairs(global const ulong *numbers, ulong count, uint type_bits, uint node_bits, global ulong *pairs) {
    ulong node_mask = (1ul << node_bits) - 1;
    FOR_EACH(i, count) {
        pairs[i] = numbers[i] >> node_bits >> type_bits << node_bits | (numbers[i] & node_mask);
    }
}
