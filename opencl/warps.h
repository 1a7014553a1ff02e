/* Warps of 32 work items, eight to a group, as OpenCL C 1.2 has no sub-groups; and the places of rows that warps fill. */
#define WARP 32
#define WARPS 8

/* Where a row's places begin: given by sums, or by the longest that any list is. */
static inline ulong first_place(global const ulong *sums, ulong stride, ulong row) {
    return sums ? sums[row] : stride * row;
}

#ifndef ON_CPU

/* Which lanes of this warp hold something: a bit each. All work items of the group come here. */
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
