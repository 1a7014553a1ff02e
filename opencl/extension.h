/* One step of the strategy that joins node by node, encoded by gpugda/device/launch/extend.py.

   A step adds one query node to partial embeddings or, with a bound column, one query relationship between two
   nodes that are there. A link is a query relationship between the added node and a node of the row, seen from the
   latter.

       words[at + 0]   number of old columns that are kept
                 1     number of tests, plus 2^16 * the number of leading tests that need no relationship of the step
                 2     number of links
                 3     candidate matrix row of the added node; NONE if every neighbour fits
                 4     its column in the new table, or NONE
                 5     bound column (the other end of the only link); NONE if a node is added
                 6 …   kept columns, tests, links
       before words[at]: for each test of a link and an old relationship, the columns of both ends of the latter
       test            left, right, equal, left2, right2: (left == right) must be `equal`; with a second pair, not both
                       pairs may be equal
            or         left, right, outcomes that pass, place of left keys, place of right keys (see comparisons.h)
       link            column of the bound end, directions, first type, number of types, mask slot, relationship column
                       or NONE, flags

   A test names an old column (0 … width-1), the added node (width) or the relationship of link l (width + 1 +
   l).
*/
#include "comparisons.h"

#define STEP_KEPT_AT 6
#define TEST_WORDS 5
#define LINK_WORDS 7
#define MAX_LINKS 8

#define LINK_DIRECTIONS 1
#define LINK_TYPES 2
#define LINK_TYPE_COUNT 3
#define LINK_MASK 4
#define LINK_RELATIONSHIP_COLUMN 5
#define LINK_FLAGS 6

/* The relationship is tested, masked or kept, so it must be known. */
#define NEEDS_RELATIONSHIP 1u
/* As the base, a neighbour counts once for any number of relationships to it; a later step binds these. */
#define DISTINCT 2u
/* Several relationships may lead to one node: each is a match of its own. */
#define SEVERAL 4u
/* Rows of the data graph are sorted by neighbour, even if any type fits. */
#define SORTED_ROWS 8u

/* One type, or any type in a graph with one: at most one sorted list per direction. */
#define PLAIN 16u

/* The link is undirected, and the data graph has loops of its types. */
#define LOOPS 32u

/* Any type fits, and there are several; both directions of the whole data graph are there, so that relationships between
   two nodes can be found in the row of either. */
#define EITHER_END 64u

#define EVERY_ONE 0xFFFFFFFFu

typedef struct {
    Csr outgoing, incoming;
    global const uint *incoming_relationship_indexes, *outgoing_relationship_indexes, *words, *masks, *row_bits, *table, *keys;
    uint mask_words, kept, kept_count, tests, early_end, tests_end, links, link_count, node_column, bound_column, width;
    ulong stride;
} Step;

#define STEP_PARAMETERS \
    GRAPH_PARAMETERS, global const uint *words, uint at, global const uint *masks, uint mask_words, \
    global const uint *candidates, uint node_words, global const uint *table, ulong stride, uint width, \
    global const uint *keys

#define STEP_ARGUMENTS {OUTGOING_CSR, INCOMING_CSR, incoming_relationship_indexes, outgoing_relationship_indexes, words, masks, \
    words[at + 3] == NONE ? (global const uint *)0 : candidates + (ulong)words[at + 3] * node_words, table, keys, \
    mask_words, at + STEP_KEPT_AT, words[at], at + STEP_KEPT_AT + words[at], \
    at + STEP_KEPT_AT + words[at] + (words[at + 1] >> 16) * TEST_WORDS, \
    at + STEP_KEPT_AT + words[at] + (words[at + 1] & 0xFFFF) * TEST_WORDS, \
    at + STEP_KEPT_AT + words[at] + (words[at + 1] & 0xFFFF) * TEST_WORDS, words[at + 2], \
    words[at + 4], words[at + 5], width, stride}

static inline uint old_value(const Step *step, ulong row, uint column) {
    return step->table[column * step->stride + row];
}

static inline uint link_at(const Step *step, uint number) {
    return step->links + number * LINK_WORDS;
}

static inline bool has_bit(global const uint *bits, uint place) {
    return (bits[place >> 5] >> (place & 31)) & 1;
}

/* ------------------------------------------------------------------ segments */
/* Iterates over the segments of a node's entries that a link allows: whole rows or runs of one type. With
   `sorted`, each segment is sorted by neighbour. */
