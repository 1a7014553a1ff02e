/* All steps of a join of few rows, without host synchronisation: waiting for counts would take longer than the rows
   (see extension.h). Work split:

          join_rows     CPU: all steps by one work item
          join_few      GPU: the first steps by one group, while each tests few pairs
          join_pairs    GPU: step `number`, which extends or weighs; groups take BLOCK rows, items pairs of these
          join_others   GPU: step `number`, which multiplies or tests; one item per word of candidates and row, or per
                        row

       even, odd   tables of `capacity` rows, read and written in turns
       steps       from words[steps_at] on: kind, position of its words, maximum rows per pair (or its candidates),
                   width
       outcome     [0] complete steps  [1] [2] rows of the last step if it only counts, low and high  [3] entries read
                   [4] first step that one group left  [5 …] rows of each step

   The rows of the last complete step remain if a step gives up: one that would raise the number of entries read
   above `max_looks`, or that has more rows than fit. The host continues from there.
   A step that one group leaves is a launch of its own, which the host does not wait for: it reads its number of
   rows from `outcome`. On a GPU [0] starts as the number of all steps, and the first step that gives up lowers
   it.
*/
#include "work_split.h"
#include "search.h"
#include "csr.h"
#include "query_graph.h"
#include "extension.h"
#include "group_sum.h"
#ifdef ON_CPU
#include "row_ranges.h"
#include "whole_rows.h"
#endif

#define JOIN_STEP_WORDS 4
#define MULTIPLIES 0
#define EXTENDS 1
#define WEIGHS 2
#define PRUNES 3

#define STEPS_DONE 0
#define TOTAL_AT 1
#define LOOKS_AT 3
#define LEFT_AT 4
#define ROWS_AT 5

#define JOIN_PARAMETERS \
    GRAPH_PARAMETERS, global const uint *words, uint steps_at, uint step_count, uint only_counts, \
    global const uint *masks, uint mask_words, global const uint *candidates, uint node_words, global const uint *keys, \
    ulong max_looks, uint capacity, global uint *even, global uint *odd, volatile global uint *outcome

#ifdef ON_CPU
/* The number of entries, bits or rows that a step reads; computed without reading them, and only up to `most`. */
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
    const uint unread[MAX_LINKS] = {0};
    if (!output->extended) return 1;
    found_row(step, output->found, row, node, unread, output->extended, output->stride, output->appended);
    return 0;
}

/* Appends a row with each candidate. */
static ulong multiply_row(const Step *step, ulong row, uint node_words, const Output *output) {
    ulong total = 0;
    for (uint word = 0; word < node_words; ++word) {
        for (uint left = step->row_bits[word]; left; left &= left - 1) {
            total += take_row(step, row, word * 32 + 31 - clz(left & -left), output);
        }
    }
    return total;
}

/* Appends the row itself with the number of its pairs that fit. */
static ulong weigh_row(const Step *step, ulong row, uint base, uint length, const Output *output) {
    const Output nothing = {output->found, 0, 0, 0};
    uint weight = (uint)extend_row(step, row, base, 0, length, &nothing);
    return weight ? take_row(step, row, weight, output) : 0;
}

/* Makes all rows of a step, or counts them if there is no output; false if they do not fit. */
static bool join_step(
    const Step *step, uint kind, uint max_rows, ulong row_count, uint node_words, uint capacity, const Output *output, ulong *total
) {
    for (ulong row = 0; row < row_count; ++row) {
        uint base = 0, length = kind == EXTENDS || kind == WEIGHS ? shortest_list(step, row, &base) : 1;
        if ((kind == WEIGHS ? 1 : (ulong)length * max_rows) > room(output, capacity)) return false;
        if (kind == MULTIPLIES) *total += multiply_row(step, row, node_words, output);
        else if (kind == EXTENDS) *total += extend_row(step, row, base, 0, length, output);
        else if (kind == WEIGHS) *total += weigh_row(step, row, base, length, output);
        else if (passes_tests(step, row, NONE, 0)) *total += take_row(step, row, NONE, output);
    }
    return true;
}

