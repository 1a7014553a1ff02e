/* The sum of floats with the rounding of sequential additions, on the host's processor. Work split:

          ordered_sum   one item: adds values[0 … count-1] to *total

   An addition waits for the one before, which takes four times as long as reading the values. But while the
   total stays between two powers of 2, its last bit has a fixed weight, the unit: adding a value means adding
   its nearest multiple of the unit, exactly, unless the value lies halfway between two. So a block of rows is
   rounded and added in lanes in any order. The least and the greatest sum of each lane bound whether the total
   may have left the interval between the two powers; then, and if a value lies halfway, the block is added row
   by row.
*/
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#pragma OPENCL FP_CONTRACT OFF
#include "ordered_sum.h"

kernel void ordered_sum(ulong count, global const double *values, global double *total) {
    if (get_global_id(0)) return;
    *total = add_in_order(values, count, *total);
}
