/* Runs a program of sparse vectors for each pinned node, in ranked lists (see ranked_lists.h): cutset counting. The
   program is made by gpugda/match/count/program.py. Work split: a work group takes a pinned node at a time, of every
   counters[2] nodes the one at counters[1], until it has read about `max_work` entries; counters[0] counts those
   taken. Teams of LANES_OF_LIST items read one list each. On a CPU each work item is a group and a team.

          count_vectors   adds the products of sums over vectors to totals + 2^64 * highs, one per term of the program
          pull_weights    one group per node: weights[to + v] *= sum over the neighbours u of weights[from + u]
          loop_weights    one item per node: weights[to + v] *= loops[v] ^ power

   A vector has a value per node (uint, zero unless listed) and shares the list of its nodes with the vector that it
   was made from. Edges are three words: the lists that are read (1 outgoing, 2 incoming), further powers of the numbers
   of relationships between both nodes (outgoing, incoming, both, 8 bits each), and 1 if only nodes below the pinned
   one count.

       program  uint[]                         instructions, see below
       weights  ulong[weights][node_count]
       scratch  uint[groups][(vectors + lists) * node_count]   zero before and after
       totals   ulong[groups][terms]   highs  uint[groups][terms]   each group adds to its own
*/
#include "work_split.h"
#include "search.h"
#include "group_sum.h"
#include "ranked_lists.h"

#define START 0 /* vector, list, edge:                   the neighbours of the pinned node */
#define PUSH 1  /* vector, list, source, its list, edge:   += source at each neighbour of its nodes */
#define PULL 2  /* vector, list, source, edge:            the sum of source over the neighbours of each listed node */
#define MAKE 3  /* vector, list, factors, weight:         a product of powers of vectors; factors: number, (vector, power)… */
#define SUM 4   /* list, factors, pulls, source, edge, registers, (register, weight)…: sums of products */
#define END 5   /* number of terms, then for each: weight, number of registers, MAX_FACTORS registers whose product it is;
                   then the list of each vector */

#define MAX_VECTOR_LISTS 16
#define MAX_REGISTERS 32
#define MAX_TERMS 32
#define MAX_FACTORS 4
#define TERM_WORDS (2 + MAX_FACTORS)
#ifdef ON_CPU
#define LANES_OF_LIST 1
#define BARRIER
#define ADD(place, value) add_alone(place, value)
static inline uint add_alone(global uint *place, uint value) {
    uint before = *place;
    *place = before + value;
    return before;
}
#else
#define LANES_OF_LIST 8
#define BARRIER barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)
#define ADD(place, value) atomic_add((volatile global uint *)(place), value)
#endif

typedef struct {
    Ranked outgoing, incoming;
    uint pin, node_count;
} Lists;

typedef struct {
    uint sides, more, below;
} Edge;

static inline Edge edge_at(global const uint *words) {
    Edge edge = {words[0], words[1], words[2]};
    return edge;
}

/* The part of a node's list that an edge reads. */
static inline uint2 part_of(const Lists *lists, bool is_incoming, uint node, bool below) {
    const Ranked *side = is_incoming ? &lists->incoming : &lists->outgoing;
    uint first = side->starts[node], stop = side->starts[node + 1];
    if (below) {
        if (node <= lists->pin) {
            uint middle = side->middles[node];
            first = node == lists->pin ? middle : first_place_from(side->neighbours, middle, stop, lists->pin + 1);
        } else {
            first = first_place_from(side->neighbours, first, side->middles[node], lists->pin + 1);
        }
    }
    return (uint2)(first, stop);
}

static inline ulong raised(ulong base, uint power) {
    ulong result = 1;
    for (uint i = 0; i < power; ++i) result *= base;
    return result;
}

static inline ulong entries_between(const Ranked *side, uint from, uint to) {
    uint first = first_place_from(side->neighbours, side->starts[from], side->starts[from + 1], to);
    uint last = first;
    while (last < side->starts[from + 1] && side->neighbours[last] == to) ++last;
    return last - first;
}

static inline ulong multiplicity(const Lists *lists, uint more, uint from, uint to) {
    if (more == 0) return 1;
    ulong on = entries_between(&lists->outgoing, from, to);
    ulong back = more >> 8 ? entries_between(&lists->incoming, from, to) : 0;
    return raised(on, more & 255) * raised(back, more >> 8 & 255) * raised(on + back, more >> 16);
}

static inline global const uint *neighbours_on(const Lists *lists, uint side) {
    return side ? lists->incoming.neighbours : lists->outgoing.neighbours;
}

/* The sum of a vector over the neighbours of a node, the share of one item of a team. */
static inline ulong pulled(const Lists *lists, Edge edge, global const uint *source, uint node, uint lane, uint *read) {
    ulong sum = 0;
    for (uint side = 0; side < 2; ++side) {
        if (!(edge.sides >> side & 1)) continue;
        uint2 part = part_of(lists, side, node, edge.below);
        global const uint *neighbours = neighbours_on(lists, side);
        *read += part.y - part.x;
        for (uint place = part.x + lane; place < part.y; place += LANES_OF_LIST) {
            uint other = neighbours[place];
            ulong value = source[other];
            if (value) sum += value * multiplicity(lists, edge.more, node, other);
        }
    }
    return sum;
}

