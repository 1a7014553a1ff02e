/* Adds floats in their order with the rounding of sequential additions (see ordered_sum.cl).

   Vectors have 256 bits: with 512 bits, PoCL's compiler takes minutes and gigabytes, or ends the process, on a
   processor with AVX-512. */
#define SUM_LANES 4
#define SUM_BLOCK 256
#define SIGN 0x8000000000000000ul

static inline double sum4(double4 v) {
    return (v.s0 + v.s1) + (v.s2 + v.s3);
}

/* Adds a block to the total; returns false, without adding, if only sequential steps give the exact result. */
static bool add_block(global const double *values, double *total) {
    ulong exponent = (as_ulong(*total) & ~SIGN) >> 52;
    if (exponent < 64 || exponent > 1900) return false;
    double power = as_double(exponent << 52), unit = as_double((exponent - 52) << 52), to_unit = 1.5 * power;
    double4 sums = 0, least = 0, greatest = 0, largest = 0;
    long4 between = 0;
    #pragma unroll 4
    for (uint row = 0; row < SUM_BLOCK; row += SUM_LANES) {
        double4 value = vload4(0, values + row), size = fabs(value);
        double4 rounded = (value + to_unit) - to_unit;
        between |= fabs(value - rounded) == 0.5 * unit;
        largest = size > largest ? size : largest;
        sums += rounded;
        least = sums < least ? sums : least;
        greatest = sums > greatest ? sums : greatest;
    }
    /* A value's position within its step of lanes is not tracked: each may come before the others. */
    double low = sum4(least - largest), high = sum4(greatest + largest), added = sum4(sums);
    bool is_small = !any(largest >= 0.5 * power) && low > -power && high < power;
    double at = fabs(*total), from = *total < 0 ? -high : low, to = *total < 0 ? -low : high;
    if (any(between) || !is_small || !(at + from > power * (1 + 0x1p-40)) || !(at + to < 2 * power * (1 - 0x1p-40)) || isnan(added))
        return false;
    *total += added;
    return true;
}

static double add_in_order(global const double *values, ulong count, double sum) {
    ulong row = 0;
    while (row < count) {
        ulong left = count - row;
        if (left >= SUM_BLOCK && add_block(values + row, &sum)) {
            row += SUM_BLOCK;
            continue;
        }
        for (ulong end = row + min(left, (ulong)SUM_BLOCK); row < end; ++row) sum += values[row];
    }
    return sum;
}
