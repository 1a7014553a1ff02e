/* The lists of one partition of the relationships: for a node, its entries there, sorted by neighbour.

   A partition holds the relationships of some types, seen along one direction or both; gpugda/match/gsi/pcsr.py builds it.

   groups      with group_count above 0, hash groups of 128 bytes, so many that a hash chooses from, and behind them those in which
               full ones go on: 15 pairs (node, first entry), and a last pair (the group in which it goes on or NONE; where the
               entries of the last node end). The list of a pair's node ends where the next pair's begins; an empty pair holds NONE.
               with group_count 0, plain row offsets: the list of node v is groups[v] … groups[v + 1] - 1.
   relationships   of each entry; null where nobody asks for them
   types       of each entry; null where all entries have the types asked for
   allowed     bitmap of the types asked for
   mask        bitmap of the relationships that predicates leave; null for all
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

/* The entries [x, y) of a node. One group, which is one transaction, holds the pair of nearly every node. */
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

/* Those of the entries [x, y) that lead to one neighbour. */
static inline uint2 entries_to(const Lists *lists, uint2 list, uint neighbour) {
    list.x = (uint)lower_bound(lists->neighbours, list.x, list.y, neighbour);
    list.y = (uint)upper_bound(lists->neighbours, list.x, list.y, neighbour);
    return list;
}

/* Of `count` rows, those whose list a group takes stand at the front of long_rows, those for a launch of their own at its end. */
static inline void note_long_row(
    global uint *long_rows, volatile global uint *long_counts, ulong count, uint row, bool is_longest
) {
    uint place = atomic_inc(&long_counts[is_longest]);
    long_rows[is_longest ? count - 1 - place : place] = row;
}

/* Has an entry a type asked for, and do predicates leave its relationship? */
static inline bool entry_passes(const Lists *lists, uint entry) {
    if (lists->types) {
        uint type = lists->types[entry];
        if (!((lists->allowed[type >> 5] >> (type & 31)) & 1)) return false;
    }
    if (!lists->mask) return true;
    uint relationship = lists->relationships[entry];
    return (lists->mask[relationship >> 5] >> (relationship & 31)) & 1;
}

/* Is one of the entries [x, y) one to this neighbour that passes? */
static inline bool has_neighbour(const Lists *lists, uint2 list, uint neighbour) {
    uint entry = (uint)lower_bound(lists->neighbours, list.x, list.y, neighbour);
    for (; entry < list.y && lists->neighbours[entry] == neighbour; ++entry) {
        if (entry_passes(lists, entry)) return true;
    }
    return false;
}
