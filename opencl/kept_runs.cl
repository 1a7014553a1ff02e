/* Selects the runs of the kept entries of a chunk, if the device does not know all runs (see
   gpugda/match/extend/segments/reducer.py and kept_entries.cl). Work split:

          find_runs     one item per 32 runs that begin in the chunk: sets the bit of each run that keeps entries
          write_runs    one item per 32 runs: copies their types, writes their new starts; the first item writes
                        kept_runs[chunk + 1]
          start_nodes   one item per node whose runs begin in the chunk: its first run among the kept ones

       run_starts, run_types   the runs that begin in the chunk, from runs_place on
       bits, sums              kept entries of the chunk: bits, and prefix sums of these; run_bits, run_sums: the same
                               of runs
       kept, kept_runs         ulong[chunks + 1]   entries, or runs, kept before each chunk; the total last
       kept_types   TypeId[capacity]      kept_starts   uint[capacity + 1]      kept_offsets   uint[n + 1]

   A run that ends in a later chunk is kept with or without entries: a row has one run per type, and it is not
   known yet which of its entries are kept there.
*/
#include "work_split.h"
#include "name_ids.h"
#include "kept_bits.h"

kernel void find_runs(
    global const uint *run_starts, ulong runs_place, ulong run_count, uint first_entry, uint count,
    global const uint *bits, global const ulong *sums, global uint *run_bits
) {
    FOR_EACH(word, max(1ul, (run_count + 31) / 32)) {
        uint found = 0;
        ulong last = min(32 * word + 32, run_count);
        for (ulong run = 32 * word; run < last; ++run) {
            uint begin = run_starts[runs_place + run] - first_entry, end = run_starts[runs_place + run + 1] - first_entry;
            bool keeps = end > count || kept_before(bits, sums, count, begin) < kept_before(bits, sums, count, end);
            if (keeps) found |= 1u << (run & 31);
        }
        run_bits[word] = found;
    }
}

kernel void write_runs(
    global const uint *run_starts, global const TypeId *run_types, ulong runs_place, ulong run_count, uint first_entry, uint count,
    global const uint *bits, global const ulong *sums, global const ulong *kept, uint chunk,
    global const uint *run_bits, global const ulong *run_sums, volatile global ulong *kept_runs, ulong capacity,
    global TypeId *kept_types, global uint *kept_starts
) {
    ulong words = max(1ul, (run_count + 31) / 32), before = kept_runs[chunk];
    FOR_EACH(word, words) {
        ulong place = before + run_sums[word];
        for (uint left = run_bits[word]; left; left &= left - 1, ++place) {
            if (place >= capacity) break;
            ulong run = runs_place + 32 * word + 31 - clz(left & -left);
            kept_types[place] = run_types[run];
            kept_starts[place] = (uint)(kept[chunk] + kept_before(bits, sums, count, run_starts[run] - first_entry));
        }
    }
    if (get_global_id(0) == 0) {
        ulong total = before + run_sums[words];
        kept_runs[chunk + 1] = total;
        /* The end of the last run, unless the first run of the next chunk begins there. */
        if (total <= capacity) kept_starts[total] = (uint)kept[chunk + 1];
    }
}

kernel void start_nodes(
    global const uint *run_offsets, uint first_node, uint node_count, uint first_run, ulong run_count,
    global const uint *run_bits, global const ulong *run_sums, global const ulong *kept_runs, uint chunk,
    global uint *kept_offsets
) {
    FOR_EACH(i, node_count) {
        ulong run = run_offsets[first_node + i] - first_run;
        kept_offsets[first_node + i] = (uint)(kept_runs[chunk] + kept_before(run_bits, run_sums, run_count, run));
    }
}
