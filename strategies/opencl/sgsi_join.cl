/* The join of SGSI (Zeng et al., 2022): as that of GSI (gsi_join.cl), but lists arrive in segments, one after the
   other, and a row's list may span several consecutive segments. Work split:

          bound_segment     one item per row: position of its list in this segment; updates the row's flag
          count_lengths     one item per row: histogram of list lengths, 32 per bin; bin 0 is not counted
          mark_members      one item per position: raises its level if its node is in the row's list in this segment
          mark_passing      one item per position: raises its level if it passes a test against a column
          mark_left         one item per 32 positions: bitmap of those that are filled and have passed all
          write_left        one item per 32 positions: compacts the remaining values, and writes the row of each
          duplicate_rows    one item per new row: the value of its old row

       flags    int[count]          0 if the row's list has not begun, 1 if it has, -1 if it has ended (no more lookups)
       sums     ulong[count + 1]    where the positions of each row begin
       counts   uint[count]         number of filled positions of each row
       levels   ushort[total]       number of links and tests that a position has passed besides the first link; null if
                                    all filled positions remain
       left     uint[ceil(total / 32)]
*/
#include "work_split.h"
#include "search.h"
#include "neighbour_lists.h"

kernel void bound_segment(
    global const uint *table, ulong stride, ulong first_row, ulong count, uint column, uint other_column, LISTS_PARAMETERS,
    global int *flags, global uint *begins, global uint *lengths, global uint *totals, global uint *hits, uint segment,
    uint group_from, uint launch_from, global uint *long_rows, volatile global uint *long_counts
) {
    const Lists lists = LISTS;
    FOR_EACH(i, count) {
        ulong row = first_row + i;
        uint2 list = (uint2)(0, 0);
        int flag = flags[i];
        if (flag >= 0) {
            list = list_of(&lists, table[column * stride + row]);
            flags[i] = list.y > list.x ? 1 : -flag;
            if (other_column != NONE) list = entries_to(&lists, list, table[other_column * stride + row]);
        }
        uint length = list.y - list.x;
        if (totals) {
            totals[i] += length;
            if (length && !hits[segment]) hits[segment] = 1;
            continue;
        }
        begins[i] = list.x;
        lengths[i] = length;
        if (long_rows && length > group_from) note_long_row(long_rows, long_counts, count, (uint)i, length > launch_from);
    }
}

kernel void count_lengths(global const uint *lengths, ulong count, volatile global uint *intervals, uint interval_count) {
    FOR_EACH(i, count) {
        uint interval = min(lengths[i] >> 5, interval_count - 1);
        if (interval) atomic_inc(&intervals[interval]); /* the number in the first interval follows from the others */
    }
}

kernel void mark_members(
    global const uint *begins, global const uint *lengths, ulong count, LISTS_PARAMETERS,
    global const ulong *sums, ulong total, global const uint *counts, global const uint *nodes,
    global ushort *levels, uint level
) {
    const Lists lists = LISTS;
    FOR_EACH(place, total) {
        if (levels[place] != level) continue;
        ulong row = first_sum_above(sums, 0, count + 1, place) - 1;
        if (lengths[row] == 0 || place - sums[row] >= counts[row]) continue;
        uint2 list = (uint2)(begins[row], begins[row] + lengths[row]);
        if (has_neighbour(&lists, list, nodes[place])) levels[place] = level + 1;
    }
}

kernel void mark_passing(
    global const uint *column, ulong first, ulong count, global const ulong *sums, ulong total, global const uint *counts,
    global const uint *values, uint equal, global ushort *levels, uint level
) {
    FOR_EACH(place, total) {
        if (levels[place] != level) continue;
        ulong row = first_sum_above(sums, 0, count + 1, place) - 1;
        if (place - sums[row] >= counts[row]) continue;
        if ((values[place] == column[first + row]) == (bool)equal) levels[place] = level + 1;
    }
}

kernel void mark_left(
    global const ulong *sums, ulong count, ulong total, global const uint *counts, global const ushort *levels, uint level,
    global uint *left
) {
    FOR_EACH(word, (total + 31) / 32) {
        ulong place = word * 32, end = min(place + 32, total), row = first_sum_above(sums, 0, count + 1, place) - 1;
        uint bits = 0;
        for (; place < end; ++place) {
            while (place >= sums[row + 1]) ++row;
            bool is_left = place - sums[row] < counts[row] && (!levels || levels[place] == level);
            bits |= (uint)is_left << (place & 31);
        }
        left[word] = bits;
    }
}

/* `origins`, rows of the table, may be null. */
kernel void write_left(
    global const ulong *sums, ulong count, ulong total, global const uint *left, global const ulong *left_sums,
    global const uint *values, uint first_row, global uint *written, global uint *origins
) {
    FOR_EACH(word, (total + 31) / 32) {
        ulong to = left_sums[word], row = 0;
        bool knows_row = false;
        for (uint bits = left[word]; bits; bits &= bits - 1, ++to) {
            ulong place = word * 32 + popcount((bits & -bits) - 1);
            written[to] = values[place];
            if (!origins) continue;
            if (!knows_row) row = first_sum_above(sums, 0, count + 1, place) - 1;
            knows_row = true;
            while (place >= sums[row + 1]) ++row;
            origins[to] = first_row + (uint)row;
        }
    }
}

kernel void duplicate_rows(
    global const uint *origins, ulong count, global const uint *columns, ulong first, global uint *written
) {
    FOR_EACH(i, count) written[i] = columns[first + origins[i]];
}