typedef struct {
    uint directions, types_at, per_direction, turn, run, last_run;
    bool any_type, whole_rows, is_incoming;
    uint begin, end;
} Segments;

static inline Segments all_segments(global const uint *words, uint link, bool sorted) {
    Segments segments;
    segments.directions = words[link + LINK_DIRECTIONS];
    segments.types_at = words[link + LINK_TYPES];
    segments.any_type = words[link + LINK_TYPE_COUNT] == NONE;
    segments.per_direction = segments.any_type ? 1 : words[link + LINK_TYPE_COUNT];
    segments.whole_rows = !sorted || (words[link + LINK_FLAGS] & SORTED_ROWS);
    segments.turn = segments.run = segments.last_run = 0;
    segments.is_incoming = false;
    return segments;
}

/* Always inlined: LLVM takes it for too long, and joins in memory took 1.3 times as long on a CPU. */
static inline __attribute__((always_inline)) bool next_segment(Segments *segments, const Step *step, uint node) {
    for (;;) {
        if (segments->run < segments->last_run) {
            const Csr *csr = segments->is_incoming ? &step->incoming : &step->outgoing;
            segments->begin = csr->run_starts[segments->run];
            segments->end = csr->run_starts[++segments->run];
            return true;
        }
        if (segments->turn == 2 * segments->per_direction) return false;
        uint turn = segments->turn++;
        segments->is_incoming = turn >= segments->per_direction;
        if (!(segments->directions & (segments->is_incoming ? INCOMING : OUTGOING))) continue;
        const Csr *csr = segments->is_incoming ? &step->incoming : &step->outgoing;
        if (segments->any_type && !segments->whole_rows && csr->run_types) {
            segments->run = csr->run_offsets[node];
            segments->last_run = csr->run_offsets[node + 1];
            continue;
        }
        if (segments->any_type && !segments->whole_rows && csr->run_offsets) {
            uint2 runs = runs_in_part(csr->run_offsets, node);
            segments->run = runs.x;
            segments->last_run = runs.y;
            continue;
        }
        uint place = segments->is_incoming ? turn - segments->per_direction : turn;
        uint2 run = run_of(csr, node, segments->any_type ? NONE : step->words[segments->types_at + place]);
        segments->begin = run.x;
        segments->end = run.y;
        if (run.x < run.y) return true;
    }
}

static inline global const uint *neighbours_of(const Step *step, bool is_incoming) {
    return is_incoming ? step->incoming.neighbours : step->outgoing.neighbours;
}

/* The only type of a plain link; NONE stands for any type in a graph with one. */
static inline uint plain_type(const Step *step, uint link) {
    return step->words[link + LINK_TYPE_COUNT] == NONE ? NONE : step->words[step->words[link + LINK_TYPES]];
}

/* Returned by value: selecting one of two addresses would keep the whole step in slow memory. */
static inline Csr csr_of(const Step *step, bool is_incoming) {
    Csr csr = step->outgoing;
    if (is_incoming) csr = step->incoming;
    return csr;
}

/* The list of a plain link in one direction. */
static inline uint2 plain_list(const Step *step, uint link, bool is_incoming, uint from) {
    const Csr csr = csr_of(step, is_incoming);
    return run_of(&csr, from, plain_type(step, link));
}

/* The number of entries of a link, fitting or not. */
static inline uint entry_count(const Step *step, uint link, uint from) {
    uint count = 0, directions = step->words[link + LINK_DIRECTIONS];
    if (step->words[link + LINK_FLAGS] & PLAIN) {
        for (uint incoming = 0; incoming < 2; ++incoming) {
            if (!(directions & (incoming ? INCOMING : OUTGOING))) continue;
            uint2 list = plain_list(step, link, incoming, from);
            count += list.y - list.x;
        }
        return count;
    }
    Segments segments = all_segments(step->words, link, false);
    while (next_segment(&segments, step, from)) count += segments.end - segments.begin;
    return count;
}

/* True for the second copy of a loop: a loop is in both rows of its node, and an undirected link uses the
   outgoing one. */
static inline bool is_second_side(uint directions, bool is_incoming, uint from, uint node) {
    return is_incoming && (directions & OUTGOING) && from == node;
}

static inline uint relationship_of(const Step *step, bool is_incoming, uint entry) {
    return relationship_at(is_incoming, entry, step->incoming_relationship_indexes, step->outgoing_relationship_indexes);
}

