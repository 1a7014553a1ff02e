/* Candidates of all query nodes by one work item, for a CPU and little work, where launches and waiting would take
   longer.

   Rows are checked, explored and refined as in candidate_filter.cl, but in place: level by level from where
   components start, then, to refine, from the last row to the first.

       candidates, marks   uint[row_count * words]
       outcome             uint[2 + row_count]   [0] 1 if done  [1] 1 if nodes are written; then candidates per row
       nodes               uint[max_nodes]       node indexes of all candidates, row after row, ascending, unless
                                                 there are more than max_nodes

   The item gives up after reading `max_looks` entries or degrees. An empty row ends the search: no row has
   candidates then.
*/
#include "work_split.h"
#include "csr.h"
#include "query_graph.h"
#include "candidates.h"

#define IS_DONE 0
#define IS_LISTED 1
#define COUNTS_AT 2

typedef struct {
    Csr outgoing, incoming;
    global const uint *incoming_relationship_indexes;
    Neighbourhood around;
    global uint *candidates, *marks;
    ulong looks, max_looks;
} Work;

static inline bool has_neighbour(Work *work, uint adjacency, uint node, global const uint *row_bits) {
    global const uint *query = work->around.query;
    Runs runs = all_runs(query[adjacency], query[adjacency + 3], query[adjacency + 4]);
    ++work->looks;
    while (next_run(&runs, &work->outgoing, &work->incoming, query, node)) {
        global const uint *neighbours = runs.is_incoming ? work->incoming.neighbours : work->outgoing.neighbours;
        for (uint entry = runs.begin; entry < runs.end; ++entry, ++work->looks) {
            if (fits_adjacency(&work->around, adjacency, runs.is_incoming, node, entry, neighbours[entry],
                               work->incoming_relationship_indexes, row_bits)) return true;
        }
    }
    return false;
}

static inline void mark_neighbours_of(Work *work, uint adjacency, uint node) {
    global const uint *query = work->around.query;
    global uint *row_marks = work->marks + (ulong)query[adjacency + 1] * work->around.words;
    Runs runs = all_runs(query[adjacency], query[adjacency + 3], query[adjacency + 4]);
    while (next_run(&runs, &work->outgoing, &work->incoming, query, node)) {
        global const uint *neighbours = runs.is_incoming ? work->incoming.neighbours : work->outgoing.neighbours;
        work->looks += runs.end - runs.begin;
        for (uint entry = runs.begin; entry < runs.end; ++entry) {
            uint neighbour = neighbours[entry];
            if (fits_adjacency(&work->around, adjacency, runs.is_incoming, node, entry, neighbour,
                               work->incoming_relationship_indexes, 0)) row_marks[neighbour >> 5] |= 1u << (neighbour & 31);
        }
    }
}

/* Removes candidates that lack a neighbour at a level up to `known`, and marks later neighbours of the others. */
static inline bool explore_row(Work *work, uint row, uint known, uint *count) {
    global const uint *query = work->around.query;
    global uint *bits_of_row = work->candidates + (ulong)row * work->around.words;
    uint begin = query[row * NODE_WORDS + ADJACENCIES_AT];
    uint end = begin + query[row * NODE_WORDS + ADJACENCY_COUNT] * ADJACENCY_WORDS, left_over = 0;
    bool has_lost = false;
    for (uint word = 0; word < work->around.words; ++word) {
        for (uint left = bits_of_row[word]; left && work->looks < work->max_looks; left &= left - 1) {
            uint bit = left & -left, node = word * 32 + 31 - clz(bit);
            bool stays = true;
            for (uint at = begin; at < end && stays; at += ADJACENCY_WORDS) {
                uint other = query[at + 1];
                bool is_known = query[other * NODE_WORDS + LEVEL] <= known;
                global const uint *row_bits = work->candidates + (ulong)other * work->around.words;
                stays = has_neighbour(work, at, node, is_known ? row_bits : 0);
            }
            if (!stays) {
                bits_of_row[word] ^= bit;
                has_lost = true;
                continue;
            }
            for (uint at = begin; at < end; at += ADJACENCY_WORDS) {
                if (query[query[at + 1] * NODE_WORDS + LEVEL] > known) mark_neighbours_of(work, at, node);
            }
        }
        left_over += popcount(bits_of_row[word]);
    }
    *count = left_over;
    return has_lost;
}

kernel void filter_all(
    GRAPH_PARAMETERS, global const uint *query, global const uint *label_bits, global const uint *node_masks,
    global const uint *relationship_masks, uint mask_words, uint row_count, uint words, uint node_count,
    uint explores, uint rounds, uint max_looks, uint max_nodes,
    global uint *candidates, global uint *marks, global uint *nodes, global uint *outcome
) {
    if (get_global_id(0) > 0) return;
    Work work = {OUTGOING_CSR, INCOMING_CSR, incoming_relationship_indexes, {query, relationship_masks, mask_words, words},
                 candidates, marks, 0, max_looks};
    global uint *counts = outcome + COUNTS_AT;
    outcome[IS_DONE] = outcome[IS_LISTED] = 0;
    uint first = 0;
    while (first < row_count && query[first * NODE_WORDS + LEVEL] == 0) ++first;
    if (explores) for (ulong i = (ulong)first * words; i < (ulong)row_count * words; ++i) marks[i] = 0;
    for (uint row = 0; row < row_count; ++row) counts[row] = 0;

    for (uint begin = 0, end = 0; begin < row_count; begin = end) {
        uint level = query[begin * NODE_WORDS + LEVEL];
        for (; end < row_count && query[end * NODE_WORDS + LEVEL] == level; ++end) {
            bool has_needs = query[end * NODE_WORDS + DEGREE_COUNT] > 0;
            for (uint word = 0; word < words && work.looks < max_looks; ++word) {
                ulong place = (ulong)end * words + word;
                uint bits = explores && level > 0 ? marks[place] : NONE;
                bits = checked_bits(query, end, label_bits, node_masks, words, node_count, &work.outgoing, &work.incoming,
                                    word, bits);
                candidates[place] = bits;
                counts[end] += popcount(bits);
                if (has_needs) work.looks += popcount(bits);
            }
        }
        if (work.looks >= max_looks) return;
        for (uint row = begin; row < end && explores; ++row) {
            uint count;
            explore_row(&work, row, level, &count);
            counts[row] = count;
        }
        if (work.looks >= max_looks) return;
        for (uint row = begin; row < end; ++row) {
            if (counts[row] == 0) {
                outcome[IS_DONE] = 1;
                return;
            }
        }
    }
    bool goes_on = explores;
    for (uint round = 0; round < rounds && goes_on; ++round) {
        goes_on = false;
        for (uint row = row_count; row-- > 0;) {
            uint count;
            goes_on |= explore_row(&work, row, NONE, &count);
            counts[row] = count;
            if (work.looks >= max_looks) return;
            if (count == 0) {
                outcome[IS_DONE] = 1;
                return;
            }
        }
    }
    ulong total = 0;
    for (uint row = 0; row < row_count; ++row) total += counts[row];
    outcome[IS_DONE] = 1;
    if (total > max_nodes) return;
    outcome[IS_LISTED] = 1;
    uint place = 0;
    for (uint row = 0; row < row_count; ++row) {
        for (uint word = 0; word < words; ++word) {
            uint left = candidates[(ulong)row * words + word];
            for (; left; left &= left - 1) nodes[place++] = word * 32 + 31 - clz(left & -left);
        }
    }
}
