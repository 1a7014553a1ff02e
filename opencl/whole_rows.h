/* Needs row_ranges.h. On a CPU an item processes all pairs of a row, or many of them, and appends new rows in
   batches. */
#ifdef ON_CPU
/* New rows that wait to be appended together, with one atomic for many. */
#define WAITING 128
typedef struct {
    uint count;
    uint rows[WAITING], nodes[WAITING], relationships[WAITING][MAX_LINKS];
} Found;

static void append(
    const Step *step, Found *found, global uint *extended, ulong extended_stride, volatile global uint *appended
) {
    if (found->count == 0) return;
    ulong place = atomic_add(appended, found->count);
    for (uint i = 0; i < found->count; ++i) {
        write_row(step, found->rows[i], found->nodes[i], found->relationships[i], extended, extended_stride, place + i);
    }
    found->count = 0;
}

static inline void found_row(
    const Step *step, Found *found, ulong row, uint node, const uint *relationships,
    global uint *extended, ulong extended_stride, volatile global uint *appended
) {
    found->rows[found->count] = (uint)row;
    found->nodes[found->count] = node;
    for (uint i = 0; i < step->link_count; ++i) found->relationships[found->count][i] = relationships[i];
    if (++found->count == WAITING) append(step, found, extended, extended_stride, appended);
}

typedef struct {
    Found *found;
    global uint *extended;
    ulong stride;
    volatile global uint *appended;
} Output;

/* Counts the combinations that pass; appends them instead if there is an output. */
static ulong take(
    const Step *step, ulong row, uint node, const uint *counts, ulong product, uint *relationships, const Output *output
) {
    if (!output->extended || product == 0) return passing(step, row, node, counts, product, relationships);
    for (ulong which = 0; which < product; ++which) {
        if (product > 1) take_combination(step, row, node, counts, which, relationships);
        if (!passes_late(step, row, node, relationships)) continue;
        found_row(step, output->found, row, node, relationships, output->extended, output->stride, output->appended);
    }
    return 0;
}

/* Relationships between two nodes that are looked up together. */
#define LOOKED_UP 32

/* Extends one row by the relationships offset … last-1 of a link to a bound column. */
static ulong close_row(const Step *step, ulong row, uint offset, uint last, const Output *output) {
    uint link = step->links, from = old_value(step, row, step->words[link]);
    uint node = old_value(step, row, step->bound_column), counts[MAX_LINKS], relationships[MAX_LINKS], found[LOOKED_UP];
    bool is_known = step->words[link + LINK_FLAGS] & NEEDS_RELATIONSHIP;
    ulong total = 0;
    counts[0] = 1;
    while (offset < last) {
        uint some = min(last - offset, (uint)LOOKED_UP);
        if (is_known) matching_relationships(step, link, from, node, offset, offset + some, found);
        for (uint i = 0; i < some; ++i) {
            relationships[0] = found[i];
            total += take(step, row, node, counts, 1, relationships, output);
        }
        offset += some;
    }
    return total;
}

/* Extends one row by its pairs offset … last-1. */
static ulong extend_row(const Step *step, ulong row, uint base, uint offset, uint last, const Output *output) {
    if (step->bound_column != NONE) return close_row(step, row, offset, last, output);
    ulong total = 0;
    uint node, counts[MAX_LINKS], relationships[MAX_LINKS];
    uint link = link_at(step, base), from = old_value(step, row, step->words[link]), passed = 0;
    RowRanges ranges;
    if (!ranges_of_row(step, row, step->tests, step->early_end, &ranges)) return 0;
    bool sorted = has_sorted_segments(step, link);
    Segments segments = all_segments(step->words, link, false);
    while (passed < last && next_segment(&segments, step, from)) {
        uint length = segments.end - segments.begin;
        global const uint *neighbours = neighbours_of(step, segments.is_incoming);
        uint2 list = (uint2)(
            segments.begin + (offset > passed ? min(offset - passed, length) : 0), segments.begin + min(length, last - passed));
        if (sorted) list = within_ranges(&ranges, neighbours, list);
        for (uint entry = list.x; entry < list.y; ++entry) {
            node = neighbours[entry];
            ulong product = combinations(
                step, row, base, from, segments.is_incoming, segments.begin, entry, node, counts, relationships);
            if (product) total += take(step, row, node, counts, product, relationships, output);
        }
        passed += length;
    }
    return total;
}
#endif
