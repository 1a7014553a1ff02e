/* Warps of 32 work items, eight per group, as OpenCL C 1.2 has no sub-groups; and the output positions of rows. */
#define WARP 32
#define WARPS 8

/* First output position of a row: given by sums, or by a fixed stride (the length of the longest list). */
static inline ulong first_place(global const ulong *sums, ulong stride, ulong row) {
    return sums ? sums[row] : stride * row;
}

#ifndef ON_CPU

/* Bits of the lanes of this warp for which `holds` is true. All work items of the group must call it. */
static inline uint ballot(local uint *ballots, uint warp, uint lane, bool holds) {
    if (lane == 0) ballots[warp] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (holds) atomic_or(&ballots[warp], 1u << lane);
    barrier(CLK_LOCAL_MEM_FENCE);
    return ballots[warp];
}

static inline uint most_of(local const uint *values) {
    uint most = 0;
    for (uint i = 0; i < WARPS; ++i) most = max(most, values[i]);
    return most;
}

#endif
