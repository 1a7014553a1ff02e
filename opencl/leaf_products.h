/* The product of the leaves of one row of the core (see gpugda/plan/counting/leaves.py): `value_of_row`.

       product[0 … 2]   numbers of factors, of weights, of branches; then these, in the order weights, branches, factors
       weight           column with a number of matches, number of equal query nodes that have it (see weigh.cl)
       branch           position of its sums among the tables (low word, high word), then its roots as in `group_of`
       factor [0]       number of groups (1 or 2)
              [1] [2]   position and number of the pairs taken from both groups
              [3]       column with the number of relationships common to both, NONE to look it up
              [4] [5]   position and number of the nodes with self-loops if these alone can be common, else 0 and 0;
                        their numbers of loops follow the nodes, which ascend; then its groups
       group  [0]       column of the anchor
              [1] … [5] its relationship counts, see `Counts`
              [6]       number of leaves                 [7]   directions
              [8]       candidate matrix row of the leaves, NONE if every neighbour fits
              [9]       adjacency of the anchor in the query's words
              [10] [11] position and number of the pairs taken
       pair taken       a relationship of the core: columns of its start and its end

   Counts in `leaf_counts` are indexed by node, or by the anchor's rank among its query node's candidates, which takes
   less memory if these are few. A count has 1, 2 or 4 bytes.

       anchor_ranks[ranks + i]   number of candidates in the words of the matrix row before word i

   Values are taken modulo `modulus`, 0 for 2^64. With SATURATING they are exact up to MAX_VALUE, which stands for all
   greater values.
*/
#include "work_split.h"
#include "search.h"
#include "csr.h"
#include "query_graph.h"

#define FACTOR_WORDS 6
#define GROUP_WORDS 12
#define KEY_WORDS 3
#define SUM_WORDS 3

#define SATURATING 1
#define MAX_VALUE ((ulong)1 << 63)

typedef struct {
    ulong first_byte;  // of the counts
    uint bytes;        // of a count
    uint ranks, row;   // position of the ranks (NONE: counts are indexed by node), candidate matrix row of the anchor
} Counts;

typedef struct {
    uint column;
    Counts counts;
    uint leaves, directions, row, adjacency, taken_at, taken_count;
} Group;

typedef struct {
    Csr outgoing, incoming;
    global const uint *query, *candidates, *product, *tables, *table;
    global const uchar *leaf_counts;
    global const ulong *anchor_ranks, *ranks;
    uint node_words;
    ulong stride, modulus;
} Core;

static inline bool may_be_leaf(const Core *core, const Group *group, uint node) {
    if (group->row == NONE) return true;
    return is_candidate(core->candidates + (ulong)group->row * core->node_words, node);
}

static inline uint node_of(const Core *core, ulong row, uint column) {
    return core->table[column * core->stride + row];
}

/* Position of a node's count, in counts. */
static inline ulong place_of_count(
    Counts counts, global const uint *candidates, uint node_words, global const ulong *anchor_ranks, uint node
) {
    if (counts.ranks == NONE) return node;
    uint word = node >> 5, before = candidates[(ulong)counts.row * node_words + word] & ((1u << (node & 31)) - 1);
    return anchor_ranks[counts.ranks + word] + popcount(before);
}

static inline uint count_of(const Core *core, Counts counts, uint node) {
    ulong place = place_of_count(counts, core->candidates, core->node_words, core->anchor_ranks, node);
    global const uchar *first = core->leaf_counts + counts.first_byte;
    if (counts.bytes == 4) return ((global const uint *)first)[place];
    return counts.bytes == 2 ? ((global const ushort *)first)[place] : first[place];
}

/* The number of a row's group, computed from the ranks of its nodes among their candidates.

   keys[0] is the number of grouped query nodes; for each: column, candidate matrix row, number of its candidates.
   ranks[i]: the number of candidates in the words of the matrix before word i. */
