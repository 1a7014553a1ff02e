/* Joins candidate relationships with partial embeddings (see partial_embeddings.h). Work split:

          count_combinations   one item per row: counts[row] = number of its candidate relationships that fit
          write_combinations   one item per row: writes a new row for each, if its position is in the window [low, high)
          write_product        one item per new row p: row p / size of the old table with entry p % size
          count_valid          one item per row: counts[row] = 1 if it passes the tests
          write_valid          one item per row: copies it to its position if that is in the window

       counts     uint[row_count]
       sums       ulong[row_count + 1]   prefix sums of counts: output positions
       extended   column c of the new row at position p is written at c * extended_stride + p - low

   A window is the part of the output that fits the memory at once.
*/
#include "work_split.h"
#include "search.h"
#include "partial_embeddings.h"

/* The row of a section for a data node: its rank among the candidates, moved by the offset of the section. */
static inline ulong section_row(
    global const uint *row_bits, global const ulong *row_ranks, ulong to_section, uint node
) {
    uint before = row_bits[node >> 5] & ((1u << (node & 31)) - 1);
    return row_ranks[node >> 5] + popcount(before) + to_section;
}

/* The entries [x, y) to join with a partial row; with `sorted` only those that end at `other`. */
static inline ulong2 entries_of(
    global const uint *table, ulong stride, ulong row, uint bound_column, uint other_column, uint sorted,
    global const uint *row_bits, global const ulong *row_ranks, ulong to_section,
    global const ulong *offsets, global const uint *end_nodes
) {
    uint node = table[bound_column * stride + row];
    ulong place = section_row(row_bits, row_ranks, to_section, node);
    ulong2 entries = (ulong2)(offsets[place], offsets[place + 1]);
    if (other_column != NONE && sorted) {
        uint other = table[other_column * stride + row];
        entries.x = lower_bound(end_nodes, entries.x, entries.y, other);
        entries.y = upper_bound(end_nodes, entries.x, entries.y, other);
    }
    return entries;
}

#define COMBINATION_PARAMETERS \
    global const uint *table, ulong stride, ulong row_count, uint width, uint bound_column, uint other_column, uint sorted, \
    global const uint *candidates, ulong first_word, global const ulong *ranks, ulong to_section, \
    global const ulong *offsets, global const uint *end_nodes, global const uint *relationships, \
    global const uint *words, uint at

#define ENTRIES(row) \
    entries_of(table, stride, row, bound_column, other_column, sorted, candidates + first_word, ranks + first_word, \
               to_section, offsets, end_nodes)

kernel void count_combinations(COMBINATION_PARAMETERS, global uint *counts) {
    bool all_fit = words[at + 1] == 0 && (other_column == NONE || sorted);
    FOR_EACH(row, row_count) {
        ulong2 entries = ENTRIES(row);
        uint count = 0;
        if (all_fit) {
            counts[row] = (uint)(entries.y - entries.x);
            continue;
        }
        for (ulong entry = entries.x; entry < entries.y; ++entry) {
            if (other_column != NONE && end_nodes[entry] != table[other_column * stride + row]) continue;
            count += passes(table, stride, row, width, words, at, end_nodes[entry], relationships[entry]);
        }
        counts[row] = count;
    }
}

kernel void write_combinations(
    COMBINATION_PARAMETERS, global const ulong *sums, ulong low, ulong high,
    global uint *extended, ulong extended_stride, uint node_column, uint relationship_column
) {
    bool all_fit = words[at + 1] == 0 && (other_column == NONE || sorted);
    ulong2 rows = rows_of_window(sums, row_count, low, high);
    FOR_EACH(i, rows.y - rows.x) {
        ulong row = rows.x + i, place = sums[row], end = min(sums[row + 1], high);
        if (place >= end || sums[row + 1] <= low) continue;
        ulong2 entries = ENTRIES(row);
        if (all_fit && place < low) {
            entries.x += low - place;
            place = low;
        }
        for (ulong entry = entries.x; entry < entries.y && place < end; ++entry) {
            if (!all_fit) {
                if (other_column != NONE && end_nodes[entry] != table[other_column * stride + row]) continue;
                if (!passes(table, stride, row, width, words, at, end_nodes[entry], relationships[entry])) continue;
            }
            if (place >= low) {
                keep_columns(table, stride, row, words, at, extended, extended_stride, place - low);
                put(extended, extended_stride, node_column, place - low, end_nodes[entry]);
                put(extended, extended_stride, relationship_column, place - low, relationships[entry]);
            }
            ++place;
        }
    }
}

/* Entry e is node nodes[first_node + e] or, with `of_relationships`, candidate relationship first entry + e of
   the section with rows first_row … first_row+row_count-1. */
kernel void write_product(
    global const uint *table, ulong stride, global const uint *words, uint at, ulong size, ulong low, ulong high,
    global const uint *nodes, ulong first_node, uint of_relationships,
    global const ulong *offsets, ulong first_row, ulong row_count,
    global const uint *end_nodes, global const uint *relationships,
    global uint *extended, ulong extended_stride, uint node_column, uint end_column, uint relationship_column
) {
    FOR_EACH(place, high - low) {
        ulong row = (low + place) / size, entry = (low + place) % size;
        keep_columns(table, stride, row, words, at, extended, extended_stride, place);
        if (!of_relationships) {
            put(extended, extended_stride, node_column, place, nodes[first_node + entry]);
            continue;
        }
        entry += offsets[first_row];
        if (node_column != NONE) {
            ulong section_row = first_sum_above(offsets, first_row, first_row + row_count + 1, entry) - 1;
            put(extended, extended_stride, node_column, place, nodes[first_node + section_row - first_row]);
        }
        put(extended, extended_stride, end_column, place, end_nodes[entry]);
        put(extended, extended_stride, relationship_column, place, relationships[entry]);
    }
}

kernel void count_valid(
    global const uint *table, ulong stride, ulong row_count, uint width, global const uint *words, uint at,
    global uint *counts
) {
    FOR_EACH(row, row_count) {
        counts[row] = passes(table, stride, row, width, words, at, NONE, NONE);
    }
}

kernel void write_valid(
    global const uint *table, ulong stride, ulong row_count, global const uint *words, uint at,
    global const ulong *sums, ulong low, ulong high, global uint *extended, ulong extended_stride
) {
    ulong2 rows = rows_of_window(sums, row_count, low, high);
    FOR_EACH(i, rows.y - rows.x) {
        ulong row = rows.x + i, place = sums[row];
        if (place == sums[row + 1] || place < low || place >= high) continue;
        keep_columns(table, stride, row, words, at, extended, extended_stride, place - low);
    }
}
