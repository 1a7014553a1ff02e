/* Vertex signatures of GSI: what surrounds a node, hashed into groups of two bits.

       add_to_signatures    one item per relationship: its keys, as seen from both ends
       check_signatures     one item per query node and data node: takes away candidates that lack something

   Word w of the signature of node v lies at w * word_stride + v * node_stride: column-first, and neighbouring work items read
   neighbouring words, with strides of the number of nodes and 1. A group is 00 where no key was hashed to it, 01 for one, 11 for
   more. Keys are made of a type or any, a direction or either, and a label of the neighbour or any; as in
   gpugda/match/gsi/signatures.py.
*/
#include "work_split.h"
#include "name_ids.h"
#include "signatures.h"

static inline void add_end(
    volatile global uint *signature, ulong word_stride, uint groups, uint type, uint direction,
    global const uint *label_offsets, global const LabelId *label_ids, uint neighbour
) {
    uint end = label_offsets[neighbour + 1];
    for (uint at = label_offsets[neighbour]; at <= end; ++at) {
        uint label = at < end ? label_ids[at] : ANYTHING;
        add_keys(signature, word_stride, groups, type, direction, label);
    }
}

kernel void add_to_signatures(
    global const uint *starts, global const uint *ends, global const TypeId *types, ulong count,
    global const uint *label_offsets, global const LabelId *label_ids,
    volatile global uint *signatures, ulong word_stride, ulong node_stride, uint groups
) {
    FOR_EACH(i, count) {
        uint start = starts[i], end = ends[i], type = types[i];
        add_end(signatures + start * node_stride, word_stride, groups, type, STARTS_HERE, label_offsets, label_ids, end);
        add_end(signatures + end * node_stride, word_stride, groups, type, ENDS_HERE, label_offsets, label_ids, start);
    }
}

/* `asked` holds for each row of the matrix its signature, word by word. */
kernel void check_signatures(
    global const uint *signatures, ulong word_stride, ulong node_stride, uint signature_words,
    global const uint *asked, uint rows, ulong node_count, uint matrix_words, volatile global uint *matrix
) {
    FOR_EACH(i, rows * node_count) {
        ulong row = i / node_count, node = i % node_count;
        check_candidate(signatures + node * node_stride, word_stride, asked + row * signature_words, signature_words,
                        matrix + row * matrix_words, node);
    }
}