static inline void add_to(global uint *values, global uint *list, volatile local uint *count, uint node, uint value) {
    if (ADD(values + node, value) == 0) {
#ifdef ON_CPU
        list[(*count)++] = node;
#else
        list[atomic_inc(count)] = node;
#endif
    }
}

/* Adds to a sum in two words. */
static inline void add_wide(volatile local uint *words, ulong value) {
    if (value == 0) return;
#ifdef ON_CPU
    ulong sum = ((ulong)words[1] << 32 | words[0]) + value;
    words[0] = (uint)sum;
    words[1] = (uint)(sum >> 32);
#else
    uint low = (uint)value, before = atomic_add(words, low), high = (uint)(value >> 32) + (before + low < before);
    if (high) atomic_add(words + 1, high);
#endif
}

static inline ulong product_at(
    global const uint *factors, uint count, global const uint *values, uint node_count, uint node
) {
    ulong product = 1;
    for (uint i = 0; i < count; ++i)
        product *= raised(values[(ulong)factors[2 * i] * node_count + node], factors[2 * i + 1]);
    return product;
}

kernel void count_vectors(
    RANKED_PARAMETERS, uint node_count, uint vectors, uint term_count, uint below_only, ulong max_work, global const uint *program,
    global const ulong *weights, global uint *scratch, uint scratch_nodes, volatile global uint *counters,
    global ulong *totals, global uint *highs
) {
    local uint counts[MAX_VECTOR_LISTS], registers[2 * MAX_REGISTERS], high[MAX_TERMS], next_pin, work;
    local ulong low[MAX_TERMS];
    Lists lists = {OUTGOING_RANKED, INCOMING_RANKED, 0, node_count};
    uint item = get_local_id(0), items = get_local_size(0), lane = item % LANES_OF_LIST;
    uint team = item / LANES_OF_LIST, teams = items / LANES_OF_LIST;
    global uint *values = scratch + (ulong)get_group_id(0) * scratch_nodes * node_count;
    global uint *listed = values + (ulong)vectors * node_count;
    for (uint i = item; i < MAX_TERMS; i += items) low[i] = high[i] = 0;
    if (item == 0) work = 0;
    while (true) {
        if (item == 0) {
            next_pin = node_count;
            if ((ulong)work * 16 < max_work)
                next_pin = (uint)min((ulong)node_count, counters[1] + (ulong)atomic_inc(counters) * counters[2]);
        }
        BARRIER;
        if (next_pin >= node_count) break;
        lists.pin = next_pin;
        for (uint i = item; i < MAX_VECTOR_LISTS; i += items) counts[i] = 0;
        for (uint i = item; i < 2 * MAX_REGISTERS; i += items) registers[i] = 0;
        BARRIER;
        uint pin = lists.pin;
        bool is_idle = below_only && lists.outgoing.middles[pin] == lists.outgoing.starts[pin + 1] &&
                       lists.incoming.middles[pin] == lists.incoming.starts[pin + 1];
        global const uint *at = program;
        while (!is_idle && at[0] != END) {
            uint read = 0;
            if (at[0] == START) {
                Edge edge = edge_at(at + 3);
                global uint *vector = values + (ulong)at[1] * node_count, *list = listed + (ulong)at[2] * node_count;
                for (uint side = 0; side < 2; ++side) {
                    if (!(edge.sides >> side & 1)) continue;
                    uint2 part = part_of(&lists, side, pin, edge.below);
                    global const uint *neighbours = neighbours_on(&lists, side);
                    for (uint place = part.x + item; place < part.y; place += items) {
                        uint other = neighbours[place];
                        uint ways = (uint)multiplicity(&lists, edge.more, pin, other);
                        if (ways) add_to(vector, list, counts + at[2], other, ways);
                        if (lane == 0) read += LANES_OF_LIST;
                    }
                }
                at += 6;
            } else if (at[0] == PUSH) {
                Edge edge = edge_at(at + 5);
                global uint *vector = values + (ulong)at[1] * node_count, *list = listed + (ulong)at[2] * node_count;
                global const uint *source = values + (ulong)at[3] * node_count;
                global const uint *nodes = listed + (ulong)at[4] * node_count;
                for (uint i = team; i < counts[at[4]]; i += teams) {
                    uint node = nodes[i], value = source[node];
                    if (value == 0) continue;
                    for (uint side = 0; side < 2; ++side) {
                        if (!(edge.sides >> side & 1)) continue;
                        uint2 part = part_of(&lists, side, node, edge.below);
                        global const uint *neighbours = neighbours_on(&lists, side);
                        read += part.y - part.x;
                        for (uint place = part.x + lane; place < part.y; place += LANES_OF_LIST) {
                            uint other = neighbours[place];
                            uint ways = value * (uint)multiplicity(&lists, edge.more, node, other);
                            if (ways) add_to(vector, list, counts + at[2], other, ways);
                        }
                    }
                }
                at += 8;
            } else if (at[0] == PULL) {
                Edge edge = edge_at(at + 4);
                global uint *vector = values + (ulong)at[1] * node_count;
                global const uint *nodes = listed + (ulong)at[2] * node_count;
                global const uint *source = values + (ulong)at[3] * node_count;
                for (uint i = team; i < counts[at[2]]; i += teams) {
                    uint sum = (uint)pulled(&lists, edge, source, nodes[i], lane, &read);
                    if (sum) ADD(vector + nodes[i], sum);
                }
                at += 7;
            } else if (at[0] == MAKE) {
                global uint *vector = values + (ulong)at[1] * node_count;
                global const uint *nodes = listed + (ulong)at[2] * node_count;
                uint factors = at[3], weight = at[4 + 2 * factors];
                for (uint i = item; i < counts[at[2]]; i += items) {
                    ulong made = product_at(at + 4, factors, values, node_count, nodes[i]);
                    if (weight != NONE) made *= weights[(ulong)weight * node_count + nodes[i]];
                    vector[nodes[i]] = (uint)made;
                }
                at += 5 + 2 * factors;
            } else { /* SUM */
                global const uint *nodes = listed + (ulong)at[1] * node_count, *rest = at + 3 + 2 * at[2];
                bool pulls = rest[0];
                Edge edge = edge_at(rest + 2);
                global const uint *source = values + (ulong)rest[1] * node_count;
                uint into = rest[5];
                /* A team shares the list of a node only if there is one to read. */
                uint first = pulls ? team : item, step = pulls ? teams : items;
                ulong sums[4] = {0, 0, 0, 0};
                for (uint i = first; i < counts[at[1]]; i += step) {
                    uint node = nodes[i];
                    ulong product = product_at(at + 3, at[2], values, node_count, node);
                    if (product && pulls) product *= pulled(&lists, edge, source, node, lane, &read);
                    if (product == 0) continue;
                    for (uint k = 0; k < into; ++k) {
                        uint weight = rest[7 + 2 * k];
                        sums[k] += weight == NONE ? product : product * weights[(ulong)weight * node_count + node];
                    }
                }
                for (uint k = 0; k < into; ++k) add_wide(registers + 2 * rest[6 + 2 * k], sums[k]);
                at = rest + 6 + 2 * into;
            }
#ifdef ON_CPU
            work += (read + 15) / 16;
#else
            if (lane == 0 && read) atomic_add(&work, (read + 15) / 16);
#endif
            BARRIER;
        }
        if (!is_idle) {
            global const uint *terms = at + 2, *lists_of = terms + at[1] * TERM_WORDS;
            for (uint t = item; t < at[1]; t += items) {
                global const uint *term = terms + t * TERM_WORDS;
                ulong product = term[0] == NONE ? 1 : weights[(ulong)term[0] * node_count + pin];
                for (uint k = 0; k < term[1]; ++k) {
                    uint place = 2 * term[2 + k];
                    product *= (ulong)registers[place + 1] << 32 | registers[place];
                }
                low[t] += product;
                high[t] += low[t] < product;
            }
            for (uint v = 0; v < vectors; ++v) {
                global uint *vector = values + (ulong)v * node_count;
                global const uint *nodes = listed + (ulong)lists_of[v] * node_count;
                for (uint i = item; i < counts[lists_of[v]]; i += items) vector[nodes[i]] = 0;
            }
        }
        if (item == 0) ++work;
        BARRIER;
    }
    for (uint t = item; t < term_count; t += items) {
        ulong place = (ulong)get_group_id(0) * term_count + t, sum = totals[place] + low[t];
        highs[place] += high[t] + (sum < low[t]);
        totals[place] = sum;
    }
}

kernel void pull_weights(
    RANKED_PARAMETERS, uint node_count, uint sides, uint more, uint from, uint to, global ulong *weights
) {
    local ulong of_items[GROUP_SIZE];
    Lists lists = {OUTGOING_RANKED, INCOMING_RANKED, 0, node_count};
    for (uint v = get_group_id(0); v < node_count; v += get_num_groups(0)) {
        ulong sum = 0;
        for (uint side = 0; side < 2; ++side) {
            if (!(sides >> side & 1)) continue;
            const Ranked *own = side ? &lists.incoming : &lists.outgoing;
            for (uint place = own->starts[v] + get_local_id(0); place < own->starts[v + 1]; place += get_local_size(0)) {
                uint u = own->neighbours[place];
                ulong value = from == NONE ? 1 : weights[(ulong)from * node_count + u];
                sum += value * multiplicity(&lists, more, v, u);
            }
        }
        sum = group_sum(sum, of_items);
        if (get_local_id(0) == 0) weights[(ulong)to * node_count + v] *= sum;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}

kernel void loop_weights(global const uint *loops, uint node_count, uint power, uint to, global ulong *weights) {
    FOR_EACH(v, node_count) weights[(ulong)to * node_count + v] *= raised(loops[v], power);
}
