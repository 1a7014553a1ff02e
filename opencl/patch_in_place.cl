/* Makes an array from an older one in the older one's memory, which nothing else reads any more (see patch.cl for
   the table). Work split: a group is one work item and makes one share of SHARE entries.

          save_words, save_halves        copy the entries beside each share to edges, before anything is written
          patch_words_in_place, patch_halves_in_place   load a share and its edges to local memory, write the share

       edges   [2 * edge * groups]   `edge` entries before and after each share

   Entries move by at most `edge` positions. Unchanged shares are not written, and memory is read and written
   once less than from array to array.
*/
#include "patch.h"

#define SHARE 8192
#define MAX_EDGE 1024

#ifdef ON_CPU
DEFINE_MOVE_FEW(move_few_here, local)
#endif

#define SAVE(kind)                                                                                                    \
    uint at = get_group_id(0) * SHARE;                                                                                \
    global kind *before = edges + 2 * edge * (uint)get_group_id(0), *after = before + edge;                           \
    for (uint i = 0; i < edge; ++i) {                                                                                 \
        if (at && at - edge + i < older_count) before[i] = older[at - edge + i];                                      \
        if (at + SHARE + i < older_count) after[i] = older[at + SHARE + i];                                           \
    }

kernel void save_words(global const uint *older, uint older_count, global uint *edges, uint edge) {
    SAVE(uint)
}

kernel void save_halves(global const ushort *older, uint older_count, global ushort *edges, uint edge) {
    SAVE(ushort)
}

/* True if a share is unchanged. */
static inline bool stays(
    global const uint *table, uint stretch_count, uint stretch, uint older_count, uint end
) {
    uint place = table[stretch_count + stretch];
    if (place >= older_count || place != table[stretch] || table[2 * stretch_count + stretch]) return false;
    return stretch + 1 == stretch_count || table[stretch + 1] >= end;
}

/* Loads the share and its edges: old[edge + i] is entry i of the share; 0 if there is none. */
#define LOAD(kind)                                                                                                    \
    local kind old[SHARE + 2 * MAX_EDGE];                                                                            \
    global const kind *before = edges + 2 * edge * (uint)get_group_id(0), *after = before + edge;                     \
    uint here = at < older_count ? min(older_count - at, (uint)SHARE) : 0;                                            \
    uint behind = at + SHARE < older_count ? min(older_count - at - SHARE, edge) : 0;                                 \
    for (uint i = 0; i < edge; ++i) old[i] = at && at - edge + i < older_count ? before[i] : 0;                       \
    for (uint i = 0; i < here; ++i) old[edge + i] = array[at + i];                                                    \
    for (uint i = 0; i < behind; ++i) old[edge + SHARE + i] = after[i];

kernel void patch_words_in_place(
    global uint *restrict array, uint older_count, global const uint *restrict table, uint stretch_count, uint shift_count,
    global const uint *restrict blocks, global const uint *restrict edges, uint edge, uint count
) {
    global const uint *places = table + stretch_count, *more = places + stretch_count;
    global const uint *starts = more + stretch_count, *added = starts + 2 * shift_count;
    uint at = get_group_id(0) * SHARE, first = at, end = min(at + SHARE, count);
    uint stretch = last_not_above(table, stretch_count, at);
    if (!shift_count && stays(table, stretch_count, stretch, older_count, end)) return;
    LOAD(uint)
    uint size = behind ? edge + SHARE + behind : edge + here;
#ifdef ON_CPU
    if (shift_count && shift_count <= FEW_SHIFTS) move_few_here(old, size, starts, shift_count, old);
#endif
    if (shift_count > FEW_SHIFTS) {
        for (uint i = 0; i < size; ++i) old[i] = moved(old[i], starts, shift_count, blocks);
    }
    for (; at < end; ++stretch) {
        uint stop = stretch + 1 < stretch_count ? min(end, table[stretch + 1]) : end;
        uint place = places[stretch] + (at - table[stretch]), amount = more[stretch];
        if (place >= older_count) {
            for (uint i = 0; i < stop - at; ++i) array[at + i] = added[place - older_count + i] + amount;
        } else {
            local const uint *source = old + (edge + place - first);
            for (uint i = 0; i < stop - at; ++i) array[at + i] = source[i] + amount;
        }
        at = stop;
    }
}

kernel void patch_halves_in_place(
    global ushort *restrict array, uint older_count, global const uint *restrict table, uint stretch_count,
    global const ushort *restrict edges, uint edge, uint count
) {
    global const uint *places = table + stretch_count, *added = table + 3 * stretch_count;
    uint at = get_group_id(0) * SHARE, first = at, end = min(at + SHARE, count);
    uint stretch = last_not_above(table, stretch_count, at);
    if (stays(table, stretch_count, stretch, older_count, end)) return;
    LOAD(ushort)
    for (; at < end; ++stretch) {
        uint stop = stretch + 1 < stretch_count ? min(end, table[stretch + 1]) : end;
        uint place = places[stretch] + (at - table[stretch]);
        if (place >= older_count) {
            for (uint i = 0; i < stop - at; ++i) array[at + i] = (ushort)added[place - older_count + i];
        } else {
            local const ushort *source = old + (edge + place - first);
            for (uint i = 0; i < stop - at; ++i) array[at + i] = source[i];
        }
        at = stop;
    }
}
