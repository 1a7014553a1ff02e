/* Runs programs of sparse vectors (see vector_program.h) for batches of pinned nodes on a GPU: cutset counting. All work
   groups run one instruction at a time for all nodes of a batch, so that hubs are shared between groups, and what is in
   use fits the cache.

   Each list of a pinned node is a table of slots: a hash table of node + 1, or, if it may hold many of all nodes, one
   slot per node. `before` says for each list where the slots of each pinned node begin. A group reads a chunk: slots of
   one pinned node.

          measure_lists   one item per node: an upper bound of the nodes of its list, and the slots and chunks of its table
          measure_pushes  one group per node: the same for nodes that are two steps away; or chunks of sum_two_steps
          pick_sums       one item per place at which a batch may begin: the first `hubs` nodes, then each so-manieth
          write_chunks    one item per chunk of a list
          run_step        one group per pinned node (START) or per chunk of the list that is read
          finish_pins     one item per pinned node: adds products of its sums to totals + 2^64 * highs, one per term
          clear_words     one item per word: 0

       bounds     uint[node_count]              slots, chunks   uint[node_count]
       before     ulong[lists][node_count + 1]  prefix sums of slots
       chunks     uint2[]                       of run_step: the pinned node and the first slot of each chunk
       bases      ulong[batches][lists]         where the tables of a list begin in `words`: pairs of node + 1 and the
                                                value of the first vector of each slot, then filters (1 << FILTER_BITS
                                                bits per slot), then the values of the other vectors
       words      uint[]                        zero before and after
       registers  uint[nodes of a batch][2 * MAX_REGISTERS]   zero before and after
       totals     ulong[groups][terms]          highs  uint[groups][terms]; each group adds to its own

   The slots in use are queued, and each item takes one; then the entries of the nodes in these slots are shared between
   the items, which find the owner of an entry by its position.
*/
#include "work_split.h"
#include "search.h"
#include "group_sum.h"
#include "ranked_lists.h"
#include "vector_program.h"
#include "vector_sums.h"

#define SUMS_AT_ONCE 4
#define FILTER_HASH 2246822519u
#define FILTER_BITS 3 /* 1 << FILTER_BITS bits per slot */
#define FILTER_SLOTS (32 >> FILTER_BITS)

typedef struct {
    global const ulong *before, *bases;
    global uint *words;
    global const uint *program;
    uint first, last, node_count, vectors, trailer, filtered;
} Batch;

/* The slots of a pinned node in a list. */
typedef struct {
    global uint *entries;
    ulong slots, begin;
    uint size;
    bool has_filter;
} Table;

static inline Table table_of(const Batch *batch, uint list, uint pin) {
    global const ulong *before = batch->before + list * (ulong)(batch->node_count + 1);
    Table table;
    table.entries = batch->words + batch->bases[list];
    table.slots = before[batch->last] - before[batch->first];
    table.begin = before[pin] - before[batch->first];
    table.size = (uint)(before[pin + 1] - before[pin]);
    table.has_filter = (batch->filtered >> list & 1) && table.size < batch->node_count;
    return table;
}

static inline volatile global uint *value_at(const Table *table, uint number, ulong slot) {
    return table->entries + (number ? table->slots / FILTER_SLOTS + (number + 1) * table->slots + slot : 2 * slot + 1);
}

/* The bit of a node in the filter of a hash table: most nodes that are not in it need no other access. */
static inline uint filter_bit(const Table *table, uint node) {
    return node * FILTER_HASH >> (clz(table->size) + 1 - FILTER_BITS);
}

static inline volatile global uint *filter_of(const Table *table, uint bit) {
    return table->entries + 2 * table->slots + table->begin / FILTER_SLOTS + bit / 32;
}

static inline uint number_of(const Batch *batch, uint vector) {
    return batch->program[batch->trailer + batch->vectors + vector];
}

static inline uint list_of(const Batch *batch, uint vector) {
    return batch->program[batch->trailer + vector];
}

static inline bool is_by_node(const Table *table, uint node_count) { return table->size >= node_count; }

static inline uint hashed(const Table *table, uint node) { return node * HASH >> (clz(table->size) + 1); }

static inline void add_to(const Table *table, uint node_count, uint node, uint value) {
    volatile global uint *slots = table->entries + 2 * table->begin;
    uint slot = node;
    if (is_by_node(table, node_count)) {
        slots[2 * (ulong)slot] = node + 1;
    } else {
        slot = hashed(table, node);
        while (true) {
            uint key = slots[2 * (ulong)slot];
            if (key == 0) {
                key = atomic_cmpxchg(slots + 2 * (ulong)slot, 0, node + 1);
                if (key == 0 && table->has_filter) {
                    uint bit = filter_bit(table, node);
                    atomic_or(filter_of(table, bit), 1u << (bit & 31));
                }
            }
            if (key == 0 || key == node + 1) break;
            slot = (slot + 1) & (table->size - 1);
        }
    }
    atomic_add(slots + 2 * (ulong)slot + 1, value);
}