/* True if the relationship of an entry passes the link's mask; then stores it if it must be known. */
static inline bool take_relationship(
    const Step *step, uint link, bool is_incoming, uint entry, uint *relationship
) {
    if (!(step->words[link + LINK_FLAGS] & NEEDS_RELATIONSHIP)) return true;
    uint found = relationship_of(step, is_incoming, entry), mask = step->words[link + LINK_MASK];
    if (mask != NONE && !has_bit(step->masks + (ulong)mask * step->mask_words, found)) return false;
    *relationship = found;
    return true;
}

/* The number of fitting relationships of a sorted list that lead to a node, up to `most`; stores the last one. */
static inline uint matches_in(
    const Step *step, uint link, bool is_incoming, uint begin, uint end, uint node, uint most, uint *relationship
) {
    global const uint *neighbours = neighbours_of(step, is_incoming);
    uint count = 0, entry = first_place_from(neighbours, begin, end, node);
    for (; entry < end && neighbours[entry] == node && count < most; ++entry) {
        count += take_relationship(step, link, is_incoming, entry, relationship);
    }
    return count;
}

#ifdef ON_CPU
/* In a row with few entries per run, reading all takes less time than a search in each run. */
#define READ_PER_RUN 8

static inline bool has_both_directions(const Step *step) {
    return step->outgoing.run_types && step->incoming.run_types && step->outgoing.neighbours && step->incoming.neighbours
        && step->incoming_relationship_indexes;
}

static inline uint row_length(const Step *step, uint directions, uint node) {
    uint length = 0;
    for (uint incoming = 0; incoming < 2; ++incoming) {
        if (!(directions & (incoming ? INCOMING : OUTGOING))) continue;
        const Csr csr = csr_of(step, incoming);
        uint2 row = run_of(&csr, node, NONE);
        length += row.y - row.x;
    }
    return length;
}

/* The directions in which relationships of a link are found, after `from` and `node` are exchanged if that end's row
   has fewer entries. */
static inline uint from_shorter_row(const Step *step, uint link, uint *from, uint *node) {
    uint directions = step->words[link + LINK_DIRECTIONS], one = *from;
    uint opposite = (directions & OUTGOING ? INCOMING : 0) | (directions & INCOMING ? OUTGOING : 0);
    if (row_length(step, opposite, *node) >= row_length(step, directions, one)) return directions;
    *from = *node;
    *node = one;
    return opposite;
}

/* The same for relationships of any type, which are found in the row of either end. */
static uint matches_of_any_type(
    const Step *step, uint link, uint from, uint node, uint most, uint *relationship
) {
    uint count = 0, directions = from_shorter_row(step, link, &from, &node);
    for (uint incoming = 0; incoming < 2; ++incoming) {
        if (!(directions & (incoming ? INCOMING : OUTGOING))) continue;
        if (is_second_side(directions, incoming, from, node)) continue;
        const Csr csr = csr_of(step, incoming);
        uint run = csr.run_offsets[from], last = csr.run_offsets[from + 1];
        uint begin = csr.run_starts[run], end = csr.run_starts[last];
        if (end - begin <= (last - run) * READ_PER_RUN) {
            for (uint entry = begin; entry < end && count < most; ++entry) {
                if (csr.neighbours[entry] == node) count += take_relationship(step, link, incoming, entry, relationship);
            }
            continue;
        }
        for (; run < last && count < most; ++run) {
            begin = csr.run_starts[run];
            end = csr.run_starts[run + 1];
            count += matches_in(step, link, incoming, begin, end, node, most - count, relationship);
        }
    }
    return count;
}
#endif

/* The same for all lists of a link. */
static inline uint matches(
    const Step *step, uint link, uint from, uint node, uint most, uint *relationship
) {
    uint count = 0, directions = step->words[link + LINK_DIRECTIONS];
    if (step->words[link + LINK_FLAGS] & PLAIN) {
        for (uint incoming = 0; incoming < 2; ++incoming) {
            if (!(directions & (incoming ? INCOMING : OUTGOING)) || count == most) continue;
            if (is_second_side(directions, incoming, from, node)) continue;
            uint2 list = plain_list(step, link, incoming, from);
            count += matches_in(step, link, incoming, list.x, list.y, node, most - count, relationship);
        }
        return count;
    }
#ifdef ON_CPU
    if ((step->words[link + LINK_FLAGS] & EITHER_END) && has_both_directions(step)) {
        return matches_of_any_type(step, link, from, node, most, relationship);
    }
#endif
    Segments segments = all_segments(step->words, link, true);
    while (count < most && next_segment(&segments, step, from)) {
        if (is_second_side(directions, segments.is_incoming, from, node)) continue;
        count += matches_in(
            step, link, segments.is_incoming, segments.begin, segments.end, node, most - count, relationship);
    }
    return count;
}

