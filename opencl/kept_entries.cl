/* Selects the entries of one direction that a join can use, chunk by chunk (see
   gpugda/match/extend/segments/reduced.py). Work split:

          find_kept    one item per 32 entries: sets the bit of each entry that some link may follow
          write_kept   one item per 32 entries: copies these behind those of earlier chunks; the first item writes
                       kept[chunk + 1]
          start_kept   one item per run that begins in the chunk: start of its entries among the kept ones

       tests   see entry_tests.h; at most 32
       bits    uint[ceil(count / 32)]       sums   ulong[words + 1]   prefix sums of the bits
       kept    ulong[chunks + 1]            entries kept before each chunk; the total last
       kept_neighbours, kept_numbers   uint[capacity]

   If the device knows all runs, all stay, some of them empty. Otherwise types and starts of the chunk's runs
   come with its entries, at `runs_place`; the first of them is `first_run`, and kept_runs.cl writes the kept
   ones.
*/
#include "work_split.h"
#include "search.h"
#include "csr.h"
#include "query_graph.h"
#include "kept_bits.h"
#include "entry_tests.h"

static inline bool has_type(global const uint *tests, global const uint *test, uint type) {
    if (test[3] == NONE) return true;
    for (uint i = 0; i < test[3]; ++i) {
        if (tests[test[2] + i] == type) return true;
    }
    return false;
}

/* The tests that a run's node and type pass, as bits. */
static inline uint tests_of(
    global const uint *tests, global const uint *candidates, uint words, uint node, uint type
) {
    uint alive = 0;
    for (uint i = 0; i < tests[0]; ++i) {
        global const uint *test = TEST(tests, i);
        if (has_type(tests, test, type) && may_be(candidates, words, test[0], node)) alive |= 1u << i;
    }
    return alive;
}

static inline bool leads_to(
    global const uint *tests, global const uint *candidates, uint words, uint alive, uint neighbour
) {
    for (; alive; alive &= alive - 1) {
        uint i = 31 - clz(alive & -alive);
        if (may_be(candidates, words, TEST(tests, i)[1], neighbour)) return true;
    }
    return false;
}

/* Run and node of an entry; those of following entries are found by advancing. */
typedef struct {
    uint run, node, end, alive;
} Place;

static inline void place_at(
    Place *place, global const uint *run_starts, ulong run_count, global const uint *run_offsets, uint node_count,
    uint first_run, uint entry
) {
    place->run = (uint)upper_bound(run_starts, 0, run_count + 1, entry) - 1;
    uint run = first_run + place->run;
    place->node = run_offsets ? (uint)upper_bound(run_offsets, 0, node_count + 1, run) - 1 : run;
}

kernel void find_kept(
    global const uint *run_starts, ulong run_count, global const uint *run_offsets, global const TypeId *run_types,
    uint node_count, ulong runs_place, uint first_run, global const uint *neighbours, ulong first_place, uint first_entry,
    uint count, global const uint *tests, global const uint *candidates, uint words, global uint *bits
) {
    Place place = {0, 0, 0, 0};
    run_starts += runs_place;
    if (run_types) run_types += runs_place;
    ulong following = ~0ul;
    FOR_EACH(word, (count + 31ul) / 32) {
        uint entry = first_entry + (uint)(32 * word), found = 0;
        uint last = min(entry + 32, first_entry + count);
        if (word != following) {
            place_at(&place, run_starts, run_count, run_offsets, node_count, first_run, entry);
            place.end = entry; /* forces the run to be looked up */
        }
        following = word + 1;
        for (uint bit = 0; entry < last; ++entry, ++bit) {
            if (entry >= place.end) {
                while (run_starts[place.run + 1] <= entry) ++place.run;
                if (!run_offsets) place.node = first_run + place.run;
                else while (run_offsets[place.node + 1] <= first_run + place.run) ++place.node;
                place.end = run_starts[place.run + 1];
                place.alive = tests_of(tests, candidates, words, place.node, run_types ? run_types[place.run] : 0);
            }
            if (!place.alive) continue;
            if (leads_to(tests, candidates, words, place.alive, neighbours[first_place + entry - first_entry])) found |= 1u << bit;
        }
        bits[word] = found;
    }
}

kernel void write_kept(
    global const uint *neighbours, global const uint *numbers, ulong first_place, uint first_entry, uint count,
    global const uint *bits, global const ulong *sums, volatile global ulong *kept, uint chunk, ulong capacity,
    global uint *kept_neighbours, global uint *kept_numbers
) {
    ulong bit_words = (count + 31ul) / 32, before = kept[chunk];
    FOR_EACH(word, bit_words) {
        ulong place = before + sums[word];
        for (uint left = bits[word]; left; left &= left - 1, ++place) {
            if (place >= capacity) break;
            ulong entry = 32 * word + 31 - clz(left & -left);
            kept_neighbours[place] = neighbours[first_place + entry];
            if (kept_numbers) kept_numbers[place] = numbers ? numbers[first_place + entry] : first_entry + (uint)entry;
        }
    }
    if (get_global_id(0) == 0) kept[chunk + 1] = before + sums[bit_words];
}

kernel void start_kept(
    global const uint *run_starts, ulong first_run, ulong run_count, uint first_entry, uint count,
    global const uint *bits, global const ulong *sums, global const ulong *kept, uint chunk, global uint *kept_starts
) {
    FOR_EACH(i, run_count) {
        uint entry = run_starts[first_run + i] - first_entry;
        kept_starts[first_run + i] = (uint)(kept[chunk] + kept_before(bits, sums, count, entry));
    }
}