static inline uint value_of(const Table *table, uint node_count, uint number, uint node) {
    if (table->size == 0) return 0;
    uint slot = node;
    if (table->has_filter) {
        uint bit = filter_bit(table, node);
        if (!(*(global const uint *)filter_of(table, bit) >> (bit & 31) & 1)) return 0;
    }
    if (!is_by_node(table, node_count)) {
        global const uint2 *slots = (global const uint2 *)table->entries + table->begin;
        slot = hashed(table, node);
        uint2 found = slots[slot];
        while (found.x != node + 1) {
            if (found.x == 0) return 0;
            slot = (slot + 1) & (table->size - 1);
            found = slots[slot];
        }
        if (number == 0) return found.y;
    }
    return *value_at(table, number, table->begin + slot);
}

/* What an instruction reads at a slot: the value that is pushed, 1 for PULL, a product of powers of vectors. */
static inline ulong product_of(const Batch *batch, const Table *table, global const uint *at, ulong slot) {
    if (at[0] == PULL) return 1;
    if (at[0] == PUSH) return *value_at(table, number_of(batch, at[3]), slot);
    bool makes = at[0] == MAKE;
    global const uint *factors = makes ? at + 4 : at + 3;
    ulong product = 1;
    for (uint i = 0; i < (makes ? at[3] : at[2]); ++i)
        product *= raised(*value_at(table, number_of(batch, factors[2 * i]), slot), factors[2 * i + 1]);
    return product;
}

