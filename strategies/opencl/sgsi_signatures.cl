/* Vertex signatures of SGSI, one segment of data nodes at a time; keys are those of gsi_signatures.cl. Work split:

          add_entries     one item per entry: adds its keys to the signature of its owner, atomically
          check_segment   one item per query node and data node: clears the node's bit in matrix if its signature
                          lacks a required bit in these words

       signatures   uint[words * nodes]          word w of node v of the segment at w * nodes + v
       asked        uint[rows * asked_words]
       matrix       uint[rows * matrix_words]
*/
#include "work_split.h"
#include "name_ids.h"
#include "signatures.h"

/* `owners` count from the segment's first node; `labels` of the neighbours, NONE for none; `adds_any` to add the
   keys of any label, once for an entry with several labels. */
kernel void add_entries(
    global const uint *owners, global const TypeId *types, global const uint *labels, ulong count, uint direction,
    uint adds_any, volatile global uint *signatures, ulong nodes, uint groups
) {
    FOR_EACH(i, count) {
        volatile global uint *signature = signatures + owners[i];
        if (labels[i] != NONE) add_keys(signature, nodes, groups, types[i], direction, labels[i]);
        if (adds_any) add_keys(signature, nodes, groups, types[i], direction, ANYTHING);
    }
}

/* `asked` has `asked_words` words for each row of the matrix; the segment has those from `first_word` on. */
kernel void check_segment(
    global const uint *signatures, ulong nodes, uint words, global const uint *asked, uint asked_words, uint first_word,
    uint rows, uint matrix_words, volatile global uint *matrix
) {
    FOR_EACH(i, rows * nodes) {
        ulong row = i / nodes, node = i % nodes;
        check_candidate(signatures + node, nodes, asked + row * asked_words + first_word, words, matrix + row * matrix_words, node);
    }
}