kernel void join_rows(JOIN_PARAMETERS) {
    Found found;
    ulong total = 0, looks = 0, row_count = 1, stride = capacity;
    uint width = 0, done = 0;
    while (done < step_count) {
        global const uint *join_words = words + steps_at + done * JOIN_STEP_WORDS;
        uint kind = join_words[0], at = join_words[1], max_rows = join_words[2];
        global const uint *table = done & 1 ? odd : even;
        global uint *extended = only_counts && done + 1 == step_count ? 0 : done & 1 ? even : odd;
        const Step step = STEP_ARGUMENTS;
        const Output output = {&found, extended, stride, outcome + ROWS_AT + done};
        *output.appended = found.count = 0;
        looks += looks_of(&step, kind, row_count, node_words, max_rows, max_looks - looks);
        if (looks > max_looks) break;
        if (!join_step(&step, kind, max_rows, row_count, node_words, capacity, &output, &total)) break;
        append(&step, &found, extended, stride, output.appended);
        row_count = *output.appended;
        width = join_words[3];
        ++done;
    }
    outcome[STEPS_DONE] = done;
    outcome[TOTAL_AT] = (uint)total;
    outcome[TOTAL_AT + 1] = (uint)(total >> 32);
    outcome[LOOKS_AT] = (uint)min(looks, (ulong)EVERY_ONE);
}
#else
#define BLOCK 32
#define MAX_ITEMS 256

/* The rows that a launch makes from those of the step before. A step after one that gave up makes none. */
typedef struct {
    uint kind, max_rows, number, capacity;
    ulong row_count;
    global uint *extended; /* null if rows are only counted */
    volatile global uint *rows, *outcome;
} Made;

#define JOIN_STEP \
    global const uint *join_words = words + steps_at + number * JOIN_STEP_WORDS; \
    const uint at = join_words[1], width = number ? join_words[3 - JOIN_STEP_WORDS] : 0; \
    const ulong stride = capacity; \
    global const uint *table = number & 1 ? odd : even; \
    const Step step = STEP_ARGUMENTS; \
    const Made made = {join_words[0], join_words[2], number, capacity, \
        outcome[STEPS_DONE] < number ? 0 : number ? outcome[ROWS_AT + number - 1] : 1, \
        only_counts && number + 1 == step_count ? (global uint *)0 : number & 1 ? even : odd, outcome + ROWS_AT + number, outcome}

static inline void give_up(const Made *made) {
    atomic_min(made->outcome + STEPS_DONE, made->number);
}

/* Reserves space for rows; false if there is none. */
static inline bool take_places(const Made *made, ulong count, uint *place) {
    *place = atomic_add(made->rows, (uint)count);
    if (*place + count <= made->capacity) return true;
    give_up(made);
    return false;
}

static inline void add_to_total(const Made *made, ulong count) {
    if (count == 0) return;
    uint low = (uint)count, before = atomic_add(made->outcome + TOTAL_AT, low);
    atomic_add(made->outcome + TOTAL_AT + 1, (uint)(count >> 32) + ((uint)(before + low) < before));
}

static inline void take_row(const Step *step, const Made *made, ulong row, uint node, ulong *counted) {
    const uint unread[MAX_LINKS] = {0};
    uint place;
    if (!made->extended) ++*counted;
    else if (take_places(made, 1, &place)) write_row(step, row, node, unread, made->extended, made->capacity, place);
}

/* Appends the rows of one pair. */
static inline void take_pair(
    const Step *step, const Made *made, ulong row, uint node, const uint *counts, ulong product, ulong weight, uint *relationships
) {
    uint place;
    if (!take_places(made, weight, &place)) return;
    for (ulong which = 0; which < product; ++which) {
        if (product > 1) {
            take_combination(step, row, node, counts, which, relationships);
            if (!passes_late(step, row, node, relationships)) continue;
        }
        write_row(step, row, node, relationships, made->extended, made->capacity, place++);
    }
}

typedef struct {
    ulong sums[BLOCK + 1];
    uint lengths[BLOCK], weights[BLOCK], goes_on;
    uchar bases[BLOCK];
} Block;

/* The number of pairs of the rows before the one at a position. */
static inline ulong pairs_before(local const Block *block, uint place) {
    ulong sum = 0;
    for (uint i = 0; i < place; ++i) sum += block->lengths[i];
    return sum;
}

/* 1 if a block's pairs are within the limit of entries read. */
static inline uint is_within(const Step *step, const Made *made, local const Block *block, ulong max_looks) {
    uint looks = (uint)min(BLOCK + block->sums[BLOCK] * step->link_count, max_looks + 1);
    volatile global uint *outcome = made->outcome;
    bool goes_on = outcome[STEPS_DONE] > made->number && atomic_add(outcome + LOOKS_AT, looks) + (ulong)looks <= max_looks;
    if (!goes_on) give_up(made);
    return goes_on;
}

/* Processes an item's share of the pairs of a block whose first row is `first`; returns the number of rows that
   were only counted. */
