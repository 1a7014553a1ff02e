/* The join of GSI (Zeng et al., 2020): one query node at a time, by Prealloc-Combine. Work split:

          bound_rows       one item per row: position and length of the list of its first linking relationship; the
                           lengths are the output positions that are allocated in advance
          join_first       one warp per row: writes the entries of that list that are candidates and pass the tests to
                           the row's positions
          intersect_next   one warp per row: keeps of those the entries whose neighbour is in a further relationship's
                           list
          link_rows        one item per new row: writes old row, node, relationship
          count_passing    one item per row: counts[row] = 1 if it passes the tests
          write_passing    one item per row: copies it if it passes

       begins, lengths, counts   uint[count]        rows first_row … first_row+count-1 of the table
       sums                      ulong[count + 1]   where each row's positions begin in the buffer; null: each row has
                                                    place_stride positions

   A GPU has warps of 32 work items, eight per group; on a CPU one item processes whole rows.
   Load balance: a launch skips rows longer than `alone_from`; another launch gives them to whole groups, with a
   list of rows and `parts` groups each. Of other rows a warp processes the first `share_from` entries; all warps
   of the group share the rest.
*/
#include "work_split.h"
#include "search.h"
#include "neighbour_lists.h"
#include "node_join.h"
#include "warps.h"

#define STAGED 128

/* Bits of `how`. */
#define SET_OPERATIONS 1u   /* read lists in batches from local memory, candidates as bitmaps, buffer the output */
#define SHARED_INPUT 2u     /* warps of a group with the same list read it once */
#define IS_CLOSING 4u       /* the node is bound already: only its relationship is added */
#define APPENDS 8u          /* counts tell how many positions are filled by now; neighbours go there, and relationships to `second` */

kernel void bound_rows(
    global const uint *table, ulong stride, ulong first_row, ulong count, uint column, uint other_column, LISTS_PARAMETERS,
    global uint *begins, global uint *lengths, uint group_from, uint launch_from, global uint *long_rows,
    volatile global uint *long_counts
) {
    const Lists lists = LISTS;
    FOR_EACH(i, count) {
        ulong row = first_row + i;
        uint2 list = list_of(&lists, table[column * stride + row]);
        if (other_column != NONE) list = entries_to(&lists, list, table[other_column * stride + row]);
        uint length = list.y - list.x;
        begins[i] = list.x;
        lengths[i] = length;
        if (long_rows && length > group_from) note_long_row(long_rows, long_counts, count, (uint)i, length > launch_from);
    }
}

typedef struct {
    global const uint *table;
    ulong stride, first_row;
    uint width;
    const Lists *lists;
    global const uint *bits, *candidates; /* of the added node: a bitmap, and without it an ascending list */
    ulong candidate_count;
    global const uint *words;
    uint at, how;
} JoinStep;

static inline bool joins(const JoinStep *step, uint row, uint entry, uint neighbour) {
    if (!(step->how & IS_CLOSING)) {
        if (step->how & SET_OPERATIONS) {
            if (!((step->bits[neighbour >> 5] >> (neighbour & 31)) & 1)) return false;
        } else {
            ulong place = lower_bound(step->candidates, 0, step->candidate_count, neighbour);
            if (place == step->candidate_count || step->candidates[place] != neighbour) return false;
        }
    }
    if (!entry_passes(step->lists, entry)) return false;
    if (step->words[step->at + 1] == 0) return true;
    uint relationship = step->lists->relationships ? step->lists->relationships[entry] : NONE;
    return passes_tests(step->table, step->stride, step->first_row + row, step->width, step->words, step->at, neighbour,
                        relationship);
}

static inline void put_entry(const JoinStep *step, global uint *buffer, global uint *second, ulong place, uint entry) {
    bool has_values = step->how & APPENDS;
    buffer[place] = has_values ? step->lists->neighbours[entry] : entry;
    if (has_values && second) second[place] = step->lists->relationships[entry];
}

