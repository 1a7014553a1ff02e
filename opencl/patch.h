/* Origins of the entries of a changed array, and the shifts of numbers; see patch.cl for the table. */
#include "work_split.h"

#define BLOCK_BITS 5
#define MIXED 0x80000000u
#define FEW_SHIFTS 32

/* The last of the ascending starts that is not above the number, or 0. */
static inline uint last_not_above(global const uint *starts, uint count, uint number) {
    uint low = 0, high = count;
    while (low < high) {
        uint middle = (low + high) / 2;
        if (starts[middle] <= number) low = middle + 1;
        else high = middle;
    }
    return low ? low - 1 : 0;
}

static inline uint moved(
    uint number, global const uint *starts, uint shift_count, global const uint *blocks
) {
    uint amount = blocks[number >> BLOCK_BITS];
    if (amount == MIXED) amount = starts[shift_count + last_not_above(starts, shift_count, number)];
    return number + amount;
}

#ifdef ON_CPU
#define TILE 64

/* Works on tiles, so that the compiler vectorises; source and target may be the same. */
#define DEFINE_MOVE_FEW(name, space)                                                                                  \
    static inline void name(                                                                                          \
        space const uint *source, uint count, global const uint *starts, uint shift_count, space uint *found          \
    ) {                                                                                                               \
        for (uint first = 0; first < count; first += TILE) {                                                          \
            uint size = min(count - first, (uint)TILE);                                                               \
            uint values[TILE], amounts[TILE];                                                                         \
            for (uint i = 0; i < TILE; ++i) {                                                                         \
                values[i] = i < size ? source[first + i] : 0;                                                         \
                amounts[i] = starts[shift_count];                                                                     \
            }                                                                                                         \
            for (uint shift = 1; shift < shift_count; ++shift) {                                                      \
                uint start = starts[shift], amount = starts[shift_count + shift];                                     \
                for (uint i = 0; i < TILE; ++i) amounts[i] = values[i] >= start ? amount : amounts[i];                \
            }                                                                                                         \
            for (uint i = 0; i < size; ++i) found[first + i] = values[i] + amounts[i];                                \
        }                                                                                                             \
    }
DEFINE_MOVE_FEW(move_few, global)
#endif
