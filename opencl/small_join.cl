/* All steps of a join by one work item, for a CPU and few rows: launches and waiting would take longer than it (see extension.h).

   Two tables are written in turns, so the rows of the last complete step are there when it gives up: before a step that would look
   at more than `most_looks` entries with those before it, or where a row could be more rows than there is place for. The host goes
   on from there.

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

/* How many entries, bits or rows a step looks at; found without looking at them, and no further than to `most`. */
static ulong looks_of(const Step *step, uint kind, ulong row_count, uint node_words, uint candidates, ulong most) {
    if (kind == PRUNES) return row_count;
    if (kind == MULTIPLIES) return row_count * (node_words / 16 + candidates);
    ulong looks = 0;
    for (ulong row = 0; row < row_count && looks <= most; ++row) {
        uint base = 0;
        looks += 1 + (ulong)shortest_list(step, row, &base) * step->link_count;
    }
    return looks;
}

static inline ulong room(const Output *output, uint capacity) {
    return output->extended ? capacity - *output->appended - output->found->count : EVERY_ONE;
}

static inline ulong take_row(const Step *step, ulong row, uint node, const Output *output) {
    const uint unread[MOST_LINKS] = {0};
    if (!output->extended) return 1;
    found_row(step, output->found, row, node, unread, output->extended, output->stride, output->appended);
    return 0;
}

/* A row with each candidate. */
static ulong multiply_row(const Step *step, ulong row, uint node_words, const Output *output) {
    ulong total = 0;
    for (uint word = 0; word < node_words; ++word) {
        for (uint left = step->row_bits[word]; left; left &= left - 1) {
            total += take_row(step, row, word * 32 + 31 - clz(left & -left), output);
        }
    }
    return total;
}

/* A row itself, with the number of its pairs that fit. */
static ulong weigh_row(const Step *step, ulong row, uint base, uint length, const Output *output) {
    const Output nothing = {output->found, 0, 0, 0};
    uint ways = (uint)extend_row(step, row, base, 0, length, &nothing);
    return ways ? take_row(step, row, ways, output) : 0;
}

/* All rows of a step, which are counted where there is no output; false where there was no room for them. */
static bool join_step(
    const Step *step, uint kind, uint most_rows, ulong row_count, uint node_words, uint capacity, const Output *output, ulong *total
) {
    for (ulong row = 0; row < row_count; ++row) {
        uint base = 0, length = kind == EXTENDS || kind == WEIGHS ? shortest_list(step, row, &base) : 1;
        if ((kind == WEIGHS ? 1 : (ulong)length * most_rows) > room(output, capacity)) return false;
        if (kind == MULTIPLIES) *total += multiply_row(step, row, node_words, output);
        else if (kind == EXTENDS) *total += extend_row(step, row, base, 0, length, output);
        else if (kind == WEIGHS) *total += weigh_row(step, row, base, length, output);
        else if (passes_tests(step, row, NONE, 0)) *total += take_row(step, row, NONE, output);
    }
    return true;
}

kernel void join_rows(
    GRAPH_PARAMETERS, global const uint *words, uint steps_at, uint step_count, uint only_counts,
    global const uint *masks, uint mask_words, global const uint *candidates, uint node_words, global const uint *keys,
    ulong most_looks, uint capacity, global uint *even, global uint *odd, volatile global uint *outcome
) {
    Found found;
    ulong total = 0, looks = 0, row_count = 1, stride = capacity;
    uint width = 0, done = 0;
    while (done < step_count) {
        global const uint *join_words = words + steps_at + done * JOIN_STEP_WORDS;
        uint kind = join_words[0], at = join_words[1], most_rows = join_words[2];
        global const uint *table = done & 1 ? odd : even;
        global uint *extended = only_counts && done + 1 == step_count ? 0 : done & 1 ? even : odd;
        const Step step = STEP_ARGUMENTS;
        const Output output = {&found, extended, stride, outcome + ROWS_AT + done};
        *output.appended = found.count = 0;
        looks += looks_of(&step, kind, row_count, node_words, most_rows, most_looks - looks);
        if (looks > most_looks) break;
        if (!join_step(&step, kind, most_rows, row_count, node_words, capacity, &output, &total)) break;
        append(&step, &found, extended, stride, output.appended);
        row_count = *output.appended;
        width = join_words[3];
        ++done;
    }
    outcome[STEPS_DONE] = done;
    outcome[TOTAL_AT] = (uint)total;
    outcome[TOTAL_AT + 1] = (uint)(total >> 32);
}
