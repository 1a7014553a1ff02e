/* What is kept of a chunk: a bit for each element, and the prefix sums of the words' bits. */

/* How many of the `count` elements are kept before one; of one behind them, all. */
static inline ulong kept_before(global const uint *bits, global const ulong *sums, ulong count, ulong element) {
    if (element >= count) return sums[(count + 31) / 32];
    return sums[element / 32] + popcount(bits[element / 32] & ((1u << (element & 31)) - 1));
}
