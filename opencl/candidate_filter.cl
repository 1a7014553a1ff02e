/* Candidates of query nodes: checks labels and degrees, collects candidates, explores neighbours.

   Candidates are a bit matrix with one row of `words` words per query node (see query_graph.h for the order of
   rows); bit i of a row is data node i. A batch is the rows first_row … first_row+row_count-1. Work split:

          check_candidates     one item per word of a batch: 32 data nodes at once; writes the word to candidates and
                               kept
          count_candidates     one group per piece of a row: adds the number of its bits to counts[row]
          collect_candidates   one item per word of a batch: writes the node indexes of its bits, ascending, to nodes
                               from ranks[word] on, and copies the word to kept
          explore_candidates   one item per collected candidate: clears its bit in kept if a neighbour is missing, or
                               (on a CPU) marks its neighbours in marks
          mark_neighbours      GPU: one item per collected candidate: marks the neighbours of those that remain
          explore_bits         GPU: both, one item per bit of a batch, for few candidates without hubs; no collection

       candidates, kept, marks   uint[rows * words]
       counts                    uint[rows]
       ranks                     ulong[row_count * words + 1]   prefix sums of the bit counts of the batch
       nodes                     uint[ranks[row_count * words]]

   Exploration reads `candidates` and clears bits in `kept`, a copy, so that the result does not depend on the
   order of work items.
*/
#include "work_split.h"
#include "csr.h"
#include "query_graph.h"
#include "candidates.h"

kernel void check_candidates(
    GRAPH_PARAMETERS, global const uint *query, global const uint *label_bits,
    global const uint *node_masks, global const uint *marks,
    uint first_row, uint row_count, uint words, uint node_count, global uint *candidates, global uint *kept
) {
    const Csr outgoing = OUTGOING_CSR, incoming = INCOMING_CSR;
    FOR_EACH(i, (ulong)row_count * words) {
        uint row = first_row + (uint)(i / words), word = (uint)(i % words);
        ulong place = (ulong)row * words + word;
        uint bits = marks && query[row * NODE_WORDS + LEVEL] > 0 ? marks[place] : NONE;
        bits = checked_bits(query, row, label_bits, node_masks, words, node_count, &outgoing, &incoming, word, bits);
        candidates[place] = bits;
        if (kept) kept[place] = bits;
    }
}

/* Adds up the bits of each row; a group processes words of one row. */
kernel void count_candidates(global const uint *candidates, uint row_count, uint words, global uint *counts) {
    local uint sum;
    uint groups = get_num_groups(0) / row_count, row = get_group_id(0) / groups;
    uint share = (words + groups - 1) / groups, first = (get_group_id(0) % groups) * share, own = 0;
    if (get_local_id(0) == 0) sum = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint word = first + get_local_id(0); word < min(first + share, words); word += get_local_size(0)) {
        own += popcount(candidates[(ulong)row * words + word]);
    }
    atomic_add(&sum, own);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (get_local_id(0) == 0) atomic_add(&counts[row], sum);
}

/* ranks[i]: the number of candidates in the words of the batch before word i; one more element at the end. */
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

/* The row of the matrix to which collected candidate i belongs. */
static inline uint row_of(ulong i, global const ulong *ranks, uint first_row, uint words) {
    uint row = first_row;
    while (i >= ranks[(ulong)(row + 1 - first_row) * words]) ++row;
    return row;
}

/* The candidates of an adjacency's other end; null if its level is not known yet. */
#define BITS_OF(adjacency) bits_of(query, adjacency, candidates, kept, words, settled, known)
static inline global const uint *bits_of(
    global const uint *query, uint adjacency, global const uint *candidates, volatile global uint *kept, uint words,
    uint settled, uint known
) {
    uint other = query[adjacency + 1], level = query[other * NODE_WORDS + LEVEL];
    if (level > known) return 0;
    return (level < settled ? (global const uint *)kept : candidates) + (ulong)other * words;
}

#define EXPLORE_PARAMETERS \
    GRAPH_PARAMETERS, global const uint *query, global const uint *relationship_masks, uint mask_words, \
    global const uint *nodes, global const ulong *ranks, uint first_row, uint row_count, uint words, \
    uint settled, uint known, global const uint *candidates, volatile global uint *kept, volatile global uint *marks

#define EXPLORED_GRAPH \
    const Csr outgoing = OUTGOING_CSR, incoming = INCOMING_CSR; \
    const Neighbourhood around = {query, relationship_masks, mask_words, words}

#define EXPLORE_NODE(row, node) \
    explore_node(&around, &outgoing, &incoming, incoming_relationship_indexes, row, node, settled, known, candidates, kept, marks)

