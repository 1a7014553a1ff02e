/* Corrections for squares whose relationships could coincide (see squares.cl), by inclusion-exclusion. Needs
   cycle_lists.h. */
/* ------------------------------------------------------------------ relationships between two nodes */
/* Iterates over the neighbours of a node, each once. `by_links` has the numbers of relationships to the
   neighbour by the exact set of links that they fit; it is not filled in if there is only one, the most common
   case. */
typedef struct {
    uint2 entries[MAX_LISTS];
    uint node, count, first_links, by_links[16];
} Pairs;

static void all_pairs(const Square *square, uint node, Pairs *pairs) {
    for (uint list = 0; list < 2 * square->words[TYPE_COUNT_AT]; ++list) {
        pairs->entries[list] = list_of(square, list >> 1, list & 1, node);
    }
}

static uint fitting_links(const Square *square, uint list, bool from_even, bool is_loop, uint entry) {
    bool is_incoming = list & 1;
    uint links = links_of(square, list >> 1, is_incoming != from_even), fitting = 0;
    if (is_loop) links = is_incoming ? 0 : links | links_of(square, list >> 1, is_incoming == from_even);
    for (uint link = 0; link < 4; ++link) {
        if ((links >> link & 1) && passes_mask(square, link, is_incoming, entry)) fitting |= 1u << link;
    }
    return fitting;
}

static bool next_pair(Pairs *pairs, const Square *square, uint from, bool from_even) {
    uint lists = 2 * square->words[TYPE_COUNT_AT];
    pairs->node = NONE;
    for (uint list = 0; list < lists; ++list) {
        uint2 entries = pairs->entries[list];
        if (entries.x < entries.y) pairs->node = min(pairs->node, neighbours_of(square, list & 1)[entries.x]);
    }
    if (pairs->node == NONE) return false;
    pairs->count = 0;
    for (uint list = 0; list < lists; ++list) {
        global const uint *neighbours = neighbours_of(square, list & 1);
        uint2 entries = pairs->entries[list];
        for (; entries.x < entries.y && neighbours[entries.x] == pairs->node; ++entries.x) {
            uint links = fitting_links(square, list, from_even, pairs->node == from, entries.x);
            if (pairs->count == 1) {
                for (uint each = 0; each < 16; ++each) pairs->by_links[each] = each == pairs->first_links;
            }
            if (pairs->count++) ++pairs->by_links[links];
            else pairs->first_links = links;
        }
        pairs->entries[list] = entries;
    }
    return true;
}

/* The number of relationships of a pair that fit all links of a set. */
static inline long fitting_all(const Pairs *pairs, uint links) {
    if (pairs->count == 1) return (pairs->first_links & links) == links;
    long sum = 0;
    for (uint each = links; each < 16; ++each) sum += (each & links) == links ? pairs->by_links[each] : 0;
    return sum;
}

static inline bool must_differ(const Square *square, uint one, uint other) {
    return square->words[TESTS_AT] >> (4 * one + other) & 1;
}

/* The number of relationships of a pair that two links, which must differ, could both take. */
static inline long shared(const Square *square, const Pairs *pairs, uint one, uint other) {
    return must_differ(square, one, other) ? fitting_all(pairs, 1u << one | 1u << other) : 0;
}

static inline long product_of(const Pairs *pairs, uint one, uint other) {
    return fitting_all(pairs, 1u << one) * fitting_all(pairs, 1u << other);
}

/* The number of ways to choose relationships for all four links between one pair. */
static long all_between(const Square *square, const Pairs *pairs) {
    if (pairs->count == 1 && square->words[TESTS_AT]) return 0;
    long sum = 0;
    uint at = SQUARE_TYPES_AT + square->words[TYPE_COUNT_AT] * SQUARE_TYPE_WORDS;
    for (uint i = 0; i < square->words[PARTITION_COUNT_AT]; ++i, at += PARTITION_WORDS) {
        long product = (int)square->words[at];
        for (uint block = 1; block < PARTITION_WORDS && square->words[at + block]; ++block) {
            product *= fitting_all(pairs, square->words[at + block]);
        }
        sum += product;
    }
    return sum;
}

