/* Counts a row's new rows as a sum over the last link's entries, each of which is read once. Needs
   special_nodes.h and row_ranges.h. */
#ifdef ON_CPU
#define NO_ROW 0xFFFFFFFFFFFFFFFFul

/* The sum of the marks of the nodes whose keys are in a range. */
static inline ulong sum_of_marks_within(
    global const uchar *restrict marks, global const uint *restrict neighbours, uint begin, uint end, const KeyRange *range
) {
    global const uint *restrict keys = range->keys;
    uint low = range->low, span = range->span;
    ulong multiplicity = 0;
    for (uint entry = begin; entry < end; ++entry) {
        uint node = neighbours[entry];
        multiplicity += keys[node] - low <= span ? marks[node] : 0;
    }
    return multiplicity;
}

static inline ulong sum_of_marks(global const uchar *restrict marks, global const uint *restrict neighbours, uint begin, uint end) {
    ulong multiplicity = 0;
    for (uint entry = begin; entry < end; ++entry) multiplicity += marks[neighbours[entry]];
    return multiplicity;
}

/* The number of a link's entries that lead to a node and fit its mask; with `only_loops`, only loops that belong
   to the other direction. */
static ulong entries_to(const Step *step, uint link, uint from, uint node, bool only_loops) {
    ulong count = 0;
    Segments segments = all_segments(step->words, link, true);
    while (next_segment(&segments, step, from)) {
        bool is_counted = loop_of(step, link, segments.is_incoming, from) == node;
        if (is_counted != only_loops) continue;
        global const uint *neighbours = neighbours_of(step, segments.is_incoming);
        uint entry = first_place_from(neighbours, segments.begin, segments.end, node);
        for (; entry < segments.end && neighbours[entry] == node; ++entry) {
            count += fits_mask(step, link, segments.is_incoming, entry);
        }
    }
    return count;
}

/* Cache of the last row's count, which the next row shares if all its links begin at the same nodes. For a step
   with one link, `of_nodes` caches one more than the count of each node that occurred. */
typedef struct {
    ulong row, count;
    global uint *of_nodes;
} Known;

static inline bool same_links(const Step *step, ulong row, ulong other) {
    uint last = step->link_count - 1;
    return leading_links(step, row, other) == last && bound_end(step, row, last) == bound_end(step, other, last);
}

static inline uint multiplicity_at(const Step *step, const Level *level, uint node) {
    return level ? level->marks[node] : !step->row_bits || has_bit(step->row_bits, node);
}

/* The sum over the last link's entries of the marks of the nodes that they lead to. */
static ulong count_entries(
    const Step *step, uint link, uint from, const Level *level, const RowRanges *ranges, ulong *work
) {
    ulong total = 0;
    bool sorted = has_sorted_segments(step, link), is_masked = step->words[link + LINK_MASK] != NONE;
    Segments segments = all_segments(step->words, link, false);
    while (next_segment(&segments, step, from)) {
        global const uint *neighbours = neighbours_of(step, segments.is_incoming);
        uint2 list = (uint2)(segments.begin, segments.end);
        if (sorted) list = within_ranges(ranges, neighbours, list);
        bool all_pass = ranges->range_count == 0 && (sorted || !has_limits(ranges));
        if (is_masked) {
            for (uint entry = list.x; entry < list.y; ++entry) {
                uint node = neighbours[entry], multiplicity = passes_ranges(ranges, node) ? multiplicity_at(step, level, node) : 0;
                if (multiplicity && fits_mask(step, link, segments.is_incoming, entry)) total += multiplicity;
            }
        } else if (all_pass && level) total += sum_of_marks(level->marks, neighbours, list.x, list.y);
        else if (all_pass && !step->row_bits) total += list.y - list.x;
        else if (level && sorted && ranges->range_count == 1 && ranges->ranges[0].keys) {
            total += sum_of_marks_within(level->marks, neighbours, list.x, list.y, &ranges->ranges[0]);
        } else {
            for (uint entry = list.x; entry < list.y; ++entry) {
                uint node = neighbours[entry];
                if (all_pass || passes_ranges(ranges, node)) total += multiplicity_at(step, level, node);
            }
        }
        *work += (list.y - list.x) / 4;
    }
    if ((flags_of(step, link) & LOOPS) && passes_ranges(ranges, from)) {
        uint multiplicity = multiplicity_at(step, level, from);
        if (multiplicity) total -= multiplicity * entries_to(step, link, from, from, true);
    }
    return total;
}

/* Counts a row that needs relationship lookups at a few special nodes only: their share is replaced by exact
   counts. */
static ulong count_row(
    const Step *step, ulong row, uint link, uint from, const Level *level, const Special *special,
    const RowRanges *ranges, Known *known, ulong *work
) {
    bool same_ranges = ranges->range_count == 0 && !has_limits(ranges);
    if (same_ranges && known->of_nodes) {
        if (!known->of_nodes[from]) known->of_nodes[from] = 1 + (uint)count_entries(step, link, from, level, ranges, work);
        known->count = known->of_nodes[from] - 1;
    } else if (!same_ranges || known->row == NO_ROW || !same_links(step, row, known->row)) {
        known->count = count_entries(step, link, from, level, ranges, work);
    }
    known->row = same_ranges ? row : NO_ROW;
    ulong total = known->count;
    for (uint i = 0; i < special->count; ++i) {
        uint node = special->nodes[i], multiplicity = multiplicity_at(step, level, node);
        if (multiplicity == 0 || !passes_ranges(ranges, node)) continue;
        if (i < special->excluded_count) {
            total -= multiplicity * entries_to(step, link, from, node, false);
        } else {
            ulong entries, new = new_combinations(step, row, node, &entries);
            total += new - multiplicity * entries;
        }
    }
    return total;
}
#endif
