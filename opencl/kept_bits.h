/* The kept elements of a chunk: a bit per element, and prefix sums of the words' bit counts. */

/* The number of kept elements before `element`; all of them if that is beyond the end. */
static inline ulong kept_before(global const uint *bits, global const ulong *sums, ulong count, ulong element) {
    if (element >= count) return sums[(count + 31) / 32];
    return sums[element / 32] + popcount(bits[element / 32] & ((1u << (element & 31)) - 1));
}
