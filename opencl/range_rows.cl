/* Builds compressed sparse rows (see csr.h) on the host's processor, by ranges of nodes that fit its cache. Work
   split:

          count_ranges    one item per block: counts[r * blocks + b] = number of its entries in range r
          scatter_starts  one item per block: moves relationships to the ranges of their starts
          scatter_ends    one item per block: moves the entries of sorted rows to the ranges of their ends
          sort_starts     items take ranges from a counter: sort by (row, type, neighbour, arrival), write rows and runs
          sort_ends       items take ranges from a counter: sort by (row, type, index), write rows and runs
          write_runs      one item per range: moves its runs behind those of the ranges before

       firsts    uint[ranges * blocks + 1]   position of the first entry of block b in range r
       numbers   ulong[count]                entries, range after range
       aside     ulong[items * 2 * most]     memory of each item for sorting; most: entries of the longest range;
                                             null if is_sorted: then the host has sorted each range's entries as numbers
       range_offsets   uint[ranges + 1]      borders   uint[ranges + 1]   first node of each range

   An entry is one number: row, type, neighbour and position of arrival (or relationship index), the row highest. A
   row is counted from the first node of its range. If 64 bits are too few, the position is in an array of its own;
   otherwise that is null. Then the sort key is the number without the fields that need no sorting, above its
   position within the range.
   A block is a contiguous share of the entries. The runs of a range replace its entries in `numbers`, one run
   per number (first entry, type), until all are counted.
*/
#include "work_split.h"

#define MAX_RANGES 1024
#define MAX_DIGIT_BITS 9
#define DIGITS (1 << MAX_DIGIT_BITS)
#define TYPE_BITS 16

static inline uint range_of(uint node, uint shift, global const ushort *range_of_bin) {
    return range_of_bin[node >> shift];
}

kernel void count_ranges(
    global const uint *rows, ulong count, ulong block_size, uint blocks, uint ranges, uint shift,
    global const ushort *range_of_bin, global uint *counts
) {
    uint found[MAX_RANGES], block = get_group_id(0);
    for (uint range = 0; range < ranges; ++range) found[range] = 0;
    ulong begin = block * block_size, end = min(begin + block_size, count);
    for (ulong i = begin; i < end; ++i) ++found[range_of(rows[i], shift, range_of_bin)];
    for (uint range = 0; range < ranges; ++range) counts[(ulong)range * blocks + block] = found[range];
}

kernel void scatter_starts(
    global const uint *starts, global const ushort *types, global const uint *ends, ulong count, ulong block_size, uint blocks,
    uint ranges, uint shift, global const ushort *range_of_bin, global const uint *borders, global const uint *firsts,
    uint type_bits, uint node_bits, uint place_bits, global ulong *numbers, global uint *places
) {
    uint next[MAX_RANGES], block = get_group_id(0);
    for (uint range = 0; range < ranges; ++range) next[range] = firsts[(ulong)range * blocks + block];
    ulong begin = block * block_size, end = min(begin + block_size, count);
    for (ulong i = begin; i < end; ++i) {
        uint range = range_of(starts[i], shift, range_of_bin), place = next[range]++;
        ulong row = starts[i] - borders[range], type = types ? types[i] : 0;
        numbers[place] = ((row << type_bits | type) << node_bits | ends[i]) << place_bits | (place_bits ? i : 0);
        if (places) places[place] = i;
    }
}

/* The last of the ascending offsets that is not above a position; the first of them never is. */
static inline uint owner_of(global const uint *offsets, uint count, uint place) {
    uint low = 0, high = count;
    while (high - low > 1) {
        uint middle = low + (high - low) / 2;
        if (offsets[middle] <= place) low = middle;
        else high = middle;
    }
    return low;
}

kernel void scatter_ends(
    global const uint *ends, global const uint *run_offsets, global const ushort *run_types, global const uint *run_starts,
    uint node_count, uint run_count, ulong count, ulong block_size, uint blocks, uint ranges, uint shift,
    global const ushort *range_of_bin, global const uint *borders, global const uint *firsts, uint type_bits, uint node_bits,
    uint index_bits, global ulong *numbers, global uint *indexes
) {
    uint next[MAX_RANGES], block = get_group_id(0);
    for (uint range = 0; range < ranges; ++range) next[range] = firsts[(ulong)range * blocks + block];
    ulong i = block * block_size, end = min(i + block_size, count);
    if (i >= end) return;
    uint run = owner_of(run_starts, run_count, i), start = owner_of(run_offsets, node_count, run);
    for (; i < end; ++run) {
        while (run_offsets[start + 1] <= run) ++start;
        ulong type = run_types[run], run_end = min((ulong)run_starts[run + 1], end);
        for (; i < run_end; ++i) {
            uint range = range_of(ends[i], shift, range_of_bin), place = next[range]++;
            ulong row = ends[i] - borders[range];
            numbers[place] = ((row << type_bits | type) << node_bits | start) << index_bits | (index_bits ? i : 0);
            if (indexes) indexes[place] = i;
        }
    }
}

/* Sorts numbers by their bits from `low` to before `high`; returns the array where the result is. */
static global ulong *sorted(global ulong *numbers, global ulong *others, uint count, uint low, uint high) {
    uint passes = (high - low + MAX_DIGIT_BITS - 1) / MAX_DIGIT_BITS, width = (high - low + passes - 1) / passes;
    uint mask = (1u << width) - 1;
    for (uint shift = low; shift < high; shift += width) {
        uint next[DIGITS], sum = 0;
        for (uint digit = 0; digit <= mask; ++digit) next[digit] = 0;
        for (uint i = 0; i < count; ++i) ++next[numbers[i] >> shift & mask];
        for (uint digit = 0; digit <= mask; ++digit) {
            uint here = next[digit];
            next[digit] = sum;
            sum += here;
        }
        for (uint i = 0; i < count; ++i) {
            ulong number = numbers[i];
            others[next[number >> shift & mask]++] = number;
        }
        global ulong *before = numbers;
        numbers = others;
        others = before;
    }
    return numbers;
}

