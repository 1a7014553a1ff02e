/* The lists of one partition of the relationships: the entries of each node, sorted by neighbour.

   A partition holds the relationships of some types in one direction or both; strategies/gsi/pcsr.py builds it.

       groups          group_count > 0: hash groups of 32 words (128 bytes): 15 pairs (node, first entry) and a last
                       pair (overflow group or NONE; end of the last node's entries). Overflow groups follow the
                       group_count groups that the hash selects from. A node's list ends where the next pair's begins.
                       An empty pair holds NONE.
                       group_count = 0: row offsets, node v has the entries groups[v] … groups[v + 1] - 1
       neighbours      of each entry
       relationships   of each entry; null if not needed
       types           of each entry; null if all entries have an allowed type
       allowed         bitmap of the allowed types
       mask            bitmap of the relationships that pass the predicates; null for all
*/
#include "name_ids.h"

#define GROUP_WORDS 32
#define GROUP_PAIRS 15

typedef struct {
    global const uint *groups;
    uint group_count;
    global const uint *neighbours, *relationships;
    global const TypeId *types;
    global const uint *allowed, *mask;
} Lists;

#define LISTS_PARAMETERS \
    global const uint *groups, uint group_count, global const uint *neighbours, global const uint *relationships, \
    global const TypeId *types, global const uint *allowed, global const uint *mask

#define LISTS {groups, group_count, neighbours, relationships, types, allowed, mask}

static inline uint hash_of_node(uint node) {
    uint hash = node * 0x9E3779B1u;
    hash ^= hash >> 16;
    hash *= 0x85EBCA6Bu;
    return hash ^ (hash >> 13);
}

/* The entries [x, y) of a node. One group, which is one memory transaction, holds the pair of almost every node. */
static inline uint2 list_of(const Lists *lists, uint node) {
    if (lists->group_count == 0) return (uint2)(lists->groups[node], lists->groups[node + 1]);
    uint number = mul_hi(hash_of_node(node), lists->group_count);
    while (number != NONE) {
        global const uint *group = lists->groups + (ulong)number * GROUP_WORDS;
        for (uint pair = 0; pair < GROUP_PAIRS; ++pair) {
            if (group[2 * pair] == node) return (uint2)(group[2 * pair + 1], group[2 * pair + 3]);
            if (group[2 * pair] == NONE) break;
        }
        number = group[2 * GROUP_PAIRS];
    }
    return (uint2)(0, 0);
}

/* The part of the entries [x, y) that leads to one neighbour. */
static inline uint2 entries_to(const Lists *lists, uint2 list, uint neighbour) {
    list.x = (uint)lower_bound(lists->neighbours, list.x, list.y, neighbour);
    list.y = (uint)upper_bound(lists->neighbours, list.x, list.y, neighbour);
    return list;
}

/* Lists a long row among `count` rows: rows for whole groups from the front of long_rows, rows for a launch of
   their own from its end. */
static inline void note_long_row(
    global uint *long_rows, volatile global uint *long_counts, ulong count, uint row, bool is_longest
) {
    uint place = atomic_inc(&long_counts[is_longest]);
    long_rows[is_longest ? count - 1 - place : place] = row;
}

/* True if an entry has an allowed type and its relationship passes the predicates. */
static inline bool entry_passes(const Lists *lists, uint entry) {
    if (lists->types) {
        uint type = lists->types[entry];
        if (!((lists->allowed[type >> 5] >> (type & 31)) & 1)) return false;
    }
    if (!lists->mask) return true;
    uint relationship = lists->relationships[entry];
    return (lists->mask[relationship >> 5] >> (relationship & 31)) & 1;
}

/* True if one of the entries [x, y) leads to this neighbour and passes. */
static inline bool has_neighbour(const Lists *lists, uint2 list, uint neighbour) {
    uint entry = (uint)lower_bound(lists->neighbours, list.x, list.y, neighbour);
    for (; entry < list.y && lists->neighbours[entry] == neighbour; ++entry) {
        if (entry_passes(lists, entry)) return true;
    }
    return false;
}