#ifdef ON_CPU
/* Stores the relationships number `first` to last-1 of those by which a link leads to a node. */
static void matching_relationships(
    const Step *step, uint link, uint from, uint node, uint first, uint last, uint *found
) {
    uint count = 0, directions = step->words[link + LINK_DIRECTIONS], relationship = 0;
    if ((step->words[link + LINK_FLAGS] & EITHER_END) && has_both_directions(step)) {
        directions = from_shorter_row(step, link, &from, &node);
    }
    Segments segments = all_segments(step->words, link, true);
    segments.directions = directions;
    while (count < last && next_segment(&segments, step, from)) {
        if (is_second_side(directions, segments.is_incoming, from, node)) continue;
        global const uint *neighbours = neighbours_of(step, segments.is_incoming);
        uint entry = first_place_from(neighbours, segments.begin, segments.end, node);
        for (; entry < segments.end && neighbours[entry] == node && count < last; ++entry) {
            if (!take_relationship(step, link, segments.is_incoming, entry, &relationship)) continue;
            if (count >= first) found[count - first] = relationship;
            ++count;
        }
    }
}
#endif

/* True if an earlier entry of the link leads to the same node. `begin` is the first entry of the same row or
   run. */
static inline bool is_repeated(
    const Step *step, uint link, uint from, bool is_incoming, uint begin, uint entry, uint node
) {
    uint directions = step->words[link + LINK_DIRECTIONS];
    if (entry > begin && neighbours_of(step, is_incoming)[entry - 1] == node) return true;
    if ((step->words[link + LINK_FLAGS] & PLAIN) && directions != (INCOMING | OUTGOING)) return false;
    Segments segments = all_segments(step->words, link, true);
    while (next_segment(&segments, step, from)) {
        if (segments.is_incoming == is_incoming && entry >= segments.begin && entry < segments.end) return false;
        global const uint *neighbours = neighbours_of(step, segments.is_incoming);
        uint other = first_place_from(neighbours, segments.begin, segments.end, node);
        if (other < segments.end && neighbours[other] == node) return true;
    }
    return false;
}

/* Finds the base of a row: the link with the fewest entries; for a link to a bound column, entries that lead
   there. */
static inline uint shortest_list(const Step *step, ulong row, uint *base) {
    uint shortest = NONE, relationship;
    for (uint number = 0; number < step->link_count && shortest > 0; ++number) {
        uint link = link_at(step, number), from = old_value(step, row, step->words[link]);
        uint length = step->bound_column == NONE
            ? entry_count(step, link, from)
            : matches(step, link, from, old_value(step, row, step->bound_column), EVERY_ONE, &relationship);
        if (length < shortest) {
            shortest = length;
            *base = number;
        }
    }
    return shortest;
}

/* ------------------------------------------------------------------ rows */
static inline uint tested_value(
    const Step *step, ulong row, uint node, const uint *relationships, uint column
) {
    if (column < step->width) return old_value(step, row, column);
    return column == step->width ? node : relationships[column - step->width - 1];
}

static inline bool passes_test(const Step *step, uint test, ulong row, uint node, const uint *relationships) {
    uint kind = step->words[test + 2], second = step->words[test + 3];
    uint left = tested_value(step, row, node, relationships, step->words[test]);
    uint right = tested_value(step, row, node, relationships, step->words[test + 1]);
    if (kind & COMPARES) {
        uint left_key = key_of(step->keys, second, left);
        return outcome_passes(kind, left_key, key_of(step->keys, step->words[test + 4], right));
    }
    bool equal = left == right;
    if (second != NONE && equal) {
        equal = tested_value(step, row, node, relationships, second)
            == tested_value(step, row, node, relationships, step->words[test + 4]);
    }
    return equal == (bool)kind;
}

static inline bool passes_tests(const Step *step, ulong row, uint node, const uint *relationships) {
    for (uint test = step->tests; test < step->tests_end; test += TEST_WORDS) {
        if (!passes_test(step, test, row, node, relationships)) return false;
    }
    return true;
}

/* Tests that need no relationship of the step run before any list is searched, the others when these are known. */
static inline bool passes_early(const Step *step, ulong row, uint node) {
    for (uint test = step->tests; test < step->early_end; test += TEST_WORDS) {
        if (!passes_test(step, test, row, node, 0)) return false;
    }
    return true;
}