kernel void sort_starts(
    uint ranges, global const uint *range_offsets, global const uint *borders, uint row_bits, uint type_bits, uint node_bits,
    uint place_bits, uint most, uint is_sorted, volatile global uint *taken, global ulong *aside, global ulong *numbers,
    global const uint *places, global uint *neighbours, global uint *arrivals, global uint *row_offsets, global uint *run_offsets, global uint *run_counts,
    volatile global uint *loops, global uint *parallel
) {
    global ulong *mine = aside + 2ul * most * get_group_id(0);
    ulong node_mask = (1ul << node_bits) - 1, type_mask = (1ul << type_bits) - 1, place_mask = (1ul << place_bits) - 1;
    for (uint range = atomic_inc(taken); range < ranges; range = atomic_inc(taken)) {
        uint begin = range_offsets[range], count = range_offsets[range + 1] - begin;
        uint first = borders[range], nodes = borders[range + 1] - first;
        global ulong *entries = numbers + begin;
        global ulong *found = entries;
        if (!is_sorted) {
            for (uint i = 0; i < count; ++i) mine[i] = places ? entries[i] << place_bits | i : entries[i];
            found = sorted(mine, mine + most, count, place_bits, place_bits + node_bits + type_bits + row_bits);
        }
        uint runs = 0, node = 0;
        ulong before = 0;
        for (uint i = 0; i < count; ++i) { // found may be the entries, of which no more than i are replaced by runs
            ulong entry = found[i], number = entry >> place_bits, kind = number >> node_bits, row = kind >> type_bits;
            uint neighbour = number & node_mask;
            neighbours[begin + i] = neighbour;
            if (arrivals) {
                uint place = entry & place_mask;
                arrivals[begin + i] = places ? places[begin + place] : place;
            }
            if (i && number == before) parallel[kind & type_mask] = 1;
            if (neighbour == first + row) atomic_inc(&loops[kind & type_mask]);
            if (!i || kind != before >> node_bits) {
                for (; node <= row; ++node) {
                    row_offsets[first + node] = begin + i;
                    run_offsets[first + node] = runs;
                }
                entries[runs++] = (ulong)(begin + i) << TYPE_BITS | (kind & type_mask);
            }
            before = number;
        }
        for (; node < nodes; ++node) {
            row_offsets[first + node] = begin + count;
            run_offsets[first + node] = runs;
        }
        run_counts[range] = runs;
    }
}

kernel void sort_ends(
    uint ranges, global const uint *range_offsets, global const uint *borders, uint row_bits, uint type_bits, uint node_bits,
    uint place_bits, uint most, uint is_sorted, volatile global uint *taken, global ulong *aside, global ulong *numbers,
    global const uint *indexes, global uint *neighbours, global uint *found_indexes, global uint *row_offsets, global uint *run_offsets, global uint *run_counts
) {
    global ulong *mine = aside + 2ul * most * get_group_id(0);
    ulong node_mask = (1ul << node_bits) - 1, type_mask = (1ul << type_bits) - 1, place_mask = (1ul << place_bits) - 1;
    uint low = indexes ? place_bits : node_bits + place_bits;
    for (uint range = atomic_inc(taken); range < ranges; range = atomic_inc(taken)) {
        uint begin = range_offsets[range], count = range_offsets[range + 1] - begin;
        uint first = borders[range], nodes = borders[range + 1] - first;
        global ulong *entries = numbers + begin;
        global ulong *found = entries, *begun = entries;
        if (!is_sorted) {
            for (uint i = 0; i < count; ++i) mine[i] = indexes ? entries[i] >> node_bits << place_bits | i : entries[i];
            found = sorted(mine, mine + most, count, low, low + type_bits + row_bits);
            begun = found == mine ? mine + most : mine;
        }
        uint runs = 0, node = 0;
        ulong before = 0;
        for (uint i = 0; i < count; ++i) {
            ulong entry = found[i], kind = entry >> low, place = entry & place_mask;
            neighbours[begin + i] = (indexes ? entries[place] : entry >> place_bits) & node_mask;
            found_indexes[begin + i] = indexes ? indexes[begin + place] : place;
            if (!i || kind != before) {
                for (; node <= kind >> type_bits; ++node) {
                    row_offsets[first + node] = begin + i;
                    run_offsets[first + node] = runs;
                }
                begun[runs++] = (ulong)(begin + i) << TYPE_BITS | (kind & type_mask);
            }
            before = kind;
        }
        for (; node < nodes; ++node) {
            row_offsets[first + node] = begin + count;
            run_offsets[first + node] = runs;
        }
        if (!is_sorted) {
            for (uint run = 0; run < runs; ++run) entries[run] = begun[run];
        }
        run_counts[range] = runs;
    }
}

kernel void write_runs(
    uint ranges, global const uint *range_offsets, global const uint *borders, global const ulong *numbers,
    global const uint *runs_before, global uint *run_offsets, global ushort *run_types, global uint *run_starts
) {
    uint range = get_group_id(0);
    if (range >= ranges) return;
    uint before = runs_before[range], runs = runs_before[range + 1] - before;
    global const ulong *begun = numbers + range_offsets[range];
    for (uint run = 0; run < runs; ++run) {
        run_starts[before + run] = begun[run] >> TYPE_BITS;
        run_types[before + run] = begun[run];
    }
    for (uint node = borders[range]; node < borders[range + 1]; ++node) run_offsets[node] += before;
}
