/* Candidates of query nodes: labels and degrees, collection, neighbourhood.

   Candidates are a matrix of bits, one row of `words` words per query node (see query_graph.h for the order of rows). A batch is
   the rows first_row … first_row+row_count-1.

       check_candidates     one item per word of a batch: up to 32 data nodes at once
       collect_candidates   one item per word of a batch: writes the node indexes of its bits, rising, row after row
       explore_candidates   one item per collected candidate: takes it away, or marks its neighbours

   Exploration reads `candidates` and takes away in `kept`, a copy, so that the result hangs on no order of work items.
*/
#include "work_split.h"
#include "csr.h"
#include "query_graph.h"

/* Deeper label programs are evaluated by the host and come as a node mask. */
#define LABEL_STACK 16

#define LABEL 0
#define ANY 1
#define NO_LABEL 2
#define NOT 3
#define AND 4
#define OR 5

/* Which of the 32 data nodes of a word have the labels asked for. */
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

kernel void check_candidates(
    GRAPH_PARAMETERS, global const uint *query, global const uint *label_bits,
    global const uint *node_masks, global const uint *marks,
    uint first_row, uint row_count, uint words, uint node_count, global uint *candidates
) {
    const Csr outgoing = OUTGOING_CSR, incoming = INCOMING_CSR;
    FOR_EACH(i, (ulong)row_count * words) {
        uint row = first_row + (uint)(i / words), word = (uint)(i % words);
        ulong place = (ulong)row * words + word;
        uint mask = query[row * NODE_WORDS + NODE_MASK];
        uint bits = marks && query[row * NODE_WORDS + LEVEL] > 0 ? marks[place] : NONE;
        if (bits) bits &= labelled(query, row, label_bits, words, word);
        if (mask != NONE) bits &= node_masks[(ulong)mask * words + word];
        if (word == words - 1 && (node_count & 31)) bits &= (1u << (node_count & 31)) - 1;
        if (query[row * NODE_WORDS + DEGREE_COUNT]) {
            for (uint left = bits; left; left &= left - 1) {
                uint bit = 31 - clz(left & -left);
                if (!has_degrees(query, row, &outgoing, &incoming, word * 32 + bit)) bits ^= 1u << bit;
            }
        }
        candidates[place] = bits;
    }
}

/* ranks[i]: candidates in the words of the batch before word i; one more at the end. */
kernel void collect_candidates(
    global const uint *candidates, global const ulong *ranks, uint first_row, uint row_count, uint words,
    global uint *kept, global uint *nodes
) {
    ulong first = (ulong)first_row * words;
    FOR_EACH(i, (ulong)row_count * words) {
        uint bits = candidates[first + i], base = (uint)(i % words) * 32;
        ulong place = ranks[i];
        kept[first + i] = bits;
        for (uint left = bits; left; left &= left - 1) nodes[place++] = base + 31 - clz(left & -left);
    }
}

/* Arrays that exploration looks into. */
typedef struct {
    global const uint *query, *relationship_masks;
    uint mask_words, words;
} Neighbourhood;

/* Is there a fitting neighbour, and a candidate where `row_bits` are known? */
static inline bool has_neighbour(
    const Neighbourhood *around, const Csr *outgoing, const Csr *incoming,
    global const uint *incoming_relationship_indexes, uint adjacency, uint node, global const uint *row_bits
) {
    global const uint *query = around->query;
    uint directions = query[adjacency], mask = query[adjacency + 2];
    Runs runs = all_runs(directions, query[adjacency + 3], query[adjacency + 4]);
    while (next_run(&runs, outgoing, incoming, query, node)) {
        for (uint entry = runs.begin; entry < runs.end; ++entry) {
            uint neighbour = runs.is_incoming ? incoming->neighbours[entry] : outgoing->neighbours[entry];
            if (row_bits && !is_candidate(row_bits, neighbour)) continue;
            uint relationship = entry;
            if (runs.is_incoming && mask != NONE) relationship = incoming_relationship_indexes[entry];
            if (fits(directions, runs.is_incoming, node, neighbour, relationship, mask,
                     around->relationship_masks, around->mask_words)) return true;
        }
    }
    return false;
}

static inline void mark_neighbours(
    const Neighbourhood *around, const Csr *outgoing, const Csr *incoming,
    global const uint *incoming_relationship_indexes, uint adjacency, uint node, volatile global uint *row_marks
) {
    global const uint *query = around->query;
    uint directions = query[adjacency], mask = query[adjacency + 2];
    Runs runs = all_runs(directions, query[adjacency + 3], query[adjacency + 4]);
    while (next_run(&runs, outgoing, incoming, query, node)) {
        for (uint entry = runs.begin; entry < runs.end; ++entry) {
            uint neighbour = runs.is_incoming ? incoming->neighbours[entry] : outgoing->neighbours[entry];
            uint relationship = entry;
            if (runs.is_incoming && mask != NONE) relationship = incoming_relationship_indexes[entry];
            if (!fits(directions, runs.is_incoming, node, neighbour, relationship, mask,
                      around->relationship_masks, around->mask_words)) continue;
            uint bit = 1u << (neighbour & 31);
            /* Most neighbours of a hub's neighbours are marked already: look before the atomic. */
            if (!(row_marks[neighbour >> 5] & bit)) atomic_or(&row_marks[neighbour >> 5], bit);
        }
    }
}

/* Rows up to level `known` have candidates. Those below level `settled` have been explored: theirs are read from `kept`. */
kernel void explore_candidates(
    GRAPH_PARAMETERS, global const uint *query, global const uint *relationship_masks, uint mask_words,
    global const uint *nodes, global const ulong *ranks, uint first_row, uint row_count, uint words,
    uint settled, uint known, global const uint *candidates,
    volatile global uint *kept, volatile global uint *marks
) {
    const Csr outgoing = OUTGOING_CSR, incoming = INCOMING_CSR;
    const Neighbourhood around = {query, relationship_masks, mask_words, words};
    FOR_EACH(i, ranks[(ulong)row_count * words]) {
        uint node = nodes[i], row = first_row;
        while (i >= ranks[(ulong)(row + 1 - first_row) * words]) ++row;
        uint begin = query[row * NODE_WORDS + ADJACENCIES_AT];
        uint end = begin + query[row * NODE_WORDS + ADJACENCY_COUNT] * ADJACENCY_WORDS;
        bool stays = true;
        for (uint at = begin; at < end && stays; at += ADJACENCY_WORDS) {
            uint other = query[at + 1], level = query[other * NODE_WORDS + LEVEL];
            global const uint *bits = level < settled ? (global const uint *)kept : candidates;
            stays = has_neighbour(&around, &outgoing, &incoming, incoming_relationship_indexes, at, node,
                                  level <= known ? bits + (ulong)other * words : 0);
        }
        if (!stays) {
            atomic_and(&kept[(ulong)row * words + (node >> 5)], ~(1u << (node & 31)));
            continue;
        }
        for (uint at = begin; at < end; at += ADJACENCY_WORDS) {
            uint other = query[at + 1];
            if (query[other * NODE_WORDS + LEVEL] <= known) continue;
            mark_neighbours(&around, &outgoing, &incoming, incoming_relationship_indexes, at, node,
                            marks + (ulong)other * words);
        }
    }
}