#define FIRST_PARAMETERS \
    global const uint *table, ulong stride, ulong first_row, ulong count, uint width, LISTS_PARAMETERS, \
    global const uint *begins, global const uint *lengths, global const uint *bits, ulong bits_at, \
    global const uint *candidates, ulong candidates_at, ulong candidate_count, global const uint *words, uint at, \
    global const ulong *sums, ulong place_stride, global uint *buffer, global uint *second, \
    volatile global uint *counts, global const uint *rows, ulong rows_at, uint parts, uint alone_from, uint share_from, uint how

#define JOIN_STEP {table, stride, first_row, width, &lists, bits + bits_at, candidates + candidates_at, candidate_count, \
                   words, at, how}

#define NEXT_PARAMETERS \
    global const uint *table, ulong stride, ulong first_row, ulong count, uint column, LISTS_PARAMETERS, \
    global const uint *first_neighbours, global const ulong *sums_in, ulong place_stride, global const uint *buffer_in, \
    global const uint *counts_in, global const ulong *sums_out, global uint *buffer_out, global uint *counts_out, \
    global const uint *rows, ulong rows_at, global const uint *lengths, uint alone_from, uint how

#ifdef ON_CPU

kernel void join_first(FIRST_PARAMETERS) {
    const Lists lists = LISTS;
    const JoinStep step = JOIN_STEP;
    FOR_EACH(row, count) {
        uint found = how & APPENDS ? counts[row] : 0;
        for (uint entry = begins[row], end = begins[row] + lengths[row]; entry < end; ++entry) {
            if (!joins(&step, (uint)row, entry, neighbours[entry])) continue;
            if (buffer) put_entry(&step, buffer, second, first_place(sums, place_stride, row) + found, entry);
            ++found;
        }
        counts[row] = found;
    }
}

kernel void intersect_next(NEXT_PARAMETERS) {
    const Lists lists = LISTS;
    FOR_EACH(row, count) {
        uint2 list = list_of(&lists, table[column * stride + first_row + row]);
        uint found = 0;
        for (uint place = 0, last = counts_in[row]; place < last; ++place) {
            uint entry = buffer_in[first_place(sums_in, place_stride, row) + place];
            if (!has_neighbour(&lists, list, first_neighbours[entry])) continue;
            if (buffer_out) buffer_out[first_place(sums_out, place_stride, row) + found] = entry;
            ++found;
        }
        counts_out[row] = found;
    }
}

#else

