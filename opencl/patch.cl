/* Makes an array from an older one of which stretches moved (see gpugda/data/patches). Work split:

          block_shifts   one item per block of 32 numbers: their shift, or MIXED if they move differently
          patch_words    one group per `share` entries: uint array, whose values may be numbers that move
          patch_halves   one group per `share` entries: ushort array

       table    uint, concatenated: starts of stretches; their positions in the older array, or beyond its end in the
                added values; addends for their values; starts of ranges of numbers that move alike; their shifts;
                added values
       blocks   uint[bound / 32 + 1]; numbers that move are below bound
       found    the new array, count entries
*/
#include "patch.h"

kernel void block_shifts(
    global const uint *table, uint stretch_count, uint shift_count, uint block_count, global uint *blocks
) {
    global const uint *starts = table + 3 * stretch_count, *amounts = starts + shift_count;
    FOR_EACH(block, block_count) {
        uint first = (uint)block << BLOCK_BITS;
        uint shift = last_not_above(starts, shift_count, first);
        uint next = shift + 1 < shift_count ? starts[shift + 1] : NONE;
        blocks[block] = next - first < (1u << BLOCK_BITS) ? MIXED : amounts[shift];
    }
}

kernel void patch_words(
    global const uint *older, uint older_count, global const uint *table, uint stretch_count, uint shift_count,
    global const uint *blocks, global uint *found, uint count, uint share
) {
    global const uint *places = table + stretch_count, *more = places + stretch_count;
    global const uint *starts = more + stretch_count, *added = starts + 2 * shift_count;
    uint at = get_group_id(0) * share, end = min(at + share, count);
    uint item = get_local_id(0), items = get_local_size(0);
    for (uint stretch = last_not_above(table, stretch_count, at); at < end; ++stretch) {
        uint stop = stretch + 1 < stretch_count ? min(end, table[stretch + 1]) : end, size = stop - at;
        uint place = places[stretch] + (at - table[stretch]), amount = more[stretch];
        bool is_new = place >= older_count;
        global const uint *source = is_new ? added + (place - older_count) : older + place;
        global uint *target = found + at;
        if (is_new || shift_count == 0) {
            for (uint i = item; i < size; i += items) target[i] = source[i] + amount;
#ifdef ON_CPU
        } else if (shift_count <= FEW_SHIFTS) {
            move_few(source, size, starts, shift_count, target);
#endif
        } else {
            for (uint i = item; i < size; i += items) target[i] = moved(source[i], starts, shift_count, blocks);
        }
        at = stop;
    }
}

kernel void patch_halves(
    global const ushort *older, uint older_count, global const uint *table, uint stretch_count,
    global ushort *found, uint count, uint share
) {
    global const uint *places = table + stretch_count, *added = table + 3 * stretch_count;
    uint at = get_group_id(0) * share, end = min(at + share, count);
    uint item = get_local_id(0), items = get_local_size(0);
    for (uint stretch = last_not_above(table, stretch_count, at); at < end; ++stretch) {
        uint stop = stretch + 1 < stretch_count ? min(end, table[stretch + 1]) : end, size = stop - at;
        uint place = places[stretch] + (at - table[stretch]);
        for (uint i = item; i < size; i += items) {
            found[at + i] = place < older_count ? older[place + i] : (ushort)added[place - older_count + i];
        }
        at = stop;
    }
}
