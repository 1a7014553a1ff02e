/* The nodes at which relationships of a row could coincide. Needs marks.h, excluded_nodes.h and whole_rows.h.

   Two relationships are the same only if both their ends are. A link's relationship ends at the added node. So
   it can equal one of the row only if the added node is an end of that one (words before the step name its
   columns), and it can equal another link's only if both links begin at the same node. */
#ifdef ON_CPU
/* Special nodes of a row: the first ones are excluded; at the others relationships could coincide. */
typedef struct {
    uint nodes[3 * MAX_EXCLUDED];
    uint excluded_count, count;
    bool is_any;
} Special;

static void add_special(Special *special, uint node) {
    for (uint i = 0; i < special->count; ++i) {
        if (special->nodes[i] == node) return;
    }
    special->nodes[special->count++] = node;
}

static void find_special(const Step *step, ulong row, uint ends, Special *special) {
    special->count = special->excluded_count = excluded_nodes(step, row, special->nodes);
    special->is_any = false;
    for (uint test = step->tests; test < step->tests_end; test += TEST_WORDS) {
        if (!is_on_relationships(step, test)) continue;
        uint left = step->words[test], right = step->words[test + 1], other = max(left, right) - step->width - 1;
        uint from = bound_end(step, row, other);
        if (min(left, right) > step->width) {
            special->is_any |= from == bound_end(step, row, min(left, right) - step->width - 1);
            continue;
        }
        uint source = old_value(step, row, step->words[ends]), target = old_value(step, row, step->words[ends + 1]);
        ends += 2;
        if (from == source) add_special(special, target);
        if (from == target) add_special(special, source);
    }
}

static inline uint special_place(const Special *special, uint node) {
    uint place = 0;
    while (place < special->count && special->nodes[place] != node) ++place;
    return place;
}

/* Counts or appends all combinations to a node by looking up their relationships. */
static ulong take_exactly(const Step *step, ulong row, uint node, const Output *output) {
    uint counts[MAX_LINKS], relationships[MAX_LINKS];
    ulong product = combinations(step, row, NONE, 0, false, 0, 0, node, counts, relationships);
    return take(step, row, node, counts, product, relationships, output);
}

/* True if a relationship of a link differs from those of the row that tests compare with it. */
static inline bool is_new(const Step *step, ulong row, uint number, uint relationship) {
    uint column = step->width + 1 + number;
    for (uint test = step->tests; test < step->tests_end; test += TEST_WORDS) {
        uint left = step->words[test], right = step->words[test + 1], other = left == column ? right : left;
        if ((step->words[test + 2] & COMPARES) || (left != column && right != column) || other >= step->width) continue;
        if (old_value(step, row, other) == relationship) return false;
    }
    return true;
}

/* The number of combinations of new relationships to a node, if no two links can take the same one. `entries`:
   entries of the last link. */
static ulong new_combinations(const Step *step, ulong row, uint node, ulong *entries) {
    ulong product = 1, count = 0;
    for (uint number = 0; number < step->link_count; ++number) {
        uint link = link_at(step, number), from = bound_end(step, row, number);
        ulong all = 0;
        count = 0;
        Segments segments = all_segments(step->words, link, true);
        while (next_segment(&segments, step, from)) {
            if (loop_of(step, link, segments.is_incoming, from) == node) continue;
            global const uint *neighbours = neighbours_of(step, segments.is_incoming);
            uint entry = first_place_from(neighbours, segments.begin, segments.end, node);
            for (; entry < segments.end && neighbours[entry] == node; ++entry) {
                if (!fits_mask(step, link, segments.is_incoming, entry)) continue;
                ++all;
                count += is_new(step, row, number, relationship_of(step, segments.is_incoming, entry));
            }
        }
        product *= flags_of(step, link) & SEVERAL ? count : min(count, (ulong)1);
        *entries = all;
    }
    return product;
}
#endif
