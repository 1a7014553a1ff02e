/* What vector_sums.cl and vector_batches.cl share: sizes by which work is divided into chunks, hashes, sums. Included after
   vector_program.h. */
#define HASH 2654435761u
#define CHUNK 1024 /* slots that a group reads */
#define MAX_SLOTS 4096u /* of a hash table in local memory */
#define MOST_HASHED (3 * MAX_SLOTS / 4)
#define RANGE_PATHS (1u << 17) /* two-paths for which a group counts in its scratch */
#define RANGE_PATHS_OF_ENTRY 64u /* and at least so many per neighbour of the pinned node: each is looked at per range */

/* The number of ranges into which the ends of so many two-paths are divided. */
static inline uint ranges_of(uint bound, uint entries) {
    return 1 + bound / max(RANGE_PATHS, min(entries, UINT_MAX / RANGE_PATHS_OF_ENTRY) * RANGE_PATHS_OF_ENTRY);
}

/* The entries of the pinned node that an edge reads. */
static inline uint entries_of_pin(const Lists *lists, Edge edge) {
    uint entries = 0;
    for (uint side = 0; side < 2; ++side) {
        if (!(edge.sides >> side & 1)) continue;
        uint2 part = part_of(lists, side, lists->pin, edge.below);
        entries += part.y - part.x;
    }
    return entries;
}

/* Where a range of nodes begins. Paths end at nodes in proportion to their degrees, so ranges have equal ones. */
static inline uint border_of(const Lists *lists, bool below, uint range, uint ranges) {
    global const uint *starts = lists->outgoing.starts;
    uint begin = below ? lists->pin : 0, first = starts[begin], last = starts[lists->node_count];
    uint border = first + (uint)((ulong)(last - first) * range / ranges);
    return (uint)max(1, (int)upper_bound(starts, begin, lists->node_count, border) - 1);
}

/* Adds to a sum in two words. */
static inline void add_wide(volatile global uint *words, ulong value) {
    if (value == 0) return;
    uint low = (uint)value, before = atomic_add(words, low), high = (uint)(value >> 32) + (before + low < before);
    if (high) atomic_add(words + 1, high);
}
