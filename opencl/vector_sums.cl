/* Sums of vectors two steps away that nothing else reads (see vector_program.h): they live in local memory only, so that
   no table of them is written. For batches of pinned nodes on a GPU, beside vector_batches.cl.

          sum_one_step    one team per pinned node: the same for its neighbours, whose vector is summed as it is
          sum_two_steps   groups take chunks: all ends of a pinned node, or those in one of several ranges of nodes

       bounds     uint[node_count]              upper bounds of the two-paths of each pinned node
       chunks     uint2[]                       the pinned node, and CHUNK times the number of the range
       counters   uint[1]                       counts the chunks taken
       scratch    uint[groups][node_count]      zero before and after
       registers  uint[nodes of a batch][2 * MAX_REGISTERS]

   Teams of LANES items walk to the ends of one middle node at a time. They count in a hash table of node + 1 and count in
   local memory where the pinned node has few two-paths; else in the scratch of the group, and walk again to collect.
*/
#include "work_split.h"
#include "search.h"
#include "group_sum.h"
#include "ranked_lists.h"
#include "vector_program.h"
#include "vector_sums.h"

#define MAX_SUMS 3
#define REGISTERS_OF_SUM 4
#define COUNTS 0
#define HASHES 1
#define TAKES 2

typedef struct {
    Lists lists;
    Edge one, two;
    uint low, high; /* the range of ends */
    global const uint *program;
    uint sum_count, steps[MAX_SUMS];
    global const ulong *weights;
} Walk;

static inline void count_hashed(volatile local uint *slots, uint size, uint node) {
    uint slot = node * HASH >> (clz(size) + 1);
    while (true) {
        uint key = slots[slot];
        if (key == 0) key = atomic_cmpxchg(slots + slot, 0, node + 1);
        if (key == 0 || key == node + 1) break;
        slot = (slot + 1) & (size - 1);
    }
    atomic_inc(slots + MAX_SLOTS + slot);
}

static inline void add_value(const Walk *walk, uint node, uint value, ulong *sums) {
    for (uint s = 0; s < walk->sum_count; ++s) {
        global const uint *at = walk->program + walk->steps[s], *rest = at + 3 + 2 * at[2];
        ulong product = 1;
        for (uint i = 0; i < at[2]; ++i) product *= raised(value, at[4 + 2 * i]);
        for (uint k = 0; k < rest[5]; ++k)
            sums[s * REGISTERS_OF_SUM + k] += product * weight_at(walk->weights, rest[7 + 2 * k], walk->lists.node_count, node);
    }
}

/* All two-paths from the pinned node to the range. Each item looks for the ends of a middle node; then each team walks to
   those of one after the other. */
static inline void walk_two(
    const Walk *walk, uint what, uint size, local uint2 *found, volatile local uint *slots, volatile global uint *marks, ulong *sums
) {
    const Lists *lists = &walk->lists;
    uint lane = get_local_id(0) % LANES;
    for (uint side = 0; side < 2; ++side) {
        if (!(walk->one.sides >> side & 1)) continue;
        const uint2 part = part_of(lists, side, lists->pin, walk->one.below);
        for (uint round = part.x; round < part.y; round += GROUP_SIZE) {
            uint count = min(part.y - round, (uint)GROUP_SIZE);
            for (uint next = 0; next < 2; ++next) {
                if (!(walk->two.sides >> next & 1)) continue;
                global const uint *neighbours = neighbours_on(lists, next);
                if (get_local_id(0) < count) {
                    uint2 ends = part_of(lists, next, neighbours_on(lists, side)[round + get_local_id(0)], walk->two.below);
                    if (walk->low) ends.x = first_place_from(neighbours, ends.x, ends.y, walk->low);
                    if (walk->high < lists->node_count) ends.y = first_place_from(neighbours, ends.x, ends.y, walk->high);
                    found[get_local_id(0)] = ends;
                }
                barrier(CLK_LOCAL_MEM_FENCE);
                for (uint middle = get_local_id(0) / LANES; middle < count; middle += TEAMS) {
                    const uint2 ends = found[middle];
                    for (uint at = ends.x + lane; at < ends.y; at += LANES) {
                        uint node = neighbours[at];
                        if (what == HASHES) {
                            count_hashed(slots, size, node);
                        } else if (what == COUNTS) {
                            atomic_inc(marks + node);
                        } else {
                            uint value = atomic_xchg(marks + node, 0);
                            if (value) add_value(walk, node, value, sums);
                        }
                    }
                }
                barrier(CLK_LOCAL_MEM_FENCE);
            }
        }
    }
}

