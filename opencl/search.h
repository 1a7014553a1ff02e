/* Binary searches in ascending arrays, over the positions [first, last). */

/* First position whose value is at least `wanted`, else `last`. */
static inline ulong lower_bound(global const uint *values, ulong first, ulong last, uint wanted) {
    while (first < last) {
        ulong middle = first + (last - first) / 2;
        if (values[middle] < wanted) first = middle + 1;
        else last = middle;
    }
    return first;
}

/* The same for 32-bit positions. */
static inline uint first_place_from(global const uint *values, uint first, uint last, uint wanted) {
    while (first < last) {
        uint middle = first + (last - first) / 2;
        if (values[middle] < wanted) first = middle + 1;
        else last = middle;
    }
    return first;
}

/* First position whose value is above `wanted`, else `last`. */
static inline ulong upper_bound(global const uint *values, ulong first, ulong last, uint wanted) {
    while (first < last) {
        ulong middle = first + (last - first) / 2;
        if (values[middle] <= wanted) first = middle + 1;
        else last = middle;
    }
    return first;
}

/* First position whose sum is above `wanted`, else `last`. */
static inline ulong first_sum_above(global const ulong *sums, ulong first, ulong last, ulong wanted) {
    while (first < last) {
        ulong middle = first + (last - first) / 2;
        if (sums[middle] <= wanted) first = middle + 1;
        else last = middle;
    }
    return first;
}

/* First position whose sum is at least `wanted`, else `last`. */
static inline ulong first_sum_from(global const ulong *sums, ulong first, ulong last, ulong wanted) {
    while (first < last) {
        ulong middle = first + (last - first) / 2;
        if (sums[middle] < wanted) first = middle + 1;
        else last = middle;
    }
    return first;
}
