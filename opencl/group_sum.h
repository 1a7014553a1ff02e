/* The sum of a value over the work items of a group, which all items must call. Uses a tree in local memory with
   one element per item, as 64-bit atomics are an extension that not every device has. */
static inline ulong group_sum(ulong value, local ulong *scratch) {
    uint item = get_local_id(0);
    scratch[item] = value;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint reach = get_local_size(0) / 2; reach > 0; reach /= 2) {
        if (item < reach) scratch[item] += scratch[item + reach];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    return scratch[0];
}

/* Adds to the total of the own group; counts how often a total passes 2^64. */
static inline void add_total(global ulong *totals, volatile global uint *carried, ulong sum) {
    ulong before = totals[get_group_id(0)];
    totals[get_group_id(0)] = before + sum;
    if (before + sum < before) atomic_inc(carried);
}
