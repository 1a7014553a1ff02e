/* A cycle of four query nodes, encoded by gpugda/device/launch/cycles.py, and the lists of a node along its links.

   Each link joins an even position (0 or 2) and an odd one (1 or 3). For each type and direction, seen from the
   even position, there is a bit for each link that fits. A loop is in both rows of its node: an undirected link
   uses the one in the outgoing row.

       words[0 … 3]    candidate matrix rows of the four positions; NONE if every node fits
            [4 … 7]    relationship mask slots of the four links, or NONE
            [8]        flags
            [9]        bit 4 * i + j: links i < j must be different relationships
            [10]       number of types       [11]  number of partitions; then
       type            id, links that fit if it starts at the even position, links that fit if it ends there
       partition       coefficient, four blocks (sets of links); unused blocks are empty

   Inclusion-exclusion: the number of ways to choose four relationships between two given nodes that differ where
   they must is a sum over partitions of the links. A term is the coefficient times, for each block, the number
   of relationships that fit all of its links.
*/
#define ROWS_AT 0
#define SLOTS_AT 4
#define FLAGS_AT 8
#define TESTS_AT 9
#define TYPE_COUNT_AT 10
#define PARTITION_COUNT_AT 11
#define SQUARE_TYPES_AT 12
#define SQUARE_TYPE_WORDS 3
#define PARTITION_WORDS 5

/* Flags: SYMMETRIC if the paths over 1 and over 3 are the same; HAS_LOOPS if there are loops; MEET_AT_ODD if
   links 0 and 3, or 1 and 2, can take the same relationship; HALVED if positions 0 and 2 can be exchanged, so
   that only pairs in descending order are counted, twice; UPWARDS if a triangle is directed, and no
   relationships of the data graph lie on a directed cycle. */
#define SYMMETRIC 1u
#define HAS_LOOPS 2u
#define MEET_AT_ODD 4u
#define HALVED 8u
#define UPWARDS 16u

/* Maximum number of types of all links together, counted in both directions. */
#define MAX_LISTS 16

typedef struct {
    Csr outgoing, incoming;
    global const uint *incoming_relationship_indexes, *words, *masks, *candidates;
    uint mask_words, node_words;
} Square;

static inline bool fits_place(const Square *square, uint place, uint node) {
    uint row = square->words[ROWS_AT + place];
    return row == NONE || ((square->candidates[(ulong)row * square->node_words + (node >> 5)] >> (node & 31)) & 1);
}

static inline bool has_loops(const Square *square) {
    return square->words[FLAGS_AT] & HAS_LOOPS;
}

static inline uint slot_of(const Square *square, uint link) {
    return square->words[SLOTS_AT + link];
}

static inline global const uint *neighbours_of(const Square *square, bool is_incoming) {
    return is_incoming ? square->incoming.neighbours : square->outgoing.neighbours;
}

/* True if the mask of a link lets an entry pass. */
static inline bool passes_mask(const Square *square, uint link, bool is_incoming, uint entry) {
    uint slot = slot_of(square, link);
    if (slot == NONE) return true;
    uint relationship = is_incoming ? square->incoming_relationship_indexes[entry] : entry;
    return (square->masks[(ulong)slot * square->mask_words + (relationship >> 5)] >> (relationship & 31)) & 1;
}

/* ------------------------------------------------------------------ lists */
/* Iterates over the lists of a node along a link: while (next_list(&lists, square, node)) … lists.entries … */
typedef struct {
    uint link, turn;
    bool from_even, is_incoming, takes_loops;
    uint2 entries;
} Lists;

/* The links that fit relationships that start at the even position (`starts`), or end there. */
static inline uint links_of(const Square *square, uint type, bool starts) {
    return square->words[SQUARE_TYPES_AT + type * SQUARE_TYPE_WORDS + (starts ? 1 : 2)];
}

static inline uint2 list_of(const Square *square, uint type, bool is_incoming, uint node) {
    uint id = square->words[SQUARE_TYPES_AT + type * SQUARE_TYPE_WORDS];
    return is_incoming ? run_of(&square->incoming, node, id) : run_of(&square->outgoing, node, id);
}

static inline Lists all_lists(const Square *square, uint link, bool from_even) {
    Lists lists = {link, 0, from_even, false, true, (uint2)(0, 0)};
    return lists;
}

static inline bool next_list(Lists *lists, const Square *square, uint node) {
    while (lists->turn < 2 * square->words[TYPE_COUNT_AT]) {
        uint type = lists->turn >> 1;
        lists->is_incoming = lists->turn++ & 1;
        bool starts = lists->is_incoming != lists->from_even;
        if (!(links_of(square, type, starts) >> lists->link & 1)) continue;
        lists->takes_loops = !lists->is_incoming || !(links_of(square, type, !starts) >> lists->link & 1);
        lists->entries = list_of(square, type, lists->is_incoming, node);
        if (lists->entries.x < lists->entries.y) return true;
    }
    return false;
}

/* The first entry of a list that leads to `node` or a higher one. */
static inline uint first_entry_from(const Square *square, bool is_incoming, uint2 list, uint node) {
    global const uint *neighbours = neighbours_of(square, is_incoming);
    while (list.x < list.y) {
        uint middle = list.x + (list.y - list.x) / 2;
        if (neighbours[middle] < node) list.x = middle + 1;
        else list.y = middle;
    }
    return list.x;
}

/* The entries of a list that lead to a node. */
static inline uint2 entries_to(const Square *square, bool is_incoming, uint2 list, uint node) {
    uint first = first_entry_from(square, is_incoming, list, node), last = first;
    while (last < list.y && neighbours_of(square, is_incoming)[last] == node) ++last;
    return (uint2)(first, last);
}

static inline bool entry_fits(const Square *square, const Lists *lists, uint from, uint entry) {
    if (!lists->takes_loops && neighbours_of(square, lists->is_incoming)[entry] == from) return false;
    return passes_mask(square, lists->link, lists->is_incoming, entry);
}
