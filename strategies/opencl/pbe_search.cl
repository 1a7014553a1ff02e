/* The search of PBE (Guo et al., 2020) within partitions of the data graph and across them. Work split:

          check_seeds    one item per given row and turn: flags[i] = 1 if its nodes are candidates and its relationship
                         passes, else 0
          write_seeds    one item per given row and turn: copies it to seeds at sums[i] if it passes
          mark_needed    one item per row: sets the bit of a column's node
          drop_smaller   one warp per row: keeps the entries that make no relationship across partitions that is smaller
                         than the row's first; on a CPU one item processes whole rows
          remap_rows     one item per row: its columns in another order

       flags    uint[count * turns]      sums   ulong[count * turns + 1]   prefix sums of flags
       counts   uint[count]              entries of each row in buffer, from first_place on; overwritten

   Given rows are relationships that cross partitions (`starts`, `ends`, `relationships`), or single nodes (`ends`
   is null). With two turns, item count + i takes row i with start and end exchanged.
   Crossing relationships are ordered by their nodes alone, the lower one first: those between the same two nodes
   are equal.
*/
#include "work_split.h"
#include "warps.h"

#define FIRST_NODE 0u
#define SECOND_NODE 1u

static inline bool has_bit(global const uint *bits, ulong at, uint number) {
    return (bits[at + (number >> 5)] >> (number & 31)) & 1;
}

kernel void check_seeds(
    global const uint *starts, global const uint *ends, global const uint *relationships, ulong count, uint turns,
    global const uint *bits, ulong first_at, ulong second_at, global const uint *mask, global uint *flags
) {
    FOR_EACH(i, count * turns) {
        bool turned = i >= count;
        ulong row = turned ? i - count : i;
        bool passes = has_bit(bits, turned ? second_at : first_at, starts[row]);
        if (ends) passes = passes && has_bit(bits, turned ? first_at : second_at, ends[row]);
        if (mask) passes = passes && has_bit(mask, 0, relationships[row]);
        flags[i] = passes;
    }
}

/* `words`: for each column whether it holds the first node, the second node or the relationship. */
kernel void write_seeds(
    global const uint *starts, global const uint *ends, global const uint *relationships, ulong count, uint turns,
    global const ulong *sums, global const uint *words, uint width, global uint *seeds, ulong stride
) {
    FOR_EACH(i, count * turns) {
        ulong place = sums[i];
        if (place == sums[i + 1]) continue;
        bool turned = i >= count;
        ulong row = turned ? i - count : i;
        for (uint column = 0; column < width; ++column) {
            uint value;
            if (words[column] == FIRST_NODE) value = turned ? ends[row] : starts[row];
            else if (words[column] == SECOND_NODE) value = turned ? starts[row] : ends[row];
            else value = relationships[row];
            seeds[column * stride + place] = value;
        }
    }
}

kernel void mark_needed(
    global const uint *table, ulong stride, ulong first_row, ulong count, uint column, volatile global uint *bits
) {
    FOR_EACH(i, count) {
        uint node = table[column * stride + first_row + i], bit = 1u << (node & 31);
        volatile global uint *word = bits + (node >> 5);
        if (!(*word & bit)) atomic_or(word, bit);
    }
}

static inline ulong pair_key(uint one, uint other) {
    return upsample(min(one, other), max(one, other));
}

typedef struct {
    global const uint *table;
    ulong stride, row;
    global const uint *columns; /* columns of the two nodes of the first crossing relationship, then of the neighbours */
    uint at, neighbours;
    global const ushort *partition_of;
    ulong least;
} Watched;

static inline Watched watched_row(
    global const uint *table, ulong stride, ulong row, global const uint *columns, uint at, uint neighbours,
    global const ushort *partition_of
) {
    Watched watched = {table, stride, row, columns, at, neighbours, partition_of, 0};
    watched.least = pair_key(table[columns[at] * stride + row], table[columns[at + 1] * stride + row]);
    return watched;
}

static inline bool makes_none_smaller(const Watched *watched, uint node) {
    ushort partition = watched->partition_of[node];
    for (uint i = 0; i < watched->neighbours; ++i) {
        uint other = watched->table[watched->columns[watched->at + 2 + i] * watched->stride + watched->row];
        if (watched->partition_of[other] != partition && pair_key(node, other) < watched->least) return false;
    }
    return true;
}

#define DROP_PARAMETERS \
    global const uint *table, ulong stride, ulong first_row, ulong count, global const uint *columns, uint at, uint neighbour_count, \
    global const ushort *partition_of, global const uint *neighbours, global const ulong *sums, ulong place_stride, \
    global uint *buffer, global uint *counts

#define WATCHED(row) watched_row(table, stride, first_row + (row), columns, at, neighbour_count, partition_of)

#ifdef ON_CPU

kernel void drop_smaller(DROP_PARAMETERS) {
    FOR_EACH(row, count) {
        uint size = counts[row], kept = 0;
        if (size == 0) continue;
        Watched watched = WATCHED(row);
        global uint *places = buffer + first_place(sums, place_stride, row);
        for (uint place = 0; place < size; ++place) {
            uint entry = places[place];
            if (makes_none_smaller(&watched, neighbours[entry])) places[kept++] = entry;
        }
        counts[row] = kept;
    }
}

#else

kernel void drop_smaller(DROP_PARAMETERS) {
    local uint ballots[WARPS], sizes[WARPS];
    uint lane = get_local_id(0) % WARP, warp = get_local_id(0) / WARP;
    ulong number = (ulong)get_group_id(0) * WARPS + warp, row = number < count ? number : 0;
    uint size = number < count ? counts[row] : 0;
    if (lane == 0) sizes[warp] = size;
    barrier(CLK_LOCAL_MEM_FENCE);
    Watched watched = WATCHED(row);
    global uint *places = buffer + first_place(sums, place_stride, row);
    uint longest = most_of(sizes), kept = 0;
    for (uint offset = 0; offset < longest; offset += WARP) {
        bool found = offset + lane < size;
        uint entry = found ? places[offset + lane] : 0;
        found = found && makes_none_smaller(&watched, neighbours[entry]);
        uint all = ballot(ballots, warp, lane, found);
        /* All entries of the batch are read by now: kept ones go to their positions or to earlier ones. */
        if (found) places[kept + popcount(all & ((1u << lane) - 1))] = entry;
        kept += popcount(all);
        barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    }
    if (lane == 0 && number < count) counts[row] = kept;
}

#endif

kernel void remap_rows(
    global const uint *table, ulong stride, ulong row_count, global const uint *words, uint at, uint width, global uint *remapped
) {
    FOR_EACH(row, row_count) {
        for (uint column = 0; column < width; ++column) {
            remapped[column * row_count + row] = table[words[at + column] * stride + row];
        }
    }
}