static uint group_of(const Core *core, global const uint *keys, ulong row) {
    uint group = 0;
    for (uint i = 0; i < keys[0]; ++i) {
        global const uint *key = keys + 1 + KEY_WORDS * i;
        uint node = node_of(core, row, key[0]);
        ulong first = (ulong)key[1] * core->node_words, word = first + (node >> 5);
        uint before = core->candidates[word] & ((1u << (node & 31)) - 1);
        group = group * key[2] + (uint)(core->ranks[word] - core->ranks[first]) + popcount(before);
    }
    return group;
}

static Group group_at(const Core *core, uint at) {
    global const uint *words = core->product + at;
    Counts counts = {words[1] | (ulong)words[2] << 32, words[3], words[4], words[5]};
    Group group = {words[0], counts, words[6], words[7], words[8], words[9], words[10], words[11]};
    return group;
}

/* True if a leaf of the group could match a relationship from `start` to `end`. */
static inline bool could_take(const Core *core, const Group *group, uint anchor, uint start, uint end) {
    return ((group->directions & OUTGOING) && start == anchor && may_be_leaf(core, group, end))
        || ((group->directions & INCOMING) && end == anchor && may_be_leaf(core, group, start));
}

static uint taken_from(const Core *core, ulong row, const Group *group, uint anchor) {
    uint taken = 0;
    for (uint i = 0; i < group->taken_count; ++i) {
        uint pair = group->taken_at + 2 * i;
        taken += could_take(core, group, anchor, node_of(core, row, core->product[pair]),
                            node_of(core, row, core->product[pair + 1]));
    }
    return taken;
}

static inline bool is_one_type(const Core *core) {
    return !has_types(&core->outgoing) && !has_types(&core->incoming);
}

/* The number of relationships that both groups could match. Reads rows of the group's own directions only. */
static uint in_common(const Core *core, const Group *group, const Group *other, uint anchor, uint other_anchor) {
    uint total = 0, adjacency = group->adjacency;
    bool sorted = core->query[adjacency + 4] != NONE || is_one_type(core);
    // Only entries that lead to the other anchor can be in common; in opposite directions from one anchor, only loops.
    bool all_entries = anchor == other_anchor && (group->directions & other->directions);
    Runs runs = all_runs(group->directions, core->query[adjacency + 3], core->query[adjacency + 4]);
    while (next_run(&runs, &core->outgoing, &core->incoming, core->query, anchor)) {
        global const uint *neighbours = runs.is_incoming ? core->incoming.neighbours : core->outgoing.neighbours;
        uint entry = runs.begin;
        if (!all_entries && sorted) entry = lower_bound(neighbours, runs.begin, runs.end, other_anchor);
        for (; entry < runs.end; ++entry) {
            uint neighbour = neighbours[entry];
            if (!all_entries && neighbour != other_anchor) {
                if (sorted) break;
                continue;
            }
            if (!fits(group->directions, runs.is_incoming, anchor, neighbour, 0, NONE, 0, 0)) continue;
            if (!may_be_leaf(core, group, neighbour)) continue;
            uint start = runs.is_incoming ? neighbour : anchor, end = runs.is_incoming ? anchor : neighbour;
            total += could_take(core, other, other_anchor, start, end);
        }
    }
    return total;
}

/* The same for opposite directions from one anchor, by the listed loops. */
static uint loops_in_common(const Core *core, uint factor, const Group *group, const Group *other, uint anchor) {
    uint first = core->product[factor + 4], count = core->product[factor + 5];
    uint place = (uint)lower_bound(core->product, first, (ulong)first + count, anchor);
    if (place == first + count || core->product[place] != anchor) return 0;
    return may_be_leaf(core, group, anchor) && may_be_leaf(core, other, anchor) ? core->product[place + count] : 0;
}