/* Inclusive sums of a word per item. */
static inline void add_up(local uint *sums) {
    uint item = get_local_id(0);
    for (uint reach = 1; reach < GROUP_SIZE; reach *= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        uint more = item >= reach ? sums[item - reach] : 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        sums[item] += more;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
}

kernel void run_step(
    RANKED_PARAMETERS, uint node_count, uint first, uint last, uint vectors, uint trailer, uint filtered, uint step, global const ulong *before,
    global const ulong *bases, ulong bases_at, global const uint2 *chunks, ulong chunks_at, global const uint *program,
    global const ulong *weights, global uint *words, global uint *registers
) {
    local uint queue[CHUNK], firsts[GROUP_SIZE], ends[GROUP_SIZE], nodes[GROUP_SIZE], pulled[GROUP_SIZE], queued;
    local ulong held[GROUP_SIZE];
    const Batch batch = {before, bases + bases_at, words, program, first, last, node_count, vectors, trailer, filtered};
    global const uint *at = program + step;
    uint item = get_local_id(0), what = at[0];
    uint2 chunk = (uint2)(first + get_group_id(0), 0); /* the pinned node, and the first slot */
    if (what != START) chunk = chunks[chunks_at + get_group_id(0)];
    const Lists lists = {OUTGOING_RANKED, INCOMING_RANKED, chunk.x, node_count};
    uint list = what == PUSH ? at[4] : what == SUM ? at[1] : at[2];
    const Table own = table_of(&batch, list, chunk.x);
    uint stop = what == START ? 0 : min(own.size, chunk.y + CHUNK);
    global const uint *rest = at + 3 + 2 * at[2]; /* of SUM */
    bool reads = what == PUSH || what == PULL || (what == SUM && rest[0]);
    uint into = what == SUM ? rest[5] : 0;
    ulong sums[SUMS_AT_ONCE] = {0, 0, 0, 0};
    if (what == START && own.size) {
        Edge edge = edge_at(at + 3);
        for (uint side = 0; side < 2; ++side) {
            if (!(edge.sides >> side & 1)) continue;
            uint2 part = part_of(&lists, side, chunk.x, edge.below);
            for (uint place = part.x + item; place < part.y; place += GROUP_SIZE) {
                uint other = neighbours_on(&lists, side)[place];
                uint ways = (uint)multiplicity(&lists, edge.more, chunk.x, other);
                if (ways) add_to(&own, node_count, other, ways);
            }
        }
    }
    if (item == 0) queued = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint place = chunk.y + item; place < stop; place += GROUP_SIZE) {
        ulong slot = own.begin + place;
        uint key = own.entries[2 * slot];
        if (key == 0) continue;
        ulong product = product_of(&batch, &own, at, slot);
        if (reads && product) queue[atomic_inc(&queued)] = place;
        if (what == MAKE)
            *value_at(&own, number_of(&batch, at[1]), slot) =
                (uint)(product * weight_at(weights, at[4 + 2 * at[3]], node_count, key - 1));
        for (uint k = 0; k < into && !reads; ++k)
            sums[k] += product * weight_at(weights, rest[7 + 2 * k], node_count, key - 1);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    uint owners = queued, source = what == PULL ? at[3] : what == SUM && reads ? rest[1] : 0;
    const Edge edge = edge_at(what == PUSH ? at + 5 : what == PULL ? at + 4 : what == SUM && reads ? rest + 2 : at);
    const Table table = table_of(&batch, !reads ? list : what == PUSH ? at[2] : list_of(&batch, source), chunk.x);
    uint number = what == PUSH || !reads ? 0 : number_of(&batch, source);
    for (uint round = 0; round < owners; round += GROUP_SIZE) {
        bool is_owner = round + item < owners;
        ulong slot = own.begin + (is_owner ? queue[round + item] : 0);
        uint node = nodes[item] = is_owner ? own.entries[2 * slot] - 1 : 0;
        held[item] = is_owner ? product_of(&batch, &own, at, slot) : 0;
        pulled[item] = 0;
        for (uint side = 0; side < 2; ++side) {
            if (!(edge.sides >> side & 1)) continue;
            uint2 part = is_owner ? part_of(&lists, side, node, edge.below) : (uint2)(0, 0);
            firsts[item] = part.x;
            ends[item] = part.y - part.x;
            add_up(ends);
            global const uint *neighbours = neighbours_on(&lists, side);
            for (uint t = item; t < ends[GROUP_SIZE - 1]; t += GROUP_SIZE) {
                uint owner = 0;
                for (uint reach = GROUP_SIZE / 2; reach > 0; reach /= 2)
                    if (ends[owner + reach - 1] <= t) owner += reach;
                uint other = neighbours[firsts[owner] + t - (owner ? ends[owner - 1] : 0)];
                ulong value = what == PUSH ? held[owner] : value_of(&table, node_count, number, other);
                if (value == 0) continue;
                value *= multiplicity(&lists, edge.more, nodes[owner], other);
                if (what == PUSH) {
                    if (value) add_to(&table, node_count, other, (uint)value);
                } else if (what == PULL) {
                    atomic_add(pulled + owner, (uint)value);
                } else {
                    value *= held[owner];
                    for (uint k = 0; k < into; ++k)
                        sums[k] += value * weight_at(weights, rest[7 + 2 * k], node_count, nodes[owner]);
                }
            }
            barrier(CLK_LOCAL_MEM_FENCE);
        }
        if (what == PULL && is_owner) *value_at(&own, number_of(&batch, at[1]), slot) = pulled[item];
    }
    for (uint k = 0; k < into; ++k) {
        barrier(CLK_LOCAL_MEM_FENCE);
        ulong sum = group_sum(sums[k], held);
        if (item == 0) add_wide(registers + 2 * ((chunk.x - first) * (ulong)MAX_REGISTERS + rest[6 + 2 * k]), sum);
    }
}

/* Adds the products of the sums of a batch to the group's totals. */
kernel void finish_pins(
    uint node_count, uint first, uint last, uint number, uint of, uint term_count, uint terms_at, global const uint *program,
    global const ulong *weights, global uint *registers, global ulong *totals, global uint *highs
) {
    local ulong of_items[GROUP_SIZE];
    local uint is_used;
    uint item = get_local_id(0);
    for (ulong begin = first + get_group_id(0) * (ulong)GROUP_SIZE; begin < last; begin += get_num_groups(0) * (ulong)GROUP_SIZE) {
        ulong pin = begin + item;
        global uint *own = registers + 2 * MAX_REGISTERS * (pin - first);
        for (uint t = 0; t < term_count; ++t) {
            global const uint *term = program + terms_at + t * TERM_WORDS;
            bool counts = pin < last && pin % of == number;
            ulong product = counts ? weight_at(weights, term[0], node_count, (uint)pin) : 0;
            for (uint k = 0; k < term[1] && product; ++k) {
                uint place = 2 * term[2 + k];
                product *= (ulong)own[place + 1] << 32 | own[place];
            }
            if (item == 0) is_used = 0;
            barrier(CLK_LOCAL_MEM_FENCE);
            if (product) is_used = 1;
            barrier(CLK_LOCAL_MEM_FENCE);
            if (is_used == 0) continue;
            /* Halves of the products add up without a carry. */
            ulong low = group_sum(product & 0xFFFFFFFFul, of_items);
            barrier(CLK_LOCAL_MEM_FENCE);
            ulong high = group_sum(product >> 32, of_items);
            barrier(CLK_LOCAL_MEM_FENCE);
            if (item == 0) {
                ulong place = (ulong)get_group_id(0) * term_count + t, total = totals[place], sum = total + low;
                uint carry = sum < total;
                totals[place] = sum + (high << 32);
                highs[place] += carry + (uint)(high >> 32) + (totals[place] < sum);
            }
        }
        if (pin < last)
            for (uint i = 0; i < 2 * MAX_REGISTERS; ++i) own[i] = 0;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}

kernel void clear_words(global uint *words, ulong count) {
    FOR_EACH(i, count) words[i] = 0;
}

/* Writes the size of a table for so many nodes. */
static inline void write_size(ulong nodes, uint node_count, ulong pin, global uint *slots, global uint *chunks) {
    ulong size = GROUP_SIZE;
    while (4 * size < 5 * nodes) size *= 2;
    if (2 * size >= node_count) size = (node_count + GROUP_SIZE - 1) / GROUP_SIZE * (ulong)GROUP_SIZE;
    slots[pin] = nodes ? (uint)size : 0;
    chunks[pin] = nodes ? (uint)((size + CHUNK - 1) / CHUNK) : 0;
}

kernel void pick_sums(global const ulong *sums, uint node_count, uint hubs, uint every, uint count, global ulong *picked) {
    FOR_EACH(i, count) {
        ulong place = i < hubs ? i : hubs + (i - hubs) * every;
        picked[i] = sums[i + 1 == count ? node_count : min(place, (ulong)node_count)];
    }
}

kernel void write_chunks(global const ulong *before, uint node_count, ulong count, global uint2 *chunks, ulong first) {
    FOR_EACH(i, count) {
        uint pin = (uint)first_sum_above(before, 0, node_count + 1, i) - 1;
        chunks[first + i] = (uint2)(pin, (uint)(i - before[pin]) * CHUNK);
    }
}

/* The neighbours of each node of a share: of every `of` nodes the one with this number. Or of the nodes in another list of it: at most `longest` of each, or, if `below`, no more
   than the pinned node has. */
kernel void measure_lists(
    RANKED_PARAMETERS, uint node_count, uint number, uint of, uint sides, uint below, global const uint *of_source, uint has_source, uint longest,
    global uint *bounds, global uint *slots, global uint *chunks
) {
    Lists lists = {OUTGOING_RANKED, INCOMING_RANKED, 0, node_count};
    FOR_EACH(pin, node_count) {
        lists.pin = (uint)pin;
        ulong own = 0;
        for (uint side = 0; side < 2; ++side) {
            if (!(sides >> side & 1)) continue;
            uint2 part = part_of(&lists, side, (uint)pin, below);
            own += part.y - part.x;
        }
        if (has_source) {
            ulong degree = lists.outgoing.starts[pin + 1] - lists.outgoing.starts[pin] + lists.incoming.starts[pin + 1] -
                           lists.incoming.starts[pin];
            own = of_source[pin] * (below ? min(degree, (ulong)longest) : longest);
        }
        if (pin % of != number) own = 0;
        bounds[pin] = (uint)min(own, (ulong)node_count);
        write_size(bounds[pin], node_count, pin, slots, chunks);
    }
}

/* The nodes that are two steps away. */
kernel void measure_pushes(
    RANKED_PARAMETERS, uint node_count, uint number, uint of, uint sides, uint below, uint next_sides, uint next_below,
    uint is_summed, global uint *bounds, global uint *slots, global uint *chunks
) {
    local ulong of_items[GROUP_SIZE];
    Lists lists = {OUTGOING_RANKED, INCOMING_RANKED, 0, node_count};
    for (uint pin = get_group_id(0); pin < node_count; pin += get_num_groups(0)) {
        lists.pin = pin;
        ulong own = 0;
        for (uint side = 0; side < 2 && pin % of == number; ++side) {
            if (!(sides >> side & 1)) continue;
            uint2 part = part_of(&lists, side, pin, below);
            for (uint place = part.x + get_local_id(0); place < part.y; place += GROUP_SIZE) {
                uint node = neighbours_on(&lists, side)[place];
                for (uint next = 0; next < 2; ++next) {
                    if (!(next_sides >> next & 1)) continue;
                    uint2 entries = part_of(&lists, next, node, next_below);
                    own += entries.y - entries.x;
                }
            }
        }
        own = group_sum(own, of_items);
        if (get_local_id(0) == 0) {
            bounds[pin] = (uint)min(own, (ulong)node_count);
            write_size(bounds[pin], node_count, pin, slots, chunks);
            if (is_summed) {
                slots[pin] = 0;
                const Edge one = {sides, 0, below};
                chunks[pin] = own ? ranges_of((uint)min(own, (ulong)UINT_MAX), entries_of_pin(&lists, one)) : 0;
                bounds[pin] = (uint)min(own, (ulong)UINT_MAX);
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}
