/* Ranges of indexes and keys of the added node that pass the comparisons of a step for one row (see
   comparisons.h and extension.h). As neighbour lists are sorted, an index range is a contiguous part of them. */
#define MAX_RANGES 16

typedef struct {
    uint first, last, range_count;
    KeyRange ranges[MAX_RANGES];
} RowRanges;

static inline bool is_end_of(const Step *step, uint links, uint column) {
    for (uint number = 0; number < links; ++number) {
        if (step->words[link_at(step, number)] == column) return true;
    }
    return false;
}

/* Collects the ranges of a row; false if no node passes. Comparisons beyond MAX_RANGES are ignored: callers
   have no more, or test these themselves. If `links` is not NONE, only comparisons with nodes of the first
   `links` links are used. */
static bool ranges_of_links(const Step *step, ulong row, uint from, uint to, uint links, RowRanges *found) {
    found->first = found->range_count = 0;
    found->last = NONE;
    for (uint test = from; test < to; test += TEST_WORDS) {
        uint kind = step->words[test + 2], left = step->words[test], right = step->words[test + 1];
        uint place = step->words[test + 3], own_place = step->words[test + 4];
        if (!(kind & COMPARES) || (left != step->width && right != step->width)) continue;
        if (left == step->width) {
            kind = mirrored(kind);
            left = right;
            place = own_place;
            own_place = step->words[test + 3];
        }
        if (links != NONE && !is_end_of(step, links, left)) continue;
        KeyRange range;
        if (!keys_that_pass(kind, key_of(step->keys, place, old_value(step, row, left)), &range)) return false;
        if (own_place == NONE && range.low + range.span >= range.low) {
            found->first = max(found->first, range.low);
            found->last = min(found->last, range.low + range.span);
            continue;
        }
        range.keys = own_place == NONE ? 0 : step->keys + (ulong)own_place * KEY_BLOCK;
        if (found->range_count < MAX_RANGES) found->ranges[found->range_count++] = range;
    }
    return found->first <= found->last;
}

static bool ranges_of_row(const Step *step, ulong row, uint from, uint to, RowRanges *found) {
    return ranges_of_links(step, row, from, to, NONE, found);
}

static inline bool has_limits(const RowRanges *ranges) {
    return ranges->first > 0 || ranges->last != NONE;
}

static inline bool passes_ranges(const RowRanges *ranges, uint node) {
    if (node < ranges->first || node > ranges->last) return false;
    for (uint i = 0; i < ranges->range_count; ++i) {
        uint key = ranges->ranges[i].keys ? ranges->ranges[i].keys[node] : node;
        if (key - ranges->ranges[i].low > ranges->ranges[i].span) return false;
    }
    return true;
}

/* True if the segments of a link are sorted by neighbour without further splitting. */
static inline bool has_sorted_segments(const Step *step, uint link) {
    return step->words[link + LINK_TYPE_COUNT] != NONE || (step->words[link + LINK_FLAGS] & SORTED_ROWS);
}

/* The part of a sorted list that passes. */
static inline uint2 within_ranges(const RowRanges *ranges, global const uint *neighbours, uint2 list) {
    if (ranges->first > 0) list.x = first_place_from(neighbours, list.x, list.y, ranges->first);
    if (ranges->last != NONE) list.y = first_place_from(neighbours, list.x, list.y, ranges->last + 1);
    return list;
}
