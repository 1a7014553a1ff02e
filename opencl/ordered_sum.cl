/* The sum of floats as one addition after the other rounds it, on the processor itself.

       ordered_sum       moves *total by the values of rows, in their order

   An addition waits for the one before, which takes four times as long as to read the values. But while the total stays between two
   powers of 2 its last bit has one size, the unit: to add a value is to add its nearest multiple of the unit, exactly, unless the value
   lies just between two. So a block of rows is rounded and added in lanes in any order. Whether the total can have left the two powers
   is bounded by the least and the greatest sum of each lane; then, and where a value lies between, the block is added row by row.
*/
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#pragma OPENCL FP_CONTRACT OFF
#include "ordered_sum.h"

kernel void ordered_sum(ulong count, global const double *values, global double *total) {
    if (get_global_id(0)) return;
    *total = add_in_order(values, count, *total);
}
