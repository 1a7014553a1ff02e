/* A data graph whose entries are on the device in parts (see gpugda/device/graph/segment_views.py). Work split:

          shift_starts     one item per run of a window: shifted[run] = position of its entries on the device
          shift_runs       one item per run of a part, and one more: the same in place, if the part brings its runs
          number_entries   one item per entry: relationship indexes of an outgoing part, which count up
          count_rows       one item per row: counts[key] += 1
          place_rows       one item per row: copies it behind those of lower keys, in any order among those of its key

       ranges    uint[5 * range_count], ascending: first run, run after the last, first entry, entry after the last,
                 position of the first entry on the device. A run before the first range is empty; a run between two
                 ranges begins where the lower one ends
       keys      number of columns (1 or 2), then the columns; the key of segments a and b is a * segments + b
       bounds    uint[segments + 1]   first node of each segment
       counts, next   uint[key_count]
*/
#include "work_split.h"
#include "search.h"

#define RANGE_WORDS 5

kernel void shift_starts(
    global const uint *starts, ulong first, ulong count, global const uint *ranges, uint range_count, global uint *shifted
) {
    FOR_EACH(i, count) {
        ulong run = first + i;
        uint low = 0, high = range_count;
        while (low < high) {
            uint middle = low + (high - low) / 2;
            if (ranges[middle * RANGE_WORDS] <= run) low = middle + 1;
            else high = middle;
        }
        uint place = ranges[4];
        if (low > 0) {
            global const uint *range = ranges + (low - 1) * RANGE_WORDS;
            uint entry = run < range[1] ? min(max(starts[run], range[2]), range[3]) : range[3];
            place = entry - range[2] + range[4];
        }
        shifted[run] = place;
    }
}

/* On entry `starts` has, for all runs but the first, starts in the data graph, of which the lowest is
   `first_entry`. */
kernel void shift_runs(global uint *starts, ulong first, ulong count, uint first_entry, uint begin, uint end) {
    FOR_EACH(i, count + 1) {
        uint start = i == 0 ? begin : starts[first + i] - first_entry + begin;
        starts[first + i] = i == count ? end : start;
    }
}

kernel void number_entries(uint first_entry, ulong count, ulong first_place, global uint *relationships) {
    FOR_EACH(i, count) relationships[first_place + i] = first_entry + (uint)i;
}

static inline uint key_of_row(
    global const uint *table, ulong stride, ulong row, global const uint *keys, global const uint *bounds, uint segments
) {
    uint key = 0;
    for (uint i = 1; i <= keys[0]; ++i) {
        uint node = table[keys[i] * stride + row];
        key = key * segments + (uint)upper_bound(bounds, 0, segments, node) - 1;
    }
    return key;
}

/* A group keeps the counts of few keys in local memory, as adjacent rows mostly have the same key. */
#define MAX_LOCAL 1024
#define IN_TILES(begin, count) \
    for (ulong begin = get_group_id(0) * (ulong)ROWS; begin < (count); begin += get_num_groups(0) * (ulong)ROWS)

#ifdef ON_CPU
#define ROWS 4096
#else
#define ROWS (16 * get_local_size(0))
#endif

static inline void clear_counts(local uint *found, uint key_count) {
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint i = get_local_id(0); i < key_count; i += get_local_size(0)) found[i] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
}

kernel void count_rows(
    global const uint *table, ulong stride, ulong row_count, global const uint *keys, global const uint *bounds,
    uint segments, uint key_count, volatile global uint *counts
) {
    local uint found[MAX_LOCAL];
    bool is_local = key_count <= MAX_LOCAL;
    if (is_local) clear_counts(found, key_count);
    IN_TILES(begin, row_count) {
        ulong end = min(begin + ROWS, row_count);
        for (ulong row = begin + get_local_id(0); row < end; row += get_local_size(0)) {
            uint key = key_of_row(table, stride, row, keys, bounds, segments);
            if (is_local) atomic_inc(&found[key]);
            else atomic_inc(&counts[key]);
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE); /* no return before it: see walk_links in ring_squares.cl */
    for (uint i = get_local_id(0); is_local && i < key_count; i += get_local_size(0)) {
        if (found[i]) atomic_add(&counts[i], found[i]);
    }
}

/* `next` has the position of the next row of each key. */
kernel void place_rows(
    global const uint *table, ulong stride, ulong row_count, global const uint *keys, global const uint *bounds,
    uint segments, uint key_count, volatile global uint *next, uint width, global uint *placed, ulong placed_stride
) {
    local uint found[MAX_LOCAL], first[MAX_LOCAL];
    bool is_local = key_count <= MAX_LOCAL;
    IN_TILES(begin, row_count) {
        ulong end = min(begin + ROWS, row_count);
        if (is_local) {
            clear_counts(found, key_count);
            for (ulong row = begin + get_local_id(0); row < end; row += get_local_size(0)) {
                atomic_inc(&found[key_of_row(table, stride, row, keys, bounds, segments)]);
            }
            barrier(CLK_LOCAL_MEM_FENCE);
            for (uint i = get_local_id(0); i < key_count; i += get_local_size(0)) {
                first[i] = found[i] ? atomic_add(&next[i], found[i]) : 0;
            }
            clear_counts(found, key_count);
        }
        for (ulong row = begin + get_local_id(0); row < end; row += get_local_size(0)) {
            uint key = key_of_row(table, stride, row, keys, bounds, segments);
            ulong place = is_local ? first[key] + atomic_inc(&found[key]) : atomic_inc(&next[key]);
            for (uint column = 0; column < width; ++column) {
                placed[column * placed_stride + place] = table[column * stride + row];
            }
        }
    }
}
