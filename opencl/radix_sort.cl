/* One pass of a stable radix sort of 64-bit keys, each with an optional 32-bit payload, by one digit of 8 bits.
   Work split: one group per block of block_size keys.

          count_digits     counts[d * blocks + b] = number of keys of block b with digit d (a histogram per block)
          scatter_digits   each key goes behind those of lower digits, those of its digit in earlier blocks, and those
                           before it in its block

       numbers, sorted         ulong[count]
       beside, sorted_beside   uint[count], or null
       counts                  uint[256 * blocks]      firsts   ulong[256 * blocks + 1]   prefix sums of counts

   On a GPU a work group processes its block in tiles of one key per work item: for each digit a mask has the
   items with that digit, and the bits below an item's own count those before it. On a CPU one item processes the
   block.
*/
#define DIGITS 256
#define DIGIT_MASK 0xFFul

#ifdef ON_CPU

kernel void count_digits(
    global const ulong *numbers, ulong count, uint shift, ulong block_size, uint blocks, global uint *counts
) {
    uint found[DIGITS];
    for (uint digit = 0; digit < DIGITS; ++digit) found[digit] = 0;
    ulong begin = get_group_id(0) * block_size, end = min(begin + block_size, count);
    for (ulong i = begin; i < end; ++i) ++found[numbers[i] >> shift & DIGIT_MASK];
    for (uint digit = 0; digit < DIGITS; ++digit) counts[(ulong)digit * blocks + get_group_id(0)] = found[digit];
}

kernel void scatter_digits(
    global const ulong *numbers, global const uint *beside, ulong count, uint shift, ulong block_size, uint blocks,
    global const ulong *firsts, global ulong *sorted, global uint *sorted_beside
) {
    ulong next[DIGITS];
    for (uint digit = 0; digit < DIGITS; ++digit) next[digit] = firsts[(ulong)digit * blocks + get_group_id(0)];
    ulong begin = get_group_id(0) * block_size, end = min(begin + block_size, count);
    for (ulong i = begin; i < end; ++i) {
        ulong place = next[numbers[i] >> shift & DIGIT_MASK]++;
        sorted[place] = numbers[i];
        if (beside) sorted_beside[place] = beside[i];
    }
}

#else

#define GROUP_SIZE 256
#define MASK_BITS 32
#define MASK_WORDS (GROUP_SIZE / MASK_BITS)

kernel void count_digits(
    global const ulong *numbers, ulong count, uint shift, ulong block_size, uint blocks, global uint *counts
) {
    local uint found[DIGITS];
    uint item = get_local_id(0);
    found[item] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    ulong begin = get_group_id(0) * block_size, end = min(begin + block_size, count);
    for (ulong i = begin + item; i < end; i += GROUP_SIZE) atomic_inc(&found[numbers[i] >> shift & DIGIT_MASK]);
    barrier(CLK_LOCAL_MEM_FENCE);
    counts[(ulong)item * blocks + get_group_id(0)] = found[item];
}

kernel void scatter_digits(
    global const ulong *numbers, global const uint *beside, ulong count, uint shift, ulong block_size, uint blocks,
    global const ulong *firsts, global ulong *sorted, global uint *sorted_beside
) {
    local ulong next[DIGITS];
    local uint masks[MASK_WORDS][DIGITS];
    uint item = get_local_id(0), word = item / MASK_BITS, bit = item % MASK_BITS;
    next[item] = firsts[(ulong)item * blocks + get_group_id(0)];
    for (uint each = 0; each < MASK_WORDS; ++each) masks[each][item] = 0;
    ulong begin = get_group_id(0) * block_size, end = min(begin + block_size, count);
    for (ulong tile = begin; tile < end; tile += GROUP_SIZE) {
        ulong i = tile + item, number = 0;
        uint digit = 0;
        bool is_mine = i < end;
        barrier(CLK_LOCAL_MEM_FENCE);
        if (is_mine) {
            number = numbers[i];
            digit = number >> shift & DIGIT_MASK;
            atomic_or(&masks[word][digit], 1u << bit);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (is_mine) {
            uint before = popcount(masks[word][digit] & ((1u << bit) - 1));
            for (uint each = 0; each < word; ++each) before += popcount(masks[each][digit]);
            ulong place = next[digit] + before;
            sorted[place] = number;
            if (beside) sorted_beside[place] = beside[i];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        uint all = 0;
        for (uint each = 0; each < MASK_WORDS; ++each) {
            all += popcount(masks[each][item]);
            masks[each][item] = 0;
        }
        next[item] += all;
    }
}

#endif
