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
