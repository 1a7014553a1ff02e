/* The join of STwigs (Lin et al., 2016): a right-deep tree of hash joins, depth-first and pipelined. Work split:

          mark_bindings    one item per row: sets the bit of a column's node in matrix
          insert_records   one item per row: copies it as a record to the pool (build side), and links it at the head
                           of its chain
          join_records     each item takes records of the probe side from progress[0] and follows the chains of all
                           tables, one level below the other; writes rows from progress[1] on, or adds to counts[item]

       pool       records of all levels: columns, then the next record with the same hash
       heads      first record of each chain of all levels
       state      uint[(level_count + 1) * items]   element i of each row belongs to item i: depth, then the next
                                                    record at each level
       values     uint[slots * items]               values of each item
       progress   uint[3]   next probe record, rows written, items with work left

   The hash is the sum of the columns by which records are looked up, cut to as many bits as make a table no longer
   than its records. Words of the join, written by strategies/stwig/join_plan.py:

       words[0], words[1]    number of columns of the probe side, and of the output; then
       slots                 slot of each column of a probe record among the item's values; then those of the output
       levels                one after the other, each:
           [0 … 4]           first word in the pool (low, high), first head (low, high), mask of a hash
           [5 … 8]           words of a record, numbers of keys, of added values, of tests
           keys, added       (column, slot) each
           tests             left, right, must be equal, and a second pair or NONE twice (see node_join.h); slots

   As an item's state survives a launch, a launch can end when the output is full or after `max_steps`, and the
   next one continues.
*/
#include "work_split.h"
#include "node_join.h"

#define LEVEL_HEAD 9

kernel void mark_bindings(
    global const uint *table, ulong stride, ulong row_count, uint column, volatile global uint *matrix, ulong first_word
) {
    FOR_EACH(row, row_count) {
        uint node = table[column * stride + row];
        volatile global uint *word = matrix + first_word + (node >> 5);
        uint bit = 1u << (node & 31);
        if (!(*word & bit)) atomic_or(word, bit);
    }
}

kernel void insert_records(
    global const uint *table, ulong stride, ulong row_count, uint width, global const uint *words, uint at,
    global uint *pool, volatile global uint *heads, ulong first_record
) {
    global const uint *level = words + at;
    ulong in_pool = upsample(level[1], level[0]), in_heads = upsample(level[3], level[2]);
    FOR_EACH(row, row_count) {
        ulong record = first_record + row, place = in_pool + record * level[5];
        for (uint column = 0; column < width; ++column) pool[place + column] = table[column * stride + row];
        uint hash = 0;
        for (uint key = 0; key < level[6]; ++key) hash += table[level[LEVEL_HEAD + 2 * key] * stride + row];
        pool[place + width] = atomic_xchg(&heads[in_heads + (hash & level[4])], (uint)record);
    }
}

#define VALUE(slot) values[(ulong)(slot) * items + item]

static inline uint chain_of(
    global const uint *level, global const uint *heads, global const uint *values, ulong items, ulong item
) {
    uint hash = 0;
    for (uint key = 0; key < level[6]; ++key) hash += VALUE(level[LEVEL_HEAD + 2 * key + 1]);
    return heads[upsample(level[3], level[2]) + (hash & level[4])];
}

/* True if a record has the keys, and passes the tests after its other columns are stored among the values. */
static inline bool takes_record(
    global const uint *level, global const uint *record, global uint *values, ulong items, ulong item
) {
    global const uint *pair = level + LEVEL_HEAD;
    for (uint key = 0; key < level[6]; ++key, pair += 2) {
        if (record[pair[0]] != VALUE(pair[1])) return false;
    }
    for (uint added = 0; added < level[7]; ++added, pair += 2) VALUE(pair[1]) = record[pair[0]];
    for (uint test = 0; test < level[8]; ++test, pair += ROW_TEST_WORDS) {
        bool equal = VALUE(pair[0]) == VALUE(pair[1]);
        if (equal && pair[3] != NONE) equal = VALUE(pair[3]) == VALUE(pair[4]);
        if (equal != (bool)pair[2]) return false;
    }
    return true;
}

static inline uint level_words(global const uint *level) {
    return LEVEL_HEAD + 2 * (level[6] + level[7]) + ROW_TEST_WORDS * level[8];
}

/* `progress`: the next probe record, rows written, items with work left. */
kernel void join_records(
    global const uint *probe, ulong stride, uint probe_count, global const uint *words, uint level_count,
    global const uint *pool, global const uint *heads, global uint *state, global uint *values, ulong items,
    volatile global uint *progress, global uint *output, uint capacity, global ulong *counts, uint max_steps
) {
    ulong item = get_global_id(0);
    if (item >= items || max_steps == 0) return;
    uint depth = state[item], step = 0;
    ulong count = 0;
    bool has_more = true;
    global const uint *first_level = words + 2 + words[0] + words[1], *level = first_level;
    for (uint above = 1; above < depth; ++above) level += level_words(level);
    for (; step < max_steps; ++step) {
        if (depth == 0) {
            uint record = atomic_inc(&progress[0]);
            if (record >= probe_count) {
                has_more = false;
                break;
            }
            for (uint column = 0; column < words[0]; ++column) VALUE(words[2 + column]) = probe[column * stride + record];
            depth = 1;
            level = first_level;
            state[items + item] = chain_of(level, heads, values, items, item);
            continue;
        }
        uint number = state[depth * items + item];
        if (number == NONE) {
            --depth;
            level = first_level;
            for (uint above = 1; above < depth; ++above) level += level_words(level);
            continue;
        }
        global const uint *record = pool + upsample(level[1], level[0]) + (ulong)number * level[5];
        uint next = record[level[5] - 1];
        state[depth * items + item] = next;
        if (!takes_record(level, record, values, items, item)) continue;
        if (depth < level_count) {
            ++depth;
            level += level_words(level);
            state[depth * items + item] = chain_of(level, heads, values, items, item);
            continue;
        }
        if (counts) {
            ++count;
            continue;
        }
        uint place = atomic_inc(&progress[1]);
        if (place >= capacity) { /* full: the next launch reads this record again */
            state[depth * items + item] = number;
            break;
        }
        for (uint column = 0; column < words[1]; ++column) {
            output[(ulong)column * capacity + place] = VALUE(words[2 + words[0] + column]);
        }
    }
    state[item] = depth;
    if (counts) counts[item] += count;
    if (has_more) atomic_inc(&progress[2]);
}
