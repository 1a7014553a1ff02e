/* Counts the matches of a query node for each partial embedding, instead of extending it (see extension.h). Work
   split:

          weigh_rows   one team of LANES items per row: scans its shortest list; rows with matches are appended to
                       extended with their number

       extended   new table; rows are appended in any order from *appended on; the number is in the added node's column

   On a CPU a team is one item.
*/
#include "work_split.h"
#include "search.h"
#include "csr.h"
#include "query_graph.h"
#include "extension.h"

/* True if the link is one list, sorted by neighbour, of which only membership counts. */
static inline bool is_plain_list(const Step *step, uint link) {
    uint directions = step->words[link + LINK_DIRECTIONS];
    uint flags = step->words[link + LINK_FLAGS] & (PLAIN | NEEDS_RELATIONSHIP | SEVERAL);
    return flags == PLAIN && directions != (INCOMING | OUTGOING);
}

static inline bool is_linked(const Step *step, uint link, uint from, uint node) {
    bool is_incoming = step->words[link + LINK_DIRECTIONS] & INCOMING;
    uint2 list = plain_list(step, link, is_incoming, from);
    global const uint *neighbours = neighbours_of(step, is_incoming);
    uint entry = first_place_from(neighbours, list.x, list.y, node);
    return entry < list.y && neighbours[entry] == node;
}

/* The number of matches of a row among the entries of one lane. */
static uint weight_of(const Step *step, ulong row, uint lane, uint lanes) {
    uint shortest = NONE, base = 0, counts[MAX_LINKS], relationships[MAX_LINKS];
    bool plain = true;
    for (uint number = 0; number < step->link_count; ++number) {
        uint link = link_at(step, number), length = entry_count(step, link, old_value(step, row, step->words[link]));
        plain = plain && is_plain_list(step, link);
        if (length < shortest) {
            shortest = length;
            base = number;
        }
    }
    if (shortest == 0) return 0;
    ulong total = 0;
    uint link = link_at(step, base), from = old_value(step, row, step->words[link]);
    Segments segments = all_segments(step->words, link, false);
    while (next_segment(&segments, step, from)) {
        global const uint *neighbours = neighbours_of(step, segments.is_incoming);
        for (uint entry = segments.begin + lane; entry < segments.end; entry += lanes) {
            uint node = neighbours[entry];
            if (plain) {
                bool fits = !step->row_bits || has_bit(step->row_bits, node);
                for (uint number = 0; number < step->link_count && fits; ++number) {
                    uint other = link_at(step, number);
                    fits = number == base || is_linked(step, other, old_value(step, row, step->words[other]), node);
                }
                total += fits && passes_tests(step, row, node, relationships);
                continue;
            }
            ulong product = combinations(
                step, row, base, from, segments.is_incoming, segments.begin, entry, node, counts, relationships);
            total += passing(step, row, node, counts, product, relationships);
        }
    }
    return (uint)total;
}

#ifdef ON_CPU
kernel void weigh_rows(
    STEP_PARAMETERS, ulong first_row, ulong last_row, global uint *extended, ulong extended_stride, volatile global uint *appended
) {
    const Step step = STEP_ARGUMENTS;
    ulong end = first_row + share_end(last_row - first_row);
    for (ulong row = first_row + share_begin(last_row - first_row); row < end; ++row) {
        uint weight = weight_of(&step, row, 0, 1);
        if (weight) write_row(&step, row, weight, 0, extended, extended_stride, atomic_inc(appended));
    }
}
#else
#define GROUP 256
#define LANES 8
#define TEAMS (GROUP / LANES)

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void weigh_rows(
    STEP_PARAMETERS, ulong first_row, ulong last_row, global uint *extended, ulong extended_stride, volatile global uint *appended
) {
    const Step step = STEP_ARGUMENTS;
    local uint parts[GROUP], weights[TEAMS], places[TEAMS];
    uint item = get_local_id(0), team = item / LANES, lane = item % LANES;
    for (ulong begin = first_row + get_group_id(0) * TEAMS; begin < last_row; begin += get_num_groups(0) * TEAMS) {
        ulong row = begin + team;
        parts[item] = row < last_row ? weight_of(&step, row, lane, LANES) : 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        if (lane == 0) {
            uint total = 0;
            for (uint i = 0; i < LANES; ++i) total += parts[item + i];
            weights[team] = total;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (item == 0) {
            uint count = 0;
            for (uint i = 0; i < TEAMS; ++i) {
                places[i] = count;
                count += weights[i] > 0;
            }
            uint first_place = count ? atomic_add(appended, count) : 0;
            for (uint i = 0; i < TEAMS; ++i) places[i] += first_place;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (weights[team]) {
            ulong place = places[team];
            for (uint column = lane; column < step.kept_count; column += LANES) {
                extended[column * extended_stride + place] = old_value(&step, row, words[step.kept + column]);
            }
            if (lane == 0) extended[step.node_column * extended_stride + place] = weights[team];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}
#endif
