/* Vertex signatures of GSI: the surroundings of a node, hashed into groups of two bits. Work split:

          add_to_signatures   one item per relationship: adds its keys to the signatures of both ends, atomically
          check_signatures    one item per query node and data node: clears the node's bit in matrix if its signature
                              lacks a required bit

       signatures   uint[signature_words * node_count]   word w of node v at w * word_stride + v * node_stride;
                                                         strides of node_count and 1 (column-first) let adjacent items
                                                         read adjacent words
       asked        uint[rows * signature_words]         required signature of each row
       matrix       uint[rows * matrix_words]            candidates, a bit per node

   A group is 00 if no key was hashed to it, 01 for one key, 11 for more. Keys consist of a type or any, a
   direction or either, and a label of the neighbour or any; as in strategies/gsi/signatures.py.
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

/* `asked` has the signature of each row of the matrix, word by word. */
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