static inline ulong join_block(const Step *step, const Made *made, local Block *block, ulong first) {
    ulong counted = 0, last = block->goes_on ? block->sums[BLOCK] : 0;
    for (ulong pair = get_local_id(0); pair < last; pair += get_local_size(0)) {
        uint own = 0, node = 0, counts[MAX_LINKS], relationships[MAX_LINKS];
        for (uint reach = BLOCK / 2; reach > 0; reach /= 2) own += block->sums[own + reach] <= pair ? reach : 0;
        ulong row = first + own;
        ulong product = nth_combinations(
            step, row, block->bases[own], (uint)(pair - block->sums[own]), &node, counts, relationships);
        ulong weight = passing(step, row, node, counts, product, relationships);
        if (weight == 0) continue;
        if (made->kind == WEIGHS) atomic_add(&block->weights[own], (uint)weight);
        else if (!made->extended) counted += weight;
        else take_pair(step, made, row, node, counts, product, weight, relationships);
    }
    return counted;
}

/* Processes an item's share of a step that extends or weighs: rows of its group. All items must call it. */
static inline ulong share_of_pairs(const Step *step, const Made *made, local Block *block, ulong max_looks) {
    uint item = get_local_id(0);
    ulong counted = 0;
    for (ulong first = (ulong)get_group_id(0) * BLOCK; first < made->row_count; first += (ulong)get_num_groups(0) * BLOCK) {
        ulong row = first + item;
        if (item < BLOCK) {
            uint base = 0;
            block->lengths[item] = row < made->row_count ? shortest_list(step, row, &base) : 0;
            block->bases[item] = (uchar)base;
            block->weights[item] = 0;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (item <= BLOCK) block->sums[item] = pairs_before(block, item);
        barrier(CLK_LOCAL_MEM_FENCE);
        if (item == 0) block->goes_on = is_within(step, made, block, max_looks);
        barrier(CLK_LOCAL_MEM_FENCE);
        counted += join_block(step, made, block, first);
        barrier(CLK_LOCAL_MEM_FENCE);
        if (item < BLOCK && block->weights[item]) take_row(step, made, row, block->weights[item], &counted);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    return counted;
}

/* Processes an item's share of a step that multiplies or tests. */
static inline ulong share_of_others(const Step *step, const Made *made, uint node_words, ulong max_looks) {
    ulong counted = 0, items = made->row_count;
    if (made->kind == MULTIPLIES) {
        items *= node_words;
        /* All items take the same branch. */
        if (items / 16 + made->row_count * made->max_rows > max_looks) {
            give_up(made);
            return 0;
        }
    }
    FOR_EACH(i, items) {
        if (made->kind == PRUNES) {
            if (passes_tests(step, i, NONE, 0)) take_row(step, made, i, NONE, &counted);
            continue;
        }
        uint word = (uint)(i % node_words);
        for (uint left = step->row_bits[word]; left; left &= left - 1) {
            take_row(step, made, i / node_words, word * 32 + 31 - clz(left & -left), &counted);
        }
    }
    return counted;
}

/* The number of pairs that a step tests, or of rows that it makes if it multiplies; EVERY_ONE if there are more
   rows than items. All items must call it. */
static inline ulong pairs_of_step(const Step *step, const Made *made, local ulong *scratch) {
    uint item = get_local_id(0), base = 0;
    ulong own = 0;
    if (made->kind == MULTIPLIES) own = item == 0 ? made->row_count * made->max_rows : 0;
    else if (made->row_count > get_local_size(0)) own = EVERY_ONE;
    else if (item < made->row_count) own = made->kind == PRUNES ? 1 : shortest_list(step, item, &base);
    ulong pairs = group_sum(own, scratch);
    barrier(CLK_LOCAL_MEM_FENCE);
    return pairs;
}

kernel void join_few(JOIN_PARAMETERS, uint few) {
    local Block block;
    local ulong scratch[MAX_ITEMS];
    uint number = 0;
    while (number < step_count) {
        JOIN_STEP;
        if (pairs_of_step(&step, &made, scratch) > few) break;
        bool has_pairs = made.kind == EXTENDS || made.kind == WEIGHS;
        ulong counted = has_pairs ? share_of_pairs(&step, &made, &block, max_looks)
                                  : share_of_others(&step, &made, node_words, max_looks);
        counted = group_sum(counted, scratch);
        if (get_local_id(0) == 0) add_to_total(&made, counted);
        /* The next step reads the rows that all items have written. */
        barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
        ++number;
    }
    if (get_local_id(0) == 0) outcome[LEFT_AT] = number;
}

kernel void join_pairs(JOIN_PARAMETERS, uint number) {
    local Block block;
    local ulong scratch[MAX_ITEMS];
    JOIN_STEP;
    ulong counted = group_sum(share_of_pairs(&step, &made, &block, max_looks), scratch);
    if (get_local_id(0) == 0) add_to_total(&made, counted);
}

kernel void join_others(JOIN_PARAMETERS, uint number) {
    JOIN_STEP;
    add_to_total(&made, share_of_others(&step, &made, node_words, max_looks));
}
#endif
