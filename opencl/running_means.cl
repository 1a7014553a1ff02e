/* avg and stDev of groups with the rounding of a running mean, row by row, on the host's processor. Work split: one
   item does everything, as within a group every step waits for the one before; steps of different groups overlap in
   the processor.

          running_means    mean += (item - mean) / count, and the sum of squared differences by Welford's method
          running_mean     the same for one group, in lanes
          infinite_means   the same without squares; an infinite mean stays unless it meets its opposite

       states     double[3 * groups]   count, mean, squares of each group
       values     ulong[count]         bits of a double or long
       group_of   long[count]; null if all rows are one group

   Lanes: a block of rows is split into consecutive pieces, and each lane takes the steps of one piece. The mean
   at the start of a piece is not known, but can be estimated: from a nearby start most steps are the same, so
   that the error at the end equals that at the start. The pieces are walked twice: from estimated starts, whose
   errors are then propagated from end to start, and from these starts. A piece that begins at exactly the mean
   at which the one before ended is exact if that one is, and the first one is: so accepted results are proved
   exact. With many rows each step is small compared to the mean, and few pieces are rejected.
*/
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#pragma OPENCL FP_CONTRACT OFF
#include "ordered_sum.h"

#define STATE 3
#define LANES 4
#define VECTORS 4
#define PIECE 64
#define PIECES (VECTORS * LANES)
#define BLOCK (PIECES * PIECE)
/* Steps are taken one by one for the first FEW_SEEN rows, and for REFUSED_ROWS after a block most of whose
   pieces were rejected. */
#define FEW_SEEN 8192
#define REFUSED_ROWS (2 * BLOCK)

static inline double item_of(global const ulong *values, ulong row, bool are_integers) {
    return are_integers ? convert_double(as_long(values[row])) : as_double(values[row]);
}

/* The same row of four pieces. */
static inline double4 items_of(global const ulong *values, bool are_integers) {
    ulong4 raw = (ulong4)(values[0], values[PIECE], values[2 * PIECE], values[3 * PIECE]);
    return are_integers ? convert_double4(as_long4(raw)) : as_double4(raw);
}

static inline void store_pieces(double4 items, global double *places) {
    places[0] = items.s0, places[PIECE] = items.s1, places[2 * PIECE] = items.s2, places[3 * PIECE] = items.s3;
}

/* Estimates the mean before each piece, ignoring rounding. */
static inline void guess_starts(global const ulong *values, bool are_integers, double seen, double mean, double *starts) {
    double before = 0;
    for (uint piece = 0; piece < PIECES; ++piece) {
        starts[piece] = piece ? mean + before / (seen + piece * PIECE) : mean;
        double4 sum = 0;
        for (uint row = 0; row < PIECE; row += LANES) {
            ulong4 raw = vload4(0, values + piece * PIECE + row);
            sum += (are_integers ? convert_double4(as_long4(raw)) : as_double4(raw)) - mean;
        }
        before += sum4(sum);
    }
}

/* Takes the steps of all pieces; writes the addend of each step to the squares if `squares` is not null. */
static inline void walk(
    global const ulong *values, bool are_integers, double seen, const double *starts, double *ends, global double *squares
) {
    double4 at[VECTORS], count[VECTORS];
    for (uint each = 0; each < VECTORS; ++each) {
        at[each] = vload4(each, starts);
        count[each] = seen + ((double4)(0, 1, 2, 3) + each * LANES) * PIECE;
    }
    for (uint row = 0; row < PIECE; ++row) {
        #pragma unroll
        for (uint each = 0; each < VECTORS; ++each) {
            uint place = row + each * LANES * PIECE;
            double4 item = items_of(values + place, are_integers), from = item - at[each];
            count[each] += 1;
            at[each] += from / count[each];
            if (squares) store_pieces(from * (item - at[each]), squares + place);
        }
    }
    for (uint each = 0; each < VECTORS; ++each) vstore4(at[each], each, ends);
}

/* Takes the steps of a block, or of its first pieces; returns the number of pieces. */
static inline uint take_block(
    global const ulong *values, bool are_integers, bool with_squares, double *state, global double *scratch
) {
    double starts[PIECES], ends[PIECES], start = state[1];
    guess_starts(values, are_integers, state[0], start, starts);
    walk(values, are_integers, state[0], starts, ends, 0);
    for (uint piece = 0; piece < PIECES; ++piece) {
        double guessed = starts[piece];
        starts[piece] = start;
        start = ends[piece] + (start - guessed);
    }
    walk(values, are_integers, state[0], starts, ends, with_squares ? scratch : 0);
    uint taken = 1;
    while (taken < PIECES && as_ulong(ends[taken - 1]) == as_ulong(starts[taken])) ++taken;
    state[0] += taken * PIECE;
    state[1] = ends[taken - 1];
    if (with_squares) state[2] = add_in_order(scratch, taken * PIECE, state[2]);
    return taken;
}

static inline void take_rows(global const ulong *values, ulong count, bool are_integers, double *state) {
    double seen = state[0], mean = state[1], squares = state[2];
    for (ulong row = 0; row < count; ++row) {
        seen += 1;
        double item = item_of(values, row, are_integers), from = item - mean;
        mean += from / seen;
        squares += from * (item - mean);
    }
    state[0] = seen;
    state[1] = mean;
    state[2] = squares;
}

static inline void take_all(
    global const ulong *values, ulong count, bool are_integers, bool with_squares, double *state, global double *scratch
) {
    ulong one_by_one = state[0] < FEW_SEEN ? FEW_SEEN : 0;
    for (ulong row = 0; row < count;) {
        ulong left = count - row;
        if (row < one_by_one || left < BLOCK) {
            left = min(left, (ulong)BLOCK);
            take_rows(values + row, left, are_integers, state);
            row += left;
        } else {
            uint taken = take_block(values + row, are_integers, with_squares, state, scratch);
            row += taken * PIECE;
            if (taken < PIECES / 4) one_by_one = row + REFUSED_ROWS;
        }
    }
}

/* scratch: BLOCK doubles, as RunningMeans allocates. Without `with_squares`, the squares are not updated for all
   rows. */
kernel void running_mean(
    ulong count, uint are_integers, uint with_squares, global const ulong *values, global double *states, global double *scratch
) {
    if (get_global_id(0)) return;
    double state[STATE] = {states[0], states[1], states[2]};
    if (are_integers) take_all(values, count, true, with_squares, state, scratch);
    else take_all(values, count, false, with_squares, state, scratch);
    for (uint word = 0; word < STATE; ++word) states[word] = state[word];
}

kernel void running_means(ulong count, uint are_integers, global const long *group_of, global const ulong *values, global double *states) {
    if (get_global_id(0)) return;
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