kernel void join_first(FIRST_PARAMETERS) {
    local uint ballots[WARPS], task_row[WARPS], task_begin[WARPS], task_length[WARPS], task_alone[WARPS], source[WARPS];
    local uint place_of[WARPS], inputs[WARPS * WARP], cache[WARPS * 2 * WARP];
    const Lists lists = LISTS;
    const JoinStep step = JOIN_STEP;
    uint lane = get_local_id(0) % WARP, warp = get_local_id(0) / WARP, group = get_group_id(0);

    /* Tasks of this group: a row per warp, or a part of one row. The warp processes `task_alone` entries alone. */
    if (lane == 0) {
        uint row = NONE, begin = 0, length = 0;
        if (!rows) {
            ulong number = (ulong)group * WARPS + warp;
            if (number < count && lengths[number] <= alone_from) {
                row = (uint)number;
                begin = begins[row];
                length = lengths[row];
            }
        } else if (warp == 0 && parts) {
            row = rows[rows_at + group / parts];
            uint share = (lengths[row] + parts - 1) / parts, skipped = min(lengths[row], share * (group % parts));
            begin = begins[row] + skipped;
            length = min(share, lengths[row] - skipped);
        }
        task_row[warp] = row;
        task_begin[warp] = begin;
        task_length[warp] = length;
        task_alone[warp] = rows ? 0 : min(length, share_from);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lane == 0) {
        source[warp] = warp;
        if (how & SHARED_INPUT) {
            uint other = 0;
            while (task_begin[other] != task_begin[warp] || task_alone[other] != task_alone[warp]) ++other;
            source[warp] = other;
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);

    uint row = task_row[warp], begin = task_begin[warp], alone = task_alone[warp], held = 0;
    uint written = row != NONE && (how & APPENDS) && !rows ? counts[row] : 0, longest = most_of(task_alone);
    for (uint offset = 0; offset < longest; offset += WARP) {
        bool active = offset + lane < alone;
        uint entry = begin + offset + lane, neighbour = NONE;
        if (active && source[warp] == warp) neighbour = neighbours[entry];
        inputs[warp * WARP + lane] = neighbour;
        barrier(CLK_LOCAL_MEM_FENCE);
        neighbour = inputs[source[warp] * WARP + lane];
        bool found = active && joins(&step, row, entry, neighbour);
        uint all = ballot(ballots, warp, lane, found), rank = popcount(all & ((1u << lane) - 1));
        local uint *mine = cache + warp * 2 * WARP;
        if (buffer && (how & SET_OPERATIONS)) {
            if (found) mine[held + rank] = entry;
            held += popcount(all);
        } else {
            if (found && buffer) put_entry(&step, buffer, second, first_place(sums, place_stride, row) + written + rank, entry);
            written += popcount(all);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        bool is_full = held >= WARP;
        uint rest = mine[WARP + lane];
        if (is_full) put_entry(&step, buffer, second, first_place(sums, place_stride, row) + written + lane, mine[lane]);
        barrier(CLK_LOCAL_MEM_FENCE);
        if (is_full) {
            mine[lane] = rest;
            held -= WARP;
            written += WARP;
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lane < held) {
        put_entry(&step, buffer, second, first_place(sums, place_stride, row) + written + lane, cache[warp * 2 * WARP + lane]);
    }
    if (lane == 0 && row != NONE && !rows) counts[row] = written + held;
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);

    /* The rest of all rows, in batches that the warps take in turn. */
    uint batches = 0;
    for (uint task = 0; task < WARPS; ++task) batches += (task_length[task] - task_alone[task] + WARP - 1) / WARP;
    for (uint first = 0; first < batches; first += WARPS) {
        uint batch = first + warp, task = 0;
        bool active = batch < batches;
        if (active) {
            for (;; ++task) {
                uint own = (task_length[task] - task_alone[task] + WARP - 1) / WARP;
                if (batch < own) break;
                batch -= own;
            }
        }
        uint offset = task_alone[task] + batch * WARP + lane, entry = task_begin[task] + offset;
        active = active && offset < task_length[task];
        uint its_row = task_row[task];
        bool found = active && joins(&step, its_row, entry, neighbours[entry]);
        uint all = ballot(ballots, warp, lane, found);
        if (lane == 0 && all) place_of[warp] = atomic_add(&counts[its_row], popcount(all));
        barrier(CLK_LOCAL_MEM_FENCE);
        if (found && buffer) {
            ulong place = first_place(sums, place_stride, its_row) + place_of[warp] + popcount(all & ((1u << lane) - 1));
            put_entry(&step, buffer, second, place, entry);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}

kernel void intersect_next(NEXT_PARAMETERS) {
    local uint ballots[WARPS], sizes[WARPS], staged[WARPS * STAGED];
    const Lists lists = LISTS;
    uint lane = get_local_id(0) % WARP, warp = get_local_id(0) / WARP, group = get_group_id(0);
    /* A row per warp, or one row per group: then its lanes are those of all warps. */
    uint team_first = rows ? 0 : warp, team = rows ? WARPS : 1, team_lane = rows ? get_local_id(0) : lane;
    uint row = NONE, size = 0;
    if (rows) {
        row = rows[rows_at + group];
    } else {
        ulong number = (ulong)group * WARPS + warp;
        if (number < count && lengths[number] <= alone_from) row = (uint)number;
    }
    uint2 list = (uint2)(0, 0);
    if (row != NONE) {
        size = counts_in[row];
        if (size) list = list_of(&lists, table[column * stride + first_row + row]);
    }
    if (lane == 0) sizes[warp] = size;
    bool is_staged = (how & SET_OPERATIONS) && !rows && !types && !mask && list.y - list.x <= STAGED;
    local uint *stage = staged + warp * STAGED;
    if (is_staged) {
        for (uint entry = list.x + lane; entry < list.y; entry += WARP) stage[entry - list.x] = neighbours[entry];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    uint longest = most_of(sizes), written = 0;
    for (uint offset = 0; offset < longest; offset += team * WARP) {
        bool found = offset + team_lane < size;
        uint entry = found ? buffer_in[first_place(sums_in, place_stride, row) + offset + team_lane] : 0;
        if (found) {
            uint neighbour = first_neighbours[entry];
            if (is_staged) {
                uint low = 0, high = list.y - list.x;
                while (low < high) {
                    uint middle = (low + high) / 2;
                    if (stage[middle] < neighbour) low = middle + 1;
                    else high = middle;
                }
                found = low < list.y - list.x && stage[low] == neighbour;
            } else {
                found = has_neighbour(&lists, list, neighbour);
            }
        }
        ballot(ballots, warp, lane, found);
        uint rank = popcount(ballots[warp] & ((1u << lane) - 1)), all = 0;
        for (uint each = team_first; each < team_first + team; ++each) {
            if (each < warp) rank += popcount(ballots[each]);
            all += popcount(ballots[each]);
        }
        /* All entries of the batch are read by now, so the output may overwrite the same buffer. */
        if (found && buffer_out) buffer_out[first_place(sums_out, place_stride, row) + written + rank] = entry;
        written += all;
        barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    }
    if (team_lane == 0 && row != NONE) counts_out[row] = written;
}

#endif

/* New row low + i: the positions of its old row begin at sums_in; sums count those that are filled. */
kernel void link_rows(
    global const uint *table, ulong stride, ulong first_row, ulong count, global const uint *words, uint at,
    global const ulong *sums_in, ulong place_stride, global const uint *buffer, global const ulong *sums, ulong low, ulong high,
    global const uint *neighbours, global const uint *relationships,
    global uint *extended, ulong extended_stride, uint node_column, uint relationship_column
) {
    FOR_EACH(i, high - low) {
        ulong row = first_sum_above(sums, 0, count + 1, low + i) - 1;
        uint entry = buffer[first_place(sums_in, place_stride, row) + low + i - sums[row]];
        for (uint kept = 0; kept < words[at]; ++kept) {
            extended[kept * extended_stride + i] = table[words[at + 2 + kept] * stride + first_row + row];
        }
        if (node_column != NONE) extended[node_column * extended_stride + i] = neighbours[entry];
        if (relationship_column != NONE) extended[relationship_column * extended_stride + i] = relationships[entry];
    }
}

kernel void count_passing(
    global const uint *table, ulong stride, ulong row_count, uint width, global const uint *words, uint at,
    global uint *counts
) {
    FOR_EACH(row, row_count) counts[row] = passes_tests(table, stride, row, width, words, at, NONE, NONE);
}

kernel void write_passing(
    global const uint *table, ulong stride, ulong row_count, global const uint *words, uint at,
    global const ulong *sums, ulong low, ulong high, global uint *extended, ulong extended_stride
) {
    FOR_EACH(row, row_count) {
        ulong place = sums[row];
        if (place == sums[row + 1] || place < low || place >= high) continue;
        for (uint kept = 0; kept < words[at]; ++kept) {
            extended[kept * extended_stride + place - low] = table[words[at + 2 + kept] * stride + row];
        }
    }
}