/* What one item does with a candidate. */
static inline void explore_node(
    const Neighbourhood *around, const Csr *outgoing, const Csr *incoming, global const uint *incoming_relationship_indexes,
    uint row, uint node, uint settled, uint known, global const uint *candidates, volatile global uint *kept,
    volatile global uint *marks
) {
    global const uint *query = around->query;
    uint words = around->words, begin = query[row * NODE_WORDS + ADJACENCIES_AT];
    uint end = begin + query[row * NODE_WORDS + ADJACENCY_COUNT] * ADJACENCY_WORDS;
    bool stays = true;
    for (uint at = begin; at < end && stays; at += ADJACENCY_WORDS) {
        stays = find_neighbour(around, outgoing, incoming, incoming_relationship_indexes, at, node, BITS_OF(at), NONE) == FOUND;
    }
    if (!stays) {
        atomic_and(&kept[(ulong)row * words + (node >> 5)], ~(1u << (node & 31)));
        return;
    }
    for (uint at = begin; at < end; at += ADJACENCY_WORDS) {
        uint other = query[at + 1];
        if (query[other * NODE_WORDS + LEVEL] <= known) continue;
        mark_runs(around, outgoing, incoming, incoming_relationship_indexes, at, node, marks + (ulong)other * words);
    }
}

/* Rows up to level `known` have candidates. Those below level `settled` have been explored: they are read from
   `kept`. */
#ifdef ON_CPU
kernel void explore_candidates(EXPLORE_PARAMETERS) {
    EXPLORED_GRAPH;
    FOR_EACH(i, ranks[(ulong)row_count * words]) EXPLORE_NODE(row_of(i, ranks, first_row, words), nodes[i]);
}
#else
/* A group processes GROUP candidates. Adjacencies that an item does not decide within the first FEW entries go
   to a list of runs, whose entries all items of the group share: so no item waits for another's hub. */
#define GROUP 256
#define FEW 16
#define MAX_RUNS 1024
#define RUNS_PER_ITEM (MAX_RUNS / GROUP)

typedef struct {
    uint count;
    /* sums: before `share_runs` the length of each run, afterwards the number of entries before it */
    uint begins[MAX_RUNS], sums[MAX_RUNS + 1], adjacencies[MAX_RUNS];
    ushort owners[MAX_RUNS];
    uint nodes[GROUP], totals[GROUP];
} SharedRuns;

/* Adds all runs of an adjacency, with the direction in the highest bit; false if there is no space for one of
   them. */
static inline bool add_runs(
    local SharedRuns *shared, const Csr *outgoing, const Csr *incoming, global const uint *query, uint adjacency, uint node
) {
    Runs runs = all_runs(query[adjacency], query[adjacency + 3], query[adjacency + 4]);
    while (next_run(&runs, outgoing, incoming, query, node)) {
        uint place = atomic_inc(&shared->count);
        if (place >= MAX_RUNS) return false;
        shared->begins[place] = runs.begin;
        shared->sums[place] = runs.end - runs.begin;
        shared->adjacencies[place] = adjacency | (uint)runs.is_incoming << 31;
        shared->owners[place] = (ushort)get_local_id(0);
    }
    return true;
}

/* Computes prefix sums of the runs' lengths; returns the number of all entries. All items must call it. */
static inline uint share_runs(local SharedRuns *shared) {
    uint item = get_local_id(0), lengths[RUNS_PER_ITEM], own = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    uint count = min(shared->count, (uint)MAX_RUNS);
    for (uint i = 0; i < RUNS_PER_ITEM; ++i) {
        uint place = item * RUNS_PER_ITEM + i;
        lengths[i] = place < count ? shared->sums[place] : 0;
        own += lengths[i];
    }
    shared->totals[item] = own;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint reach = 1; reach < GROUP; reach *= 2) {
        uint before = item >= reach ? shared->totals[item - reach] : 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        shared->totals[item] += before;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    uint sum = shared->totals[item] - own;
    for (uint i = 0; i < RUNS_PER_ITEM; ++i) {
        shared->sums[item * RUNS_PER_ITEM + i] = sum;
        sum += lengths[i];
    }
    if (item == GROUP - 1) shared->sums[MAX_RUNS] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    return shared->sums[MAX_RUNS];
}

