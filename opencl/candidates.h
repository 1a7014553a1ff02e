/* Conditions that make a data node a candidate: labels, a mask, degrees, and fitting neighbours. */
/* Maximum stack depth; deeper label programs are evaluated on the host and arrive as a node mask. */
#define LABEL_STACK 16

#define LABEL 0
#define ANY 1
#define NO_LABEL 2
#define NOT 3
#define AND 4
#define OR 5

/* The data nodes of a word (32 nodes) that have the required labels, as bits. */
static inline uint labelled(
    global const uint *query, uint row, global const uint *label_bits, uint words, uint word
) {
    uint at = query[row * NODE_WORDS + LABELS_AT];
    uint count = query[row * NODE_WORDS + LABEL_COUNT];
    if (count == 0) return NONE; /* all bits */
    uint stack[LABEL_STACK];
    uint top = 0;
    for (uint i = 0; i < count; ++i) {
        uint operation = query[at + i * LABEL_WORDS], slot = query[at + i * LABEL_WORDS + 1];
        if (operation == LABEL || operation == ANY) stack[top++] = label_bits[(ulong)slot * words + word];
        else if (operation == NO_LABEL) stack[top++] = 0;
        else if (operation == NOT) stack[top - 1] = ~stack[top - 1];
        else {
            --top;
            if (operation == AND) stack[top - 1] &= stack[top];
            else stack[top - 1] |= stack[top];
        }
    }
    return stack[0];
}

static inline bool has_degrees(
    global const uint *query, uint row, const Csr *outgoing, const Csr *incoming, uint node
) {
    uint at = query[row * NODE_WORDS + DEGREES_AT];
    uint end = at + query[row * NODE_WORDS + DEGREE_COUNT] * DEGREE_WORDS;
    for (; at < end; at += DEGREE_WORDS) {
        ulong degree = 0;
        Runs runs = all_runs(query[at], query[at + 2], query[at + 3]);
        while (degree < query[at + 1] && next_run(&runs, outgoing, incoming, query, node)) {
            degree += runs.end - runs.begin;
        }
        if (degree < query[at + 1]) return false;
    }
    return true;
}

/* The nodes among `bits` of a word that have a row's labels, mask and degrees. Other nodes are not checked. */
static inline uint checked_bits(
    global const uint *query, uint row, global const uint *label_bits, global const uint *node_masks, uint words,
    uint node_count, const Csr *outgoing, const Csr *incoming, uint word, uint bits
) {
    uint mask = query[row * NODE_WORDS + NODE_MASK];
    if (mask != NONE) bits &= node_masks[(ulong)mask * words + word];
    if (!bits) return 0;
    bits &= labelled(query, row, label_bits, words, word);
    if (word == words - 1 && (node_count & 31)) bits &= (1u << (node_count & 31)) - 1;
    if (query[row * NODE_WORDS + DEGREE_COUNT]) {
        for (uint left = bits; left; left &= left - 1) {
            uint bit = 31 - clz(left & -left);
            if (!has_degrees(query, row, outgoing, incoming, word * 32 + bit)) bits ^= 1u << bit;
        }
    }
    return bits;
}

/* Arrays that exploration reads. */
typedef struct {
    global const uint *query, *relationship_masks;
    uint mask_words, words;
} Neighbourhood;

/* True if an entry of a data node satisfies an adjacency of a query node. */
static inline bool fits_adjacency(
    const Neighbourhood *around, uint adjacency, bool is_incoming, uint node, uint entry, uint neighbour,
    global const uint *incoming_relationship_indexes, global const uint *row_bits
) {
    if (row_bits && !is_candidate(row_bits, neighbour)) return false;
    uint mask = around->query[adjacency + 2], relationship = entry;
    if (is_incoming && mask != NONE) relationship = incoming_relationship_indexes[entry];
    return fits(around->query[adjacency], is_incoming, node, neighbour, relationship, mask, around->relationship_masks,
                around->mask_words);
}

#define MISSING 0
#define FOUND 1
#define UNDECIDED 2

/* Searches the first `most` entries for a neighbour that fits, and that is a candidate if `row_bits` is not
   null. */
static inline uint find_neighbour(
    const Neighbourhood *around, const Csr *outgoing, const Csr *incoming,
    global const uint *incoming_relationship_indexes, uint adjacency, uint node, global const uint *row_bits, uint most
) {
    Runs runs = all_runs(around->query[adjacency], around->query[adjacency + 3], around->query[adjacency + 4]);
    while (next_run(&runs, outgoing, incoming, around->query, node)) {
        global const uint *neighbours = runs.is_incoming ? incoming->neighbours : outgoing->neighbours;
        for (uint entry = runs.begin; entry < runs.end; ++entry, --most) {
            if (most == 0) return UNDECIDED;
            if (fits_adjacency(around, adjacency, runs.is_incoming, node, entry, neighbours[entry],
                               incoming_relationship_indexes, row_bits)) return FOUND;
        }
    }
    return MISSING;
}

static inline void mark(volatile global uint *row_marks, uint node) {
    uint bit = 1u << (node & 31);
    /* Most neighbours of a hub's neighbours are marked already: a plain read first avoids the atomic. */
    if (!(row_marks[node >> 5] & bit)) atomic_or(&row_marks[node >> 5], bit);
}

static inline void mark_runs(
    const Neighbourhood *around, const Csr *outgoing, const Csr *incoming,
    global const uint *incoming_relationship_indexes, uint adjacency, uint node, volatile global uint *row_marks
) {
    Runs runs = all_runs(around->query[adjacency], around->query[adjacency + 3], around->query[adjacency + 4]);
    while (next_run(&runs, outgoing, incoming, around->query, node)) {
        global const uint *neighbours = runs.is_incoming ? incoming->neighbours : outgoing->neighbours;
        for (uint entry = runs.begin; entry < runs.end; ++entry) {
            if (fits_adjacency(around, adjacency, runs.is_incoming, node, entry, neighbours[entry],
                               incoming_relationship_indexes, 0)) mark(row_marks, neighbours[entry]);
        }
    }
}
