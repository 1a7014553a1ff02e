/* Statistics of compressed sparse rows (see csr.h) on the host's processor. Work split:

          add_lengths     one item per share of runs: per type the longest run, the number of runs, the sums of their
                          lengths and of the squares of these
          count_labelled  items take TASK_NODES rows at a time from a counter: entries per (label set of the row's node,
                          type, label set of the neighbour)
          find_parallel   items take TASK_NODES rows at a time: *found = 1 if two entries of a row with several runs
                          lead to one neighbour

       tables   ulong[items * size]    each item counts in its own, zero before; size is 4 * type_count, or
                                       set_count * type_count * set_count
       marks    uint[items * words]    find_parallel: a bit per node, 0 before and after
*/
#include "work_split.h"

#define TASK_NODES 4096
#define WORD_BITS 32

/* kinds may be null: then all runs are of one type, and may be empty; empty runs do not count. */
kernel void add_lengths(
    global const uint *starts, global const ushort *kinds, ulong count, uint type_count, global ulong *tables
) {
    global ulong *most = tables + 4ul * type_count * get_global_id(0);
    global ulong *counts = most + type_count, *totals = counts + type_count, *squares = totals + type_count;
    FOR_EACH(i, count) {
        ulong length = starts[i + 1] - starts[i];
        uint kind = kinds ? kinds[i] : 0;
        if (length > most[kind]) most[kind] = length;
        counts[kind] += length > 0;
        totals[kind] += length;
        squares[kind] += length * length;
    }
}

kernel void count_labelled(
    global const uint *neighbours, global const uint *run_offsets, global const ushort *run_types, global const uint *run_starts,
    ulong node_count, global const uchar *codes, uint type_count, uint set_count, volatile global uint *taken, global ulong *tables
) {
    global ulong *table = tables + (ulong)set_count * type_count * set_count * get_global_id(0);
    for (;;) {
        ulong begin = (ulong)atomic_inc(taken) * TASK_NODES, end = min(begin + TASK_NODES, node_count);
        if (begin >= node_count) return;
        for (ulong node = begin; node < end; ++node) {
            for (uint run = run_offsets[node]; run < run_offsets[node + 1]; ++run) {
                global ulong *counts = table + ((ulong)codes[node] * type_count + run_types[run]) * set_count;
                for (uint i = run_starts[run]; i < run_starts[run + 1]; ++i) ++counts[codes[neighbours[i]]];
            }
        }
    }
}

kernel void find_parallel(
    global const uint *neighbours, global const uint *run_offsets, global const uint *run_starts, ulong node_count, ulong words,
    volatile global uint *taken, global uint *marks, volatile global uint *found
) {
    global uint *mine = marks + words * get_global_id(0);
    for (;;) {
        ulong begin = (ulong)atomic_inc(taken) * TASK_NODES, end = min(begin + TASK_NODES, node_count);
        if (begin >= node_count || *found) return;
        for (ulong node = begin; node < end; ++node) {
            if (run_offsets[node + 1] < run_offsets[node] + 2) continue;
            uint first = run_starts[run_offsets[node]], last = run_starts[run_offsets[node + 1]];
            uint seen = 0;
            for (uint i = first; i < last; ++i) {
                uint bit = 1u << neighbours[i] % WORD_BITS;
                seen |= mine[neighbours[i] / WORD_BITS] & bit;
                mine[neighbours[i] / WORD_BITS] |= bit;
            }
            for (uint i = first; i < last; ++i) mine[neighbours[i] / WORD_BITS] = 0;
            if (seen) *found = 1;
        }
    }
}