kernel void sum_two_steps(
    RANKED_PARAMETERS, uint node_count, uint first, uint start, uint push, uint sum_count, uint sum_0, uint sum_1, uint sum_2,
    global const uint *bounds, global const uint2 *chunks, ulong chunks_at, uint chunk_count, global const uint *program,
    global const ulong *weights, global uint *registers, global uint *scratch, volatile global uint *counters
) {
    local uint slots[2 * MAX_SLOTS], taken;
    local uint2 found[GROUP_SIZE];
    local ulong held[GROUP_SIZE];
    uint item = get_local_id(0);
    volatile global uint *marks = scratch + get_group_id(0) * (ulong)node_count;
    Walk walk = {
        {OUTGOING_RANKED, INCOMING_RANKED, 0, node_count}, edge_at(program + start + 3), edge_at(program + push + 5), 0, 0,
        program, sum_count, {sum_0, sum_1, sum_2}, weights
    };
    for (uint slot = item; slot < 2 * MAX_SLOTS; slot += GROUP_SIZE) slots[slot] = 0;
    while (true) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (item == 0) taken = atomic_inc(counters);
        barrier(CLK_LOCAL_MEM_FENCE);
        if (taken >= chunk_count) break;
        uint2 chunk = chunks[chunks_at + taken];
        uint bound = bounds[chunk.x], range = chunk.y / CHUNK, size = GROUP_SIZE;
        ulong sums[MAX_SUMS * REGISTERS_OF_SUM];
        for (uint k = 0; k < MAX_SUMS * REGISTERS_OF_SUM; ++k) sums[k] = 0;
        walk.lists.pin = chunk.x;
        uint ranges = ranges_of(bound, entries_of_pin(&walk.lists, walk.one));
        walk.low = range == 0 ? 0 : border_of(&walk.lists, walk.two.below, range, ranges);
        walk.high = range + 1 == ranges ? node_count : border_of(&walk.lists, walk.two.below, range + 1, ranges);
        if (bound <= MOST_HASHED) {
            while (3 * size < 4 * bound) size *= 2;
            walk_two(&walk, HASHES, size, found, slots, marks, sums);
            barrier(CLK_LOCAL_MEM_FENCE);
            for (uint slot = item; slot < size; slot += GROUP_SIZE) {
                if (slots[slot] == 0) continue;
                add_value(&walk, slots[slot] - 1, slots[MAX_SLOTS + slot], sums);
                slots[slot] = slots[MAX_SLOTS + slot] = 0;
            }
        } else {
            walk_two(&walk, COUNTS, size, found, slots, marks, sums);
            barrier(CLK_GLOBAL_MEM_FENCE);
            walk_two(&walk, TAKES, size, found, slots, marks, sums);
            barrier(CLK_GLOBAL_MEM_FENCE);
        }
        for (uint s = 0; s < sum_count; ++s) {
            global const uint *at = program + walk.steps[s], *rest = at + 3 + 2 * at[2];
            for (uint k = 0; k < rest[5]; ++k) {
                barrier(CLK_LOCAL_MEM_FENCE);
                ulong sum = group_sum(sums[s * REGISTERS_OF_SUM + k], held);
                if (item == 0) add_wide(registers + 2 * ((chunk.x - first) * (ulong)MAX_REGISTERS + rest[6 + 2 * k]), sum);
            }
        }
    }
}

kernel void sum_one_step(
    RANKED_PARAMETERS, uint node_count, uint first, uint last, uint number, uint of, uint start, uint sum_count, uint sum_0,
    uint sum_1, uint sum_2, global const uint *program, global const ulong *weights, global uint *registers
) {
    const Edge edge = edge_at(program + start + 3);
    const uint steps[MAX_SUMS] = {sum_0, sum_1, sum_2};
    uint lane = get_global_id(0) % LANES;
    for (ulong place = first + get_global_id(0) / LANES; place < last; place += get_global_size(0) / LANES) {
        uint pin = (uint)place;
        if (pin % of != number) continue;
        const Lists lists = {OUTGOING_RANKED, INCOMING_RANKED, pin, node_count};
        for (uint side = 0; side < 2; ++side) {
            if (!(edge.sides >> side & 1)) continue;
            const uint2 part = part_of(&lists, side, pin, edge.below);
            for (uint s = 0; s < sum_count; ++s) {
                global const uint *at = program + steps[s], *rest = at + 3 + 2 * at[2];
                for (uint k = 0; k < rest[5]; ++k) {
                    ulong sum = 0;
                    if (rest[7 + 2 * k] == NONE) {
                        if (lane == 0) sum = part.y - part.x;
                    } else {
                        for (uint entry = part.x + lane; entry < part.y; entry += LANES)
                            sum += weight_at(weights, rest[7 + 2 * k], node_count, neighbours_on(&lists, side)[entry]);
                    }
                    add_wide(registers + 2 * ((pin - first) * (ulong)MAX_REGISTERS + rest[6 + 2 * k]), sum);
                }
            }
        }
    }
}
