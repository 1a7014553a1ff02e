/* Breadth-first search from many nodes at once, and paths traced back through the levels.

   Bit i of a node's words is set if search i has reached it: `words` words per node. A level holds what was reached
   first after a given number of steps. Steps are entries: those of node v, offsets[v] … offsets[v+1]-1, are the
   steps by which a search may reach v; neighbours[e] is where it comes from. Work split:

          set_sources        one item per search: sets the bit of its source in level
          grow_level         one item per node and word: fresh = reached from newest and not seen before; adds it to
                             seen; grown[0] = 1 if any
          find_reached       one item per pair: met[i] = 1 if the level has this bit
          count_steps_back   one item per path: counts[i] = number of steps to its node from the level before, at most
                             `most`
          write_steps_back   one item per path: writes the longer paths from sums[i] on, in the order of the shorter
                             ones

       level, newest, seen, fresh   uint[nodes * words]
       offsets                      uint[nodes + 1]      neighbours, relationships   uint[entries]
       sums                         ulong[paths + 1]     prefix sums of counts
*/
#include "work_split.h"

static inline bool has_search(global const uint *level, uint words, uint node, uint search) {
    return (level[(ulong)node * words + (search >> 5)] >> (search & 31)) & 1;
}

kernel void set_sources(global const uint *sources, ulong count, uint words, volatile global uint *level) {
    FOR_EACH(i, count) atomic_or(&level[(ulong)sources[i] * words + (i >> 5)], 1u << (i & 31));
}

kernel void grow_level(
    global const uint *offsets, global const uint *neighbours, ulong first_node, ulong count, uint words,
    global const uint *newest, global uint *seen, global uint *fresh, global uint *grown
) {
    uint any = 0;
    FOR_EACH(i, count * words) {
        ulong place = first_node * words + i;
        uint node = (uint)(first_node + i / words), word = i % words, wanted = ~seen[place], found = 0;
        uint last = wanted ? offsets[node + 1] : 0;
        for (uint entry = offsets[node]; entry < last; ++entry) {
            found |= newest[(ulong)neighbours[entry] * words + word];
            if (!(wanted & ~found)) break;
        }
        found &= wanted;
        fresh[place] = found;
        if (found) seen[place] |= found;
        any |= found;
    }
    if (any) grown[0] = 1;
}

kernel void find_reached(
    global const uint *level, uint words, global const uint *nodes, global const uint *searches, ulong count, global uint *met
) {
    FOR_EACH(i, count) met[i] = has_search(level, words, nodes[i], searches[i]);
}

kernel void count_steps_back(
    global const uint *offsets, global const uint *neighbours, global const uint *before, uint words,
    global const uint *nodes, global const uint *searches, ulong count, uint most, global uint *counts
) {
    FOR_EACH(i, count) {
        uint node = nodes[i], search = searches[i], found = 0;
        for (uint entry = offsets[node]; entry < offsets[node + 1]; ++entry) {
            found += has_search(before, words, neighbours[entry], search);
            if (found >= most) break;
        }
        counts[i] = found;
    }
}

kernel void write_steps_back(
    global const uint *offsets, global const uint *neighbours, global const uint *relationships, global const uint *before, uint words,
    global const uint *nodes, global const uint *searches, ulong first, ulong count, global const ulong *sums,
    global uint *longer_nodes, global uint *longer_searches, global uint *taken
) {
    FOR_EACH(i, count) {
        uint node = nodes[first + i], search = searches[first + i];
        ulong place = sums[first + i] - sums[first], end = sums[first + i + 1] - sums[first];
        for (uint entry = offsets[node]; place < end; ++entry) {
            uint from = neighbours[entry];
            if (!has_search(before, words, from, search)) continue;
            longer_nodes[place] = from;
            longer_searches[place] = search;
            taken[place++] = relationships[entry];
        }
    }
}
