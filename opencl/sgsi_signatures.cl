/* Vertex signatures of SGSI, a segment of data nodes at a time; the keys are those of gsi_signatures.cl.

       add_entries       one item per entry: the keys of what a node of the segment sees there
       check_segment     one item per query node and data node: takes away candidates that lack something in these words

   Word w of the node v of the segment lies at w * nodes + v.
*/
#include "work_split.h"
#include "name_ids.h"
#include "signatures.h"

/* `owners` from the segment's first node on; `labels` of the neighbours, NONE for none; `adds_any` where labels of others of the
   same entry do not come with it. */
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

/* `asked` holds for each row of the matrix `asked_words` words, those of the segment from `first_word` on. */
kernel void check_segment(
    global const uint *signatures, ulong nodes, uint words, global const uint *asked, uint asked_words, uint first_word,
    uint rows, uint matrix_words, volatile global uint *matrix
) {
    FOR_EACH(i, rows * nodes) {
        ulong row = i / nodes, node = i % nodes;
        check_candidate(signatures + node, nodes, asked + row * asked_words + first_word, words, matrix + row * matrix_words, node);
    }
}