static uint taken_from_both(
    const Core *core, ulong row, uint factor, const Group *group, const Group *other, uint anchor, uint other_anchor
) {
    uint taken = 0;
    for (uint i = 0; i < core->product[factor + 2]; ++i) {
        uint pair = core->product[factor + 1] + 2 * i;
        uint start = node_of(core, row, core->product[pair]), end = node_of(core, row, core->product[pair + 1]);
        taken += could_take(core, group, anchor, start, end) && could_take(core, other, other_anchor, start, end);
    }
    return taken;
}

static inline ulong times(const Core *core, ulong left, ulong right) {
    if (core->modulus == SATURATING) return mul_hi(left, right) ? MAX_VALUE : min(left * right, MAX_VALUE);
    return core->modulus ? left % core->modulus * (right % core->modulus) % core->modulus : left * right;
}

static inline ulong plus(const Core *core, ulong left, ulong right) {
    if (core->modulus == SATURATING) return right >= MAX_VALUE - left ? MAX_VALUE : left + right;
    return left + right;
}

/* Falling factorial: count (count - 1) … with `factors` factors. */
static ulong falling(const Core *core, uint count, uint factors) {
    if (count < factors) return 0;
    ulong result = 1;
    for (uint i = 0; i < factors; ++i) result = times(core, result, count - i);
    return result;
}

static ulong value_of_factor(const Core *core, ulong row, uint factor) {
    const Group group = group_at(core, factor + FACTOR_WORDS);
    uint anchor = node_of(core, row, group.column);
    uint available = count_of(core, group.counts, anchor);
    if (available < group.leaves) return 0;
    available -= taken_from(core, row, &group, anchor);
    if (core->product[factor] == 1) return falling(core, available, group.leaves);
    const Group other = group_at(core, factor + FACTOR_WORDS + GROUP_WORDS);
    uint other_anchor = node_of(core, row, other.column);
    uint other_available = count_of(core, other.counts, other_anchor);
    if (other_available < other.leaves) return 0;
    other_available -= taken_from(core, row, &other, other_anchor);
    uint column = core->product[factor + 3], common;
    if (core->product[factor + 5]) common = loops_in_common(core, factor, &group, &other, anchor);
    else common = column == NONE ? in_common(core, &group, &other, anchor, other_anchor) : node_of(core, row, column);
    common -= taken_from_both(core, row, factor, &group, &other, anchor, other_anchor);
    // Sums over the number of the first group's leaves that take common relationships.
    ulong sum = 0, choices = 1;
    for (uint shared = 0; shared <= min(group.leaves, common); ++shared) {
        ulong leaf_counts = times(core, falling(core, common, shared), falling(core, available - common, group.leaves - shared));
        if (other_available >= shared) {
            ulong others = falling(core, other_available - shared, other.leaves);
            sum = plus(core, sum, times(core, times(core, choices, leaf_counts), others));
        }
        choices = choices * (group.leaves - shared) / (shared + 1);
    }
    return sum;
}

/* The sum of a branch for the root nodes of this row. */
static ulong value_of_branch(const Core *core, ulong row, uint branch) {
    ulong place = core->product[branch] | (ulong)core->product[branch + 1] << 32;
    global const uint *sum = core->tables + place + (ulong)SUM_WORDS * group_of(core, core->product + branch + 2, row);
    return sum[2] || sum[1] >> 31 ? MAX_VALUE : sum[0] | (ulong)sum[1] << 32;
}

static ulong value_of_row(const Core *core, ulong row) {
    ulong result = 1;
    uint factor = 3;
    for (uint i = 0; i < core->product[1] && result; ++i, factor += 2) {
        result = times(core, result, falling(core, node_of(core, row, core->product[factor]), core->product[factor + 1]));
    }
    for (uint i = 0; i < core->product[2] && result; ++i) {
        result = times(core, result, value_of_branch(core, row, factor));
        factor += 3 + KEY_WORDS * core->product[factor + 2];
    }
    for (uint i = 0; i < core->product[0] && result; ++i) {
        result = times(core, result, value_of_factor(core, row, factor));
        factor += FACTOR_WORDS + core->product[factor] * GROUP_WORDS;
    }
    return result;
}
