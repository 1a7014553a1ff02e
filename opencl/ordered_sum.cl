/* The sum of floats as one addition after the other rounds it, on the processor itself.

       ordered_sum       moves *total by the values of rows, in their order

   An addition waits for the one before, which takes four times as long as to read the values. But while the total stays between two
   powers of 2 its last bit has one size, the unit: to add a value is to add its nearest multiple of the unit, exactly, unless the value
   lies just between two. So a block of rows is rounded and added in lanes in any order. Whether the total can have left the two powers
   is bounded by the least and the greatest sum of each lane; then, and where a value lies between, the block is added row by row.
*/
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#pragma OPENCL FP_CONTRACT OFF
#define LANES 8
#define BLOCK 256
#define SIGN 0x8000000000000000ul

static inline double sum8(double8 v) {
    return ((v.s0 + v.s1) + (v.s2 + v.s3)) + ((v.s4 + v.s5) + (v.s6 + v.s7));
}

/* Adds a block to the total; or leaves it, where only single steps tell the result. */
static bool add_block(global const double *values, double *total) {
    ulong exponent = (as_ulong(*total) & ~SIGN) >> 52;
    if (exponent < 64 || exponent > 1900) return false;
    double power = as_double(exponent << 52), unit = as_double((exponent - 52) << 52), to_unit = 1.5 * power;
    double8 sums = 0, least = 0, greatest = 0, largest = 0;
    long8 between = 0;
    #pragma unroll 4
    for (uint row = 0; row < BLOCK; row += LANES) {
        double8 value = vload8(0, values + row), size = fabs(value);
        double8 rounded = (value + to_unit) - to_unit;
        between |= fabs(value - rounded) == 0.5 * unit;
        largest = size > largest ? size : largest;
        sums += rounded;
        least = sums < least ? sums : least;
        greatest = sums > greatest ? sums : greatest;
    }
    /* A value's place in its step of lanes is not looked at: each may come before the others. */
    double low = sum8(least - largest), high = sum8(greatest + largest), added = sum8(sums);
    bool is_small = !any(largest >= 0.5 * power) && low > -power && high < power;
    double at = fabs(*total), from = *total < 0 ? -high : low, to = *total < 0 ? -low : high;
    if (any(between) || !is_small || !(at + from > power * (1 + 0x1p-40)) || !(at + to < 2 * power * (1 - 0x1p-40)) || isnan(added))
        return false;
    *total += added;
    return true;
}

kernel void ordered_sum(ulong count, global const double *values, global double *total) {
    if (get_global_id(0)) return;
    double sum = *total;
    ulong row = 0;
    while (row < count) {
        ulong left = count - row;
        if (left >= BLOCK && add_block(values + row, &sum)) {
            row += BLOCK;
            continue;
        }
        for (ulong end = row + min(left, (ulong)BLOCK); row < end; ++row) sum += values[row];
    }
    *total = sum;
}