static inline bool passes_late(const Step *step, ulong row, uint node, const uint *relationships) {
    for (uint test = step->early_end; test < step->tests_end; test += TEST_WORDS) {
        if (!passes_test(step, test, row, node, relationships)) return false;
    }
    return true;
}

/* The number of combinations of relationships by which the links lead to a node. Stores the number of
   relationships of each link, and one of them. Link `base` has one relationship, the entry. */
static inline ulong combinations(
    const Step *step, ulong row, uint base, uint from, bool is_incoming, uint begin, uint entry, uint node,
    uint *counts, uint *relationships
) {
    ulong product = 1;
    if (step->row_bits && !has_bit(step->row_bits, node)) return 0;
    if (!passes_early(step, row, node)) return 0;
    for (uint number = 0; number < step->link_count; ++number) {
        uint link = link_at(step, number), flags = step->words[link + LINK_FLAGS];
        counts[number] = 1;
        if (number == base && !(flags & DISTINCT)) {
            if (is_second_side(step->words[link + LINK_DIRECTIONS], is_incoming, from, node)) return 0;
            if (!take_relationship(step, link, is_incoming, entry, &relationships[number])) return 0;
            continue;
        }
        uint end = from;
        if (number == base) {
            if (is_repeated(step, link, from, is_incoming, begin, entry, node)) return 0;
            if (!(flags & (NEEDS_RELATIONSHIP | SEVERAL))) continue;
        } else {
            end = old_value(step, row, step->words[link]);
        }
        uint count = matches(step, link, end, node, flags & SEVERAL ? EVERY_ONE : 1, &relationships[number]);
        if (count == 0) return 0;
        counts[number] = count;
        product *= count;
    }
    return product;
}

/* Stores the relationships of combination `which`. */
static inline void take_combination(
    const Step *step, ulong row, uint node, const uint *counts, ulong which, uint *relationships
) {
    for (uint number = 0; number < step->link_count; ++number) {
        if (counts[number] == 1) continue;
        uint link = link_at(step, number), nth = (uint)(which % counts[number]);
        which /= counts[number];
        matches(step, link, old_value(step, row, step->words[link]), node, nth + 1, &relationships[number]);
    }
}

/* The number of combinations that pass the tests. */
static inline ulong passing(
    const Step *step, ulong row, uint node, const uint *counts, ulong product, uint *relationships
) {
    if (product == 0 || step->early_end == step->tests_end) return product;
    if (product == 1) return passes_late(step, row, node, relationships);
    ulong found = 0;
    for (ulong which = 0; which < product; ++which) {
        take_combination(step, row, node, counts, which, relationships);
        found += passes_late(step, row, node, relationships);
    }
    return found;
}

/* The offset-th entry of a row's base: stores the node it leads to; returns the number of combinations. */
static inline ulong nth_combinations(
    const Step *step, ulong row, uint base, uint offset, uint *node, uint *counts, uint *relationships
) {
    uint link = link_at(step, base), from = old_value(step, row, step->words[link]);
    if (step->bound_column != NONE) {
        *node = old_value(step, row, step->bound_column);
        if (step->words[link + LINK_FLAGS] & NEEDS_RELATIONSHIP) {
            matches(step, link, from, *node, offset + 1, relationships);
        }
        counts[0] = 1;
        return 1;
    }
    Segments segments = all_segments(step->words, link, false);
    while (next_segment(&segments, step, from) && offset >= segments.end - segments.begin) {
        offset -= segments.end - segments.begin;
    }
    uint entry = segments.begin + offset;
    *node = neighbours_of(step, segments.is_incoming)[entry];
    return combinations(step, row, base, from, segments.is_incoming, segments.begin, entry, *node, counts,
                        relationships);
}

static inline void write_row(
    const Step *step, ulong row, uint node, const uint *relationships,
    global uint *extended, ulong extended_stride, ulong place
) {
    for (uint column = 0; column < step->kept_count; ++column) {
        extended[column * extended_stride + place] = old_value(step, row, step->words[step->kept + column]);
    }
    if (step->node_column != NONE) extended[step->node_column * extended_stride + place] = node;
    for (uint number = 0; number < step->link_count; ++number) {
        uint column = step->words[link_at(step, number) + LINK_RELATIONSHIP_COLUMN];
        if (column != NONE) extended[column * extended_stride + place] = relationships[number];
    }
}
