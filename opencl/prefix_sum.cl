/* Exclusive prefix sums of u32 values, or of the numbers of bits set in u32 words, as u64.

   The values are split into blocks of block_size, one work group each; no group waits for another. Work split:

          sum_blocks         one group per block b: block_sums[b] = sum of block b
          scan_block_sums    one group: block_sums[b] = sum of all blocks before b
          write_prefix_sums  one group per block: sums[i] = sum of values[first … first+i-1]; the total at sums[count]

       block_sums   ulong[blocks]
       sums         ulong[count + 1]

   A single block needs only the last kernel. A group scans its block in tiles of one value per work item. On a
   CPU a group is one work item.
*/
#include "work_split.h"

#define VALUES 0
#define BITS 1

static inline uint value_at(global const uint *values, ulong place, uint what) {
    uint value = values[place];
    return what == BITS ? popcount(value) : value;
}

#ifdef ON_CPU
#define GROUP_SIZE 1
#else
#define GROUP_SIZE 256
#endif

/* Sum of the values of the work items before this one; `total` becomes the sum of all. */
static inline ulong group_prefix_sum(ulong value, local ulong *scratch, ulong *total) {
    uint item = get_local_id(0);
    scratch[item] = value;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint reach = 1; reach < GROUP_SIZE; reach *= 2) {
        ulong before = item >= reach ? scratch[item - reach] : 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        scratch[item] += before;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    ulong inclusive = scratch[item];
    *total = scratch[GROUP_SIZE - 1];
    barrier(CLK_LOCAL_MEM_FENCE);
    return inclusive - value;
}

kernel void sum_blocks(
    global const uint *values, ulong first, ulong count, uint what, ulong block_size,
    global ulong *block_sums
) {
    local ulong scratch[GROUP_SIZE];
    ulong begin = get_group_id(0) * block_size, end = min(begin + block_size, count);
    ulong sum = 0, total;
    for (ulong i = begin + get_local_id(0); i < end; i += GROUP_SIZE) {
        sum += value_at(values, first + i, what);
    }
    group_prefix_sum(sum, scratch, &total);
    if (get_local_id(0) == 0) block_sums[get_group_id(0)] = total;
}

kernel void scan_block_sums(global ulong *block_sums, ulong count) {
    local ulong scratch[GROUP_SIZE];
    ulong carried = 0, total;
    for (ulong tile = 0; tile < count; tile += GROUP_SIZE) {
        ulong i = tile + get_local_id(0);
        ulong before = group_prefix_sum(i < count ? block_sums[i] : 0, scratch, &total);
        if (i < count) block_sums[i] = carried + before;
        carried += total;
    }
}

kernel void write_prefix_sums(
    global const uint *values, ulong first, ulong count, uint what, ulong block_size,
    global const ulong *block_sums, uint block_count, global ulong *sums
) {
    local ulong scratch[GROUP_SIZE];
    ulong begin = get_group_id(0) * block_size, end = min(begin + block_size, count);
    ulong carried = block_count > 1 ? block_sums[get_group_id(0)] : 0;
#ifdef ON_CPU
    for (ulong i = begin; i < end; ++i) {
        sums[i] = carried;
        carried += value_at(values, first + i, what);
    }
#else
    for (ulong tile = begin; tile < end; tile += GROUP_SIZE) {
        ulong i = tile + get_local_id(0), total;
        ulong before = group_prefix_sum(i < end ? value_at(values, first + i, what) : 0, scratch, &total);
        if (i < end) sums[i] = carried + before;
        carried += total;
    }
#endif
    if (end == count && get_local_id(0) == 0) sums[count] = carried;
}
