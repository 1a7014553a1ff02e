/* Makes an array from an older one in the older one's memory, which nothing else reads any more (see patch.cl for
   the table). Work split: a group is one work item and makes one share of entries.

          save_words, save_halves   copy the entries beside each share to edges, before anything is written
          move_words, move_halves   move the entries of a share and those of its edges to their places
          patch_words_in_place      the same for values that are numbers that move: loads a share and its edges to
                                    local memory, writes the share

       edges   [2 * edge * groups]   `edge` entries before and after each share

   Entries move by at most `edge` positions. Unchanged entries are not written, and memory is read and written
   once less than from array to array.
*/
#include "patch.h"

#define SHARE 8192
#define MAX_EDGE 1024

#ifdef ON_CPU
DEFINE_MOVE_FEW(move_few_here, local)
#endif

#define SAVE(kind)                                                                                                    \
    uint at = get_group_id(0) * share;                                                                                \
    global kind *before = edges + 2 * edge * (uint)get_group_id(0), *after = before + edge;                           \
    for (uint i = 0; i < edge; ++i) {                                                                                 \
        if (at && at - edge + i < older_count) before[i] = older[at - edge + i];                                      \
        if (at + share + i < older_count) after[i] = older[at + share + i];                                           \
    }

kernel void save_words(global const uint *older, uint older_count, global uint *edges, uint edge, uint share) {
    SAVE(uint)
}

kernel void save_halves(global const ushort *older, uint older_count, global ushort *edges, uint edge, uint share) {
    SAVE(ushort)
}

/* Moves entries to a place that may overlap theirs. On a CPU memmove takes two thirds of the time of loops. */
#ifdef ON_CPU
#define MOVE_ENTRIES(array, target, source, size)                                                                     \
    __builtin_memmove(                                                                                                \
        (global void *)((array) + (target)), (global const void *)((array) + (source)), (size) * sizeof(*(array))     \
    )
#else
#define MOVE_ENTRIES(array, target, source, size)                                                                     \
    if ((target) < (source)) {                                                                                        \
        for (uint i = 0; i < (size); ++i) (array)[(target) + i] = (array)[(source) + i];                              \
    } else {                                                                                                          \
        for (uint i = (size); i--;) (array)[(target) + i] = (array)[(source) + i];                                    \
    }
#endif

#define DEFINE_MOVED(kind)                                                                                            \
    static inline void kind##_moved(global kind *array, uint target, uint source, uint size, kind amount) {           \
        if (target != source && size) { MOVE_ENTRIES(array, target, source, size); }                                  \
        if (amount) {                                                                                                 \
            for (uint i = 0; i < size; ++i) array[target + i] += amount;                                              \
        }                                                                                                             \
    }
DEFINE_MOVED(uint)
DEFINE_MOVED(ushort)

/* The part of a stretch in this share: entries start ... stop-1, of which the first comes from `source`. */
#define PART                                                                                                          \
    uint start = max(table[each], at), stop = each + 1 < stretch_count ? min(end, table[each + 1]) : end;             \
    uint source = places[each] + (start - table[each]), size = stop - start;                                          \
    bool is_new = places[each] >= older_count;

/* Stretches that move down are moved from the first on, those that move up from the last on, and new values are
   written last. So no entry is overwritten before it was moved: what moves down ends before the entries of the next
   stretches, what moves up begins behind those of the stretches before. */
#define MOVE(kind)                                                                                                    \
    global const uint *places = table + stretch_count, *more = places + stretch_count;                                \
    global const uint *added = more + stretch_count;                                                                  \
    global const kind *before = edges + 2 * edge * (uint)get_group_id(0), *after = before + edge;                     \
    uint at = get_group_id(0) * share, border = at + share, end = min(border, count);                                 \
    uint first = last_not_above(table, stretch_count, at), last = last_not_above(table, stretch_count, end - 1);      \
    for (uint each = first; each <= last; ++each) {                                                                   \
        PART                                                                                                          \
        kind amount = (kind)more[each];                                                                               \
        if (is_new || source < start || (source == start && !amount)) continue;                                       \
        uint inside = source < border ? min(size, border - source) : 0;                                               \
        kind##_moved(array, start, source, inside, amount);                                                            \
        for (uint i = inside; i < size; ++i) array[start + i] = after[source + i - border] + amount;                  \
    }                                                                                                                 \
    for (uint each = last + 1; each-- > first;) {                                                                     \
        PART                                                                                                          \
        kind amount = (kind)more[each];                                                                               \
        if (is_new || source >= start) continue;                                                                      \
        uint outside = source < at ? min(size, at - source) : 0;                                                      \
        kind##_moved(array, start + outside, source + outside, size - outside, amount);                               \
        for (uint i = 0; i < outside; ++i) array[start + i] = before[edge + source + i - at] + amount;                \
    }                                                                                                                 \
    for (uint each = first; each <= last; ++each) {                                                                   \
        PART                                                                                                          \
        kind amount = (kind)more[each];                                                                               \
        if (!is_new) continue;                                                                                        \
        for (uint i = 0; i < size; ++i) array[start + i] = (kind)added[source - older_count + i] + amount;            \
    }

kernel void move_words(
    global uint *array, uint older_count, global const uint *table, uint stretch_count, global const uint *edges,
    uint edge, uint count, uint share
) {
    MOVE(uint)
}

kernel void move_halves(
    global ushort *array, uint older_count, global const uint *table, uint stretch_count,
    global const ushort *edges, uint edge, uint count, uint share
) {
    MOVE(ushort)
}

kernel void patch_words_in_place(
    global uint *restrict array, uint older_count, global const uint *restrict table, uint stretch_count, uint shift_count,
    global const uint *restrict blocks, global const uint *restrict edges, uint edge, uint count
) {
    global const uint *places = table + stretch_count, *more = places + stretch_count;
    global const uint *starts = more + stretch_count, *added = starts + 2 * shift_count;
    uint at = get_group_id(0) * SHARE, first = at, end = min(at + SHARE, count);
    uint stretch = last_not_above(table, stretch_count, at);
    /* old[edge + i] is entry i of the share; 0 if there is none. */
    local uint old[SHARE + 2 * MAX_EDGE];
    global const uint *before = edges + 2 * edge * (uint)get_group_id(0), *after = before + edge;
    uint here = at < older_count ? min(older_count - at, (uint)SHARE) : 0;
    uint behind = at + SHARE < older_count ? min(older_count - at - SHARE, edge) : 0;
    for (uint i = 0; i < edge; ++i) old[i] = at && at - edge + i < older_count ? before[i] : 0;
    for (uint i = 0; i < here; ++i) old[edge + i] = array[at + i];
    for (uint i = 0; i < behind; ++i) old[edge + SHARE + i] = after[i];
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