/* ------------------------------------------------------------------ corrections */
/* Corrections for one node at two opposite positions.

       place 0   Not counted so far. The pairs of relationships over 1 and over 3 are independent unless both lead to
                 the same node.
       place 1   Counted, for different nodes at positions 0 and 2, as if the relationships to one of them need not differ.
*/
static ulong opposite_same(const Square *square, uint node, uint place, ulong *work) {
    long x = 0, shared_x = 0, y = 0, shared_y = 0, together = 0;
    Pairs pairs;
    all_pairs(square, node, &pairs);
    while (next_pair(&pairs, square, node, place == 0)) {
        ++*work;
        uint other = pairs.node;
        uint first = place == 0 ? 1 : 0, second = first + 2;
        bool fits_first = fits_place(square, first, other), fits_second = fits_place(square, second, other);
        if (place == 0) {
            long one = fits_first ? product_of(&pairs, 0, 1) - shared(square, &pairs, 0, 1) : 0;
            long two = fits_second ? product_of(&pairs, 2, 3) - shared(square, &pairs, 2, 3) : 0;
            x += one;
            y += two;
            together -= one * two;
            if (fits_first && fits_second) together += all_between(square, &pairs);
        } else {
            long one = fits_first ? product_of(&pairs, 0, 3) : 0, one_shared = fits_first ? shared(square, &pairs, 0, 3) : 0;
            long two = fits_second ? product_of(&pairs, 1, 2) : 0, two_shared = fits_second ? shared(square, &pairs, 1, 2) : 0;
            x += one;
            shared_x += one_shared;
            y += two;
            shared_y += two_shared;
            together += one * two_shared + one_shared * two - one_shared * two_shared;
        }
    }
    return place == 0 ? x * y + together : together - x * shared_y - shared_x * y + shared_x * shared_y;
}

/* The number of loops at a node that fit a link. */
static uint loops_at(const Square *square, uint link, uint node) {
    uint count = 0;
    for (uint type = 0; type < square->words[TYPE_COUNT_AT]; ++type) {
        if (!((links_of(square, type, true) | links_of(square, type, false)) >> link & 1)) continue;
        uint2 loops = entries_to(square, false, list_of(square, type, false, node), node);
        for (uint entry = loops.x; entry < loops.y; ++entry) count += passes_mask(square, link, false, entry);
    }
    return count;
}

/* The same, cached for each node as number + 1 if `known` is not null. */
static inline uint known_loops(const Square *square, uint link, uint node, global uint *known) {
    if (!known) return loops_at(square, link, node);
    if (!known[node]) known[node] = 1 + loops_at(square, link, node);
    return known[node] - 1;
}

/* Subtracts two loops, at `node` at position 0 and at another node at position 2, with one and the same
   relationship for the two links between these: links 0 and 2 are the loops, and 1 and 3 lie between, or the
   other way round. `known`: 2 * node_count words, initially 0, or null. */
static ulong over_loops(const Square *square, uint node, uint node_count, global uint *known) {
    long sum = 0;
    long loops[2] = {
        must_differ(square, 1, 3) && fits_place(square, 1, node) ? loops_at(square, 0, node) : 0,
        must_differ(square, 0, 2) && fits_place(square, 3, node) ? loops_at(square, 3, node) : 0,
    };
    if (!loops[0] && !loops[1]) return 0;
    for (uint list = 0; list < 2 * square->words[TYPE_COUNT_AT]; ++list) {
        bool is_incoming = list & 1;
        uint2 entries = list_of(square, list >> 1, is_incoming, node);
        // Of the two links between the nodes, one is seen from its even position, the other from its odd one.
        uint even = links_of(square, list >> 1, !is_incoming), odd = links_of(square, list >> 1, is_incoming);
        for (uint entry = entries.x; entry < entries.y; ++entry) {
            uint other = neighbours_of(square, is_incoming)[entry];
            if (other == node || !fits_place(square, 2, other)) continue;
            for (uint turn = 0; turn < 2; ++turn) {
                uint from_even = turn ? 0 : 3, from_odd = turn ? 2 : 1;
                if (!loops[turn] || !(even >> from_even & 1) || !(odd >> from_odd & 1)) continue;
                if (!fits_place(square, turn ? 1 : 3, other)) continue;
                if (!passes_mask(square, from_even, is_incoming, entry) || !passes_mask(square, from_odd, is_incoming, entry)) continue;
                sum -= loops[turn] * known_loops(square, turn ? 1 : 2, other, known ? known + turn * (ulong)node_count : 0);
            }
        }
    }
    return sum;
}
