/* All steps of a join by one work item, for a CPU and few rows: launches and waiting would take longer than it (see extension.h).

   Two tables are written in turns, so the rows of the last complete step are there when it gives up: after looking at `most_looks`
   entries, or where a row could be more rows than there is place for. The host goes on from there.

   steps, from words[steps_at] on:   what it does, place of its words, most rows of a pair (or its candidates), width of its rows
   outcome   [0] complete steps [1] [2] rows of the last step where it only counts, low and high, then rows of each step
*/
#include "work_split.h"
#include "search.h"
#include "csr.h"
#include "query_graph.h"
#include "extension.h"
#include "row_ranges.h"
#include "whole_rows.h"

#define JOIN_STEP_WORDS 4
#define MULTIPLIES 0
#define EXTENDS 1
#define WEIGHS 2
#define PRUNES 3

#define STEPS_DONE 0
#define TOTAL_AT 1
#define ROWS_AT 3

typedef struct {
    ulong looks, most_looks;
    uint capacity;
} Bounds;

static inline bool has_room(const Bounds *bounds, const Output *output, ulong most) {
    return !output->extended || most <= bounds->capacity - *output->appended - output->found->count;
}

static inline bool may_look(Bounds *bounds, ulong looks) {
    bounds->looks += looks;
    return bounds->looks <= bounds->most_looks;
}

/* A row with each candidate. */
static bool multiply_row(
    const Step *step, ulong row, uint node_words, uint count, const Output *output, Bounds *bounds, ulong *total
) {
    const uint unread[MOST_LINKS] = {0};
    if (!output->extended) *total += count;
    if (!has_room(bounds, output, count) || !may_look(bounds, node_words / 16 + count)) return false;
    for (uint word = 0; word < node_words && output->extended; ++word) {
        for (uint left = step->row_bits[word]; left; left &= left - 1) {
            uint node = word * 32 + 31 - clz(left & -left);
            found_row(step, output->found, row, node, unread, output->extended, output->stride, output->appended);
        }
    }
    return true;
}

/* Its pairs; with `weighs` the row itself with their number. */
static bool extend_pairs_of(
    const Step *step, ulong row, uint most_rows, bool weighs, const Output *output, Bounds *bounds, ulong *total
) {
    const uint unread[MOST_LINKS] = {0};
    uint base = 0, length = shortest_list(step, row, &base);
    if (!may_look(bounds, 1 + (ulong)length * step->link_count)) return false;
    if (!has_room(bounds, output, weighs ? 1 : (ulong)length * most_rows)) return false;
    if (!weighs) {
        *total += extend_row(step, row, base, 0, length, output);
        return true;
    }
    const Output nothing = {output->found, 0, 0, 0};
    uint ways = (uint)extend_row(step, row, base, 0, length, &nothing);
    if (ways) found_row(step, output->found, row, ways, unread, output->extended, output->stride, output->appended);
    return true;
}

static bool prune_row(const Step *step, ulong row, const Output *output, Bounds *bounds, ulong *total) {
    const uint unread[MOST_LINKS] = {0};
    if (!may_look(bounds, 1)) return false;
    if (!passes_tests(step, row, NONE, unread)) return true;
    if (output->extended) {
        found_row(step, output->found, row, NONE, unread, output->extended, output->stride, output->appended);
    } else {
        ++*total;
    }
    return true;
}

kernel void join_rows(
    GRAPH_PARAMETERS, global const uint *words, uint steps_at, uint step_count, uint only_counts,
    global const uint *masks, uint mask_words, global const uint *candidates, uint node_words, global const uint *keys,
    ulong most_looks, uint capacity, global uint *even, global uint *odd, volatile global uint *outcome
) {
    Bounds bounds = {0, most_looks, capacity};
    Found found;
    ulong total = 0, row_count = 1, stride = capacity;
    uint width = 0, done = 0;
    bool goes_on = true;
    while (done < step_count) {
        global const uint *join_step = words + steps_at + done * JOIN_STEP_WORDS;
        uint kind = join_step[0], at = join_step[1], most_rows = join_step[2];
        global const uint *table = done & 1 ? odd : even;
        global uint *extended = done & 1 ? even : odd;
        const Step step = STEP_ARGUMENTS;
        const Output output = {
            &found, only_counts && done + 1 == step_count ? 0 : extended, stride, outcome + ROWS_AT + done};
        *output.appended = found.count = 0;
        for (ulong row = 0; row < row_count && goes_on; ++row) {
            if (kind == MULTIPLIES) {
                goes_on = multiply_row(&step, row, node_words, most_rows, &output, &bounds, &total);
            } else if (kind == PRUNES) {
                goes_on = prune_row(&step, row, &output, &bounds, &total);
            } else {
                goes_on = extend_pairs_of(&step, row, most_rows, kind == WEIGHS, &output, &bounds, &total);
            }
        }
        if (!goes_on) break;
        append(&step, &found, output.extended, stride, output.appended);
        row_count = *output.appended;
        width = join_step[3];
        ++done;
    }
    outcome[STEPS_DONE] = done;
    outcome[TOTAL_AT] = (uint)total;
    outcome[TOTAL_AT + 1] = (uint)(total >> 32);
}
