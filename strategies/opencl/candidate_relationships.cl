/* Candidate relationships: for each query relationship a table indexed by the candidates of one end.

   The tables of all query relationships are concatenated. A section is one table; its rows are the collected
   candidates of the end by which it is looked up. Work split:

          count_candidate_relationships   one item per row: counts[row] = number of entries
          write_candidate_relationships   one item per row: writes node at the other end and relationship of each entry
                                          from offsets[row] on

       sections       ulong[3 * (section_count + 1)]   position of the first row among all rows, position of the first
                                                       candidate in nodes, position of the adjacency in query
       counts         uint[row_count]                  rows of all sections
       offsets        ulong[row_count + 1]             prefix sums of counts
       end_nodes, relationships   uint[offsets[row_count]]
*/
#include "work_split.h"
#include "csr.h"
#include "query_graph.h"

#define SECTION_WORDS 3

static inline uint section_of(global const ulong *sections, uint section_count, ulong row) {
    uint section = 0;
    while (section + 1 < section_count && row >= sections[(section + 1) * SECTION_WORDS]) ++section;
    return section;
}

/* Counts the entries of a row, and writes them from `place` on if the arrays are not null. */
static inline uint assemble(
    const Csr *outgoing, const Csr *incoming, global const uint *incoming_relationship_indexes,
    global const uint *query, uint adjacency, uint node, global const uint *relationship_masks, uint mask_words,
    global const uint *row_bits, ulong place, global uint *end_nodes, global uint *relationships
) {
    uint directions = query[adjacency], mask = query[adjacency + 2], count = 0;
    Runs runs = all_runs(directions, query[adjacency + 3], query[adjacency + 4]);
    while (next_run(&runs, outgoing, incoming, query, node)) {
        for (uint entry = runs.begin; entry < runs.end; ++entry) {
            uint neighbour = runs.is_incoming ? incoming->neighbours[entry] : outgoing->neighbours[entry];
            if (!is_candidate(row_bits, neighbour)) continue;
            uint relationship = runs.is_incoming ? incoming_relationship_indexes[entry] : entry;
            if (!fits(directions, runs.is_incoming, node, neighbour, relationship, mask,
                      relationship_masks, mask_words)) continue;
            if (end_nodes) {
                end_nodes[place + count] = neighbour;
                relationships[place + count] = relationship;
            }
            ++count;
        }
    }
    return count;
}

kernel void count_candidate_relationships(
    GRAPH_PARAMETERS, global const uint *query, global const uint *relationship_masks, uint mask_words,
    global const uint *nodes, global const uint *candidates, uint words,
    global const ulong *sections, uint section_count, ulong row_count, global uint *counts
) {
    const Csr outgoing = OUTGOING_CSR, incoming = INCOMING_CSR;
    FOR_EACH(row, row_count) {
        global const ulong *section = sections + section_of(sections, section_count, row) * SECTION_WORDS;
        uint adjacency = (uint)section[2];
        counts[row] = assemble(
            &outgoing, &incoming, incoming_relationship_indexes, query, adjacency,
            nodes[section[1] + row - section[0]], relationship_masks, mask_words,
            candidates + (ulong)query[adjacency + 1] * words, 0, 0, 0);
    }
}

kernel void write_candidate_relationships(
    GRAPH_PARAMETERS, global const uint *query, global const uint *relationship_masks, uint mask_words,
    global const uint *nodes, global const uint *candidates, uint words,
    global const ulong *sections, uint section_count, ulong row_count, global const ulong *offsets,
    global uint *end_nodes, global uint *relationships
) {
    const Csr outgoing = OUTGOING_CSR, incoming = INCOMING_CSR;
    FOR_EACH(row, row_count) {
        if (offsets[row] == offsets[row + 1]) continue;
        global const ulong *section = sections + section_of(sections, section_count, row) * SECTION_WORDS;
        uint adjacency = (uint)section[2];
        assemble(
            &outgoing, &incoming, incoming_relationship_indexes, query, adjacency,
            nodes[section[1] + row - section[0]], relationship_masks, mask_words,
            candidates + (ulong)query[adjacency + 1] * words, offsets[row], end_nodes, relationships);
    }
}