/* The run to which an entry, counted over all runs, belongs. */
static inline uint shared_run(local const SharedRuns *shared, uint number) {
    uint first = 0;
    for (uint step = MAX_RUNS / 2; step > 0; step /= 2) {
        if (shared->sums[first + step] <= number) first += step;
    }
    return first;
}

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void explore_candidates(EXPLORE_PARAMETERS) {
    const Csr outgoing = OUTGOING_CSR, incoming = INCOMING_CSR;
    const Neighbourhood around = {query, relationship_masks, mask_words, words};
    local SharedRuns shared;
    local uint found[GROUP];
    ulong total = ranks[(ulong)row_count * words];
    uint item = get_local_id(0);
    for (ulong tile = get_group_id(0) * GROUP; tile < total; tile += get_num_groups(0) * GROUP) {
        ulong i = tile + item;
        uint node = i < total ? nodes[i] : 0, row = i < total ? row_of(i, ranks, first_row, words) : first_row;
        uint undecided = 0;
        uint begin = query[row * NODE_WORDS + ADJACENCIES_AT];
        uint end = begin + query[row * NODE_WORDS + ADJACENCY_COUNT] * ADJACENCY_WORDS;
        bool stays = i < total;
        if (item == 0) shared.count = 0;
        found[item] = 0;
        shared.nodes[item] = node;
        barrier(CLK_LOCAL_MEM_FENCE);
        for (uint at = begin; at < end && stays; at += ADJACENCY_WORDS) {
            uint number = (at - begin) / ADJACENCY_WORDS;
            uint verdict = find_neighbour(&around, &outgoing, &incoming, incoming_relationship_indexes, at, node,
                                          BITS_OF(at), number < 32 ? FEW : NONE);
            if (verdict == UNDECIDED && add_runs(&shared, &outgoing, &incoming, query, at, node)) undecided |= 1u << number;
            else if (verdict == UNDECIDED) {
                verdict = find_neighbour(&around, &outgoing, &incoming, incoming_relationship_indexes, at, node,
                                         BITS_OF(at), NONE);
            }
            stays = verdict != MISSING;
        }
        uint entries = share_runs(&shared);
        for (uint number = item; number < entries; number += GROUP) {
            uint run = shared_run(&shared, number), at = shared.adjacencies[run] & 0x7FFFFFFFu, owner = shared.owners[run];
            bool is_incoming = shared.adjacencies[run] >> 31;
            uint from = shared.nodes[owner], entry = shared.begins[run] + number - shared.sums[run];
            uint owner_row = row_of(tile + owner, ranks, first_row, words);
            uint bit = 1u << ((at - query[owner_row * NODE_WORDS + ADJACENCIES_AT]) / ADJACENCY_WORDS);
            if (!(((volatile local uint *)found)[owner] & bit)) {
                uint neighbour = is_incoming ? incoming_neighbours[entry] : outgoing_neighbours[entry];
                if (fits_adjacency(&around, at, is_incoming, from, entry, neighbour, incoming_relationship_indexes,
                                   BITS_OF(at))) atomic_or(&found[owner], bit);
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        bool is_lost = stays && (found[item] & undecided) != undecided;
        if (i < total && (!stays || is_lost)) atomic_and(&kept[(ulong)row * words + (node >> 5)], ~(1u << (node & 31)));
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}

/* Runs after exploration: marks the neighbours of the remaining candidates at levels that are not known yet. */
kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void mark_neighbours(EXPLORE_PARAMETERS) {
    const Csr outgoing = OUTGOING_CSR, incoming = INCOMING_CSR;
    const Neighbourhood around = {query, relationship_masks, mask_words, words};
    local SharedRuns shared;
    ulong total = ranks[(ulong)row_count * words];
    uint item = get_local_id(0);
    for (ulong tile = get_group_id(0) * GROUP; tile < total; tile += get_num_groups(0) * GROUP) {
        ulong i = tile + item;
        uint node = i < total ? nodes[i] : 0, row = i < total ? row_of(i, ranks, first_row, words) : first_row;
        uint begin = query[row * NODE_WORDS + ADJACENCIES_AT];
        uint end = begin + query[row * NODE_WORDS + ADJACENCY_COUNT] * ADJACENCY_WORDS;
        bool stays = i < total && is_candidate((global const uint *)kept + (ulong)row * words, node);
        if (item == 0) shared.count = 0;
        shared.nodes[item] = node;
        barrier(CLK_LOCAL_MEM_FENCE);
        for (uint at = begin; at < end && stays; at += ADJACENCY_WORDS) {
            uint other = query[at + 1];
            if (query[other * NODE_WORDS + LEVEL] > known && !add_runs(&shared, &outgoing, &incoming, query, at, node)) {
                mark_runs(&around, &outgoing, &incoming, incoming_relationship_indexes, at, node, marks + (ulong)other * words);
            }
        }
        uint entries = share_runs(&shared);
        for (uint number = item; number < entries; number += GROUP) {
            uint run = shared_run(&shared, number), at = shared.adjacencies[run] & 0x7FFFFFFFu;
            bool is_incoming = shared.adjacencies[run] >> 31;
            uint from = shared.nodes[shared.owners[run]], entry = shared.begins[run] + number - shared.sums[run];
            uint neighbour = is_incoming ? incoming_neighbours[entry] : outgoing_neighbours[entry];
            if (fits_adjacency(&around, at, is_incoming, from, entry, neighbour, incoming_relationship_indexes, 0)) {
                mark(marks + (ulong)query[at + 1] * words, neighbour);
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}

kernel void explore_bits(EXPLORE_PARAMETERS) {
    EXPLORED_GRAPH;
    FOR_EACH(i, (ulong)row_count * words * 32) {
        uint row = first_row + (uint)(i / (words * 32)), node = (uint)(i % (words * 32));
        if (is_candidate(candidates + (ulong)row * words, node)) EXPLORE_NODE(row, node);
    }
}
#endif
