/* avg and stDev of groups with the rounding of a running mean, row by row, on the processor itself.

       running_means     mean += (item - mean) / count, and the sum of squared differences by Welford's method
       infinite_means    the same without squares, where an infinite mean stays unless it meets its opposite

   One item does all: of a group every step waits for the one before, and steps of several groups overlap in the processor.
   A group's state is its count, its mean and its squares; group_of is null where all rows are one group.
*/
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#pragma OPENCL FP_CONTRACT OFF
#define STATE 3

static inline double item_of(global const ulong *values, ulong row, bool are_integers) {
    return are_integers ? convert_double(as_long(values[row])) : as_double(values[row]);
}

kernel void running_means(ulong count, uint are_integers, global const long *group_of, global const ulong *values, global double *states) {
    if (get_global_id(0) || !count) return;
    if (!group_of) {
        double seen = states[0], mean = states[1], squares = states[2];
        for (ulong row = 0; row < count; ++row) {
            seen += 1;
            double item = item_of(values, row, are_integers), from = item - mean;
            mean += from / seen;
            squares += from * (item - mean);
        }
        states[0] = seen;
        states[1] = mean;
        states[2] = squares;
        return;
    }
    for (ulong row = 0; row < count; ++row) {
        global double *state = states + STATE * group_of[row];
        double seen = state[0] + 1, item = item_of(values, row, are_integers), from = item - state[1];
        double mean = state[1] + from / seen;
        state[0] = seen;
        state[1] = mean;
        state[2] += from * (item - mean);
    }
}

kernel void infinite_means(ulong count, uint are_integers, global const long *group_of, global const ulong *values, global double *states) {
    if (get_global_id(0)) return;
    for (ulong row = 0; row < count; ++row) {
        global double *state = states + (group_of ? STATE * group_of[row] : 0);
        double seen = state[0] + 1, mean = state[1], item = item_of(values, row, are_integers);
        double next = mean + (item - mean) / seen;
        bool stays = isnan(next) && (mean == item || (isinf(mean) && isfinite(item)));
        state[0] = seen;
        state[1] = stays ? mean : next;
    }
}
