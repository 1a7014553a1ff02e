/* Extends partial embeddings on a GPU if all links of a step are plain sorted lists without parallel relationships
   (see extension.h). Work split: one item per (row, neighbour) pair; facts about its row are in local memory.

          find_rows       one item per piece: first_rows[piece] = row of its first pair; one more, the row of the last
                          pair
          count_listed    adds the number of pairs that pass to totals[group]
          append_listed   appends a row to extended for each pair that passes
          weigh_listed    adds to counts[row] the number of the row's pairs that pass
          append_weighted  one item per row: appends rows with a count, which takes the place of the added node

       sums         ulong[row_count + 1]   prefix sums of the rows' base lengths; a launch processes pairs low … high-1
       bases        uchar[row_count]       link whose list a row is paired with
       first_rows   uint[pieces + 1]
       counts       uint[row_count]
       totals       ulong[groups]
       others       local uint2[GROUP * max(1, links - 1)]   lists of the links besides the base

   A work group takes pieces of PIECE pairs. It processes the rows of a piece in blocks of GROUP: a bit marks where
   each row begins in the block, so that counting the bits up to a pair gives its row; lists of other links are
   looked up once per row. A long list is probed by its bitmap (see hub_bitmaps.h), others by binary search.
   The host may not know the number of pairs: `high` may lie beyond the last one.
   Hits are marked by bits, too, and counting these gives the output position of each: one atomic per block, and
   rows stay in order.
*/
#include "work_split.h"
#include "search.h"
#include "csr.h"
#include "query_graph.h"
#include "extension.h"
#include "hub_bitmaps.h"

#define GROUP 256
#define PIECE 8192
#define PIECE_WORDS (PIECE / 32)

kernel void find_rows(ulong row_count, global const ulong *sums, ulong low, ulong high, global uint *first_rows) {
    high = max(min(high, sums[row_count]), low);
    ulong pieces = (high - low + PIECE - 1) / PIECE;
    FOR_EACH(piece, pieces + 1) {
        ulong pair = piece < pieces ? low + piece * PIECE : high - 1;
        first_rows[piece] = (uint)(first_sum_above(sums, 0, row_count + 1, pair) - 1);
    }
}

/* Rows of a block that have pairs in the piece. `directions`: bit 0 is set if the base is incoming, bit n + 1 if
   other list n is. */
typedef struct {
    uint marks[PIECE_WORDS], ranks[PIECE_WORDS], rows[GROUP], shifts[GROUP];
    uchar directions[GROUP];
} Block;

/* Other list n of the row at a position is others[n * GROUP + position]: first entry and length, or bitmap and
   HUB. */
#define HUB NONE

/* The number of marks before a position. */
static inline uint rank_of(local const uint *marks, local const uint *ranks, uint place) {
    return ranks[place >> 5] + popcount(marks[place >> 5] & ((1u << (place & 31)) - 1));
}

/* Sets ranks[w] to the number of marks in the words before w; returns the number of all marks. */
static inline uint rank_marks(local const uint *marks, local uint *ranks) {
    uint item = get_local_id(0), own = popcount(marks[item]);
    ranks[item] = own;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint reach = 1; reach < PIECE_WORDS; reach *= 2) {
        uint before = item >= reach ? ranks[item - reach] : 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        ranks[item] += before;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    uint inclusive = ranks[item], total = ranks[PIECE_WORDS - 1];
    barrier(CLK_LOCAL_MEM_FENCE);
    ranks[item] = inclusive - own;
    barrier(CLK_LOCAL_MEM_FENCE);
    return total;
}

/* Ranks the hits, and reserves as many output rows. */
static inline void take_places(
    local const uint *hits, local uint *hit_ranks, local uint *first_place, volatile global uint *appended
) {
    uint found = rank_marks(hits, hit_ranks);
    if (get_local_id(0) == 0) *first_place = found ? atomic_add(appended, found) : 0;
    barrier(CLK_LOCAL_MEM_FENCE);
}

/* Looks up the lists of a row in a block. Bitmaps come first, as a probe costs less than a search. */
static inline void look_up_lists(
    const Step *step, const Hubs *hubs, local Block *block, local uint2 *others, ulong row, uint place, uint base, uint offset
) {
    uint front = 0, back = step->link_count - 1, directions = 0;
    for (uint number = 0; number < step->link_count; ++number) {
        uint link = link_at(step, number), from = old_value(step, row, step->words[link]);
        bool is_incoming = step->words[link + LINK_DIRECTIONS] & INCOMING;
        uint2 list = plain_list(step, link, is_incoming, from);
        if (number == base) {
            block->shifts[place] = list.x + offset;
            directions |= is_incoming;
            continue;
        }
        uint length = list.y - list.x;
        const Csr csr = csr_of(step, is_incoming);
        uint slot = hub_slot(hubs, &csr, is_incoming, from, plain_type(step, link), length);
        uint at = slot == NONE ? --back : front++;
        others[at * GROUP + place] = slot == NONE ? (uint2)(list.x, length) : (uint2)(slot, HUB);
        directions |= (uint)is_incoming << (at + 1);
    }
    block->directions[place] = (uchar)directions;
}

/* Looks up the rows first … last-1, at most GROUP, for their pairs in begin … end-1. */
static inline void look_up_block(
    const Step *step, const Hubs *hubs, local Block *block, local uint2 *others, global const ulong *sums,
    global const uchar *bases, ulong first, ulong last, ulong begin, ulong end
) {
    uint item = get_local_id(0), start = 0, skipped = 0;
    ulong row = first + item;
    bool has_pairs = false;
    if (row < last) {
        ulong own = sums[row], from = max(own, begin), to = min(sums[row + 1], end);
        has_pairs = from < to;
        start = (uint)(from - begin);
        skipped = (uint)(from - own);
    }
    block->marks[item] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (has_pairs) atomic_or(&block->marks[start >> 5], 1u << (start & 31));
    barrier(CLK_LOCAL_MEM_FENCE);
    rank_marks(block->marks, block->ranks);
    if (has_pairs) {
        uint place = rank_of(block->marks, block->ranks, start);
        block->rows[place] = item;
        look_up_lists(step, hubs, block, others, row, place, bases[row], skipped - start);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
}

/* Searches `size` ascending values, at least one, as no list is shorter than the base. */
static inline bool is_in_list(global const uint *values, uint size, uint wanted) {
    uint begin = 0;
    while (size > 1) {
        uint half_of = size >> 1;
        begin += values[begin + half_of] <= wanted ? half_of : 0;
        size -= half_of;
    }
    return values[begin] == wanted;
}

static inline uint place_of(local const Block *block, uint pair) {
    return block->ranks[pair >> 5] + popcount(block->marks[pair >> 5] & (NONE >> (31 - (pair & 31)))) - 1;
}

/* Arrays in which pairs are looked up. */
typedef struct {
    global const uint *outgoing, *incoming, *hub_bits;
    uint node_words, other_count;
} Lists;

#define LISTS_OF(step) {outgoing_neighbours, incoming_neighbours, hub_bits, node_words, step.link_count - 1}

static inline uint node_of(const Lists *lists, local const Block *block, uint pair, uint place) {
    global const uint *neighbours = lists->outgoing;
    if (block->directions[place] & 1) neighbours = lists->incoming;
    return neighbours[pair + block->shifts[place]];
}

/* An item processes this many pairs at once, GROUP apart, so that their loads overlap. */
#define TOGETHER 4
#define EACH(i) _Pragma("unroll") for (uint i = 0; i < TOGETHER; ++i)

/* Bits of the pairs pair, pair + GROUP, … that pass. `first` is the first row of the block, which has `count`
   pairs. */
static inline uint passing_pairs(
    const Step *step, const Lists *lists, local const Block *block, local const uint2 *others, ulong first, uint pair, uint count
) {
    uint places[TOGETHER], nodes[TOGETHER], words[TOGETHER], passed = 0;
    EACH(i) {
        uint at = min(pair + i * GROUP, count - 1);
        places[i] = place_of(block, at);
        nodes[i] = node_of(lists, block, at, places[i]);
        passed |= (uint)(pair + i * GROUP < count) << i;
    }
    if (step->row_bits) {
        EACH(i) words[i] = step->row_bits[nodes[i] >> 5];
        EACH(i) passed &= ~(1u << i) | ((words[i] >> (nodes[i] & 31)) & 1) << i;
    }
    for (uint n = 0; n < lists->other_count; ++n) {
        uint2 list[TOGETHER];
        EACH(i) {
            list[i] = others[n * GROUP + places[i]];
            words[i] = 0;
            if (list[i].y == HUB && ((passed >> i) & 1)) {
                words[i] = lists->hub_bits[(ulong)list[i].x * lists->node_words + (nodes[i] >> 5)];
            }
        }
        EACH(i) {
            bool is_found = (words[i] >> (nodes[i] & 31)) & 1;
            if (list[i].y != HUB && ((passed >> i) & 1)) {
                global const uint *values = lists->outgoing;
                if ((block->directions[places[i]] >> (n + 1)) & 1) values = lists->incoming;
                is_found = is_in_list(values + list[i].x, list[i].y, nodes[i]);
            }
            passed &= ~(1u << i) | (uint)is_found << i;
        }
    }
    if (step->tests != step->tests_end) {
        EACH(i) if (((passed >> i) & 1) && !passes_tests(step, first + block->rows[places[i]], nodes[i], 0)) passed ^= 1u << i;
    }
    return passed;
}

#define BLOCKS(first, last) \
    for (ulong piece = get_group_id(0); low + piece * PIECE < high; piece += get_num_groups(0)) \
        for (ulong first = first_rows[piece], last = (ulong)first_rows[piece + 1] + 1; first < last; first += GROUP)

#define BLOCK_PAIRS(first, last) \
    ulong begin = max(low + piece * PIECE, sums[first]); \
    ulong end = min(min(low + (piece + 1) * PIECE, high), sums[min(first + GROUP, last)]); \
    uint count = begin < end ? (uint)(end - begin) : 0; \
    look_up_block(&step, &hubs, &block, others, sums, bases, first, last, begin, end)

/* others: local memory for a list per item and link besides the base, at least one per item. */
kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void count_listed(
    STEP_PARAMETERS, HUB_PARAMETERS, local uint2 *others, ulong row_count, global const ulong *sums,
    global const uchar *bases, ulong low, ulong high, global const uint *first_rows, global ulong *totals
) {
    const Step step = STEP_ARGUMENTS;
    const Hubs hubs = HUB_ARGUMENTS;
    local Block block;
    const Lists lists = LISTS_OF(step);
    uint item = get_local_id(0);
    ulong total = 0;
    high = min(high, sums[row_count]);
    BLOCKS(first, last) {
        BLOCK_PAIRS(first, last);
        for (uint pair = item; pair < count; pair += GROUP * TOGETHER) {
            total += popcount(passing_pairs(&step, &lists, &block, others, first, pair, count));
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    others[item] = as_uint2(total);
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint reach = GROUP / 2; reach > 0; reach /= 2) {
        if (item < reach) others[item] = as_uint2(as_ulong(others[item]) + as_ulong(others[item + reach]));
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (item == 0) totals[get_group_id(0)] += as_ulong(others[0]);
}

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void append_listed(
    STEP_PARAMETERS, HUB_PARAMETERS, local uint2 *others, ulong row_count, global const ulong *sums,
    global const uchar *bases, ulong low, ulong high, global const uint *first_rows, global uint *extended, ulong extended_stride,
    volatile global uint *appended
) {
    const Step step = STEP_ARGUMENTS;
    const Hubs hubs = HUB_ARGUMENTS;
    local Block block;
    local uint hits[PIECE_WORDS], hit_ranks[PIECE_WORDS], first_place;
    const Lists lists = LISTS_OF(step);
    uint item = get_local_id(0);
    high = min(high, sums[row_count]);
    BLOCKS(first, last) {
        BLOCK_PAIRS(first, last);
        hits[item] = 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        for (uint pair = item; pair < count; pair += GROUP * TOGETHER) {
            uint passed = passing_pairs(&step, &lists, &block, others, first, pair, count);
            EACH(i) if ((passed >> i) & 1) atomic_or(&hits[(pair >> 5) + i * (GROUP / 32)], 1u << (pair & 31));
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        take_places(hits, hit_ranks, &first_place, appended);
        for (uint pair = item; pair < count; pair += GROUP) {
            if ((hits[pair >> 5] >> (pair & 31)) & 1) {
                uint place = place_of(&block, pair);
                write_row(&step, first + block.rows[place], node_of(&lists, &block, pair, place), 0, extended, extended_stride,
                          (ulong)first_place + rank_of(hits, hit_ranks, pair));
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}

/* A row may have pairs in several pieces: a group adds up its counts in local memory first. */
kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void weigh_listed(
    STEP_PARAMETERS, HUB_PARAMETERS, local uint2 *others, ulong row_count, global const ulong *sums,
    global const uchar *bases, ulong low, ulong high, global const uint *first_rows, volatile global uint *counts
) {
    const Step step = STEP_ARGUMENTS;
    const Hubs hubs = HUB_ARGUMENTS;
    local Block block;
    local uint found[GROUP];
    const Lists lists = LISTS_OF(step);
    uint item = get_local_id(0);
    high = min(high, sums[row_count]);
    BLOCKS(first, last) {
        BLOCK_PAIRS(first, last);
        found[item] = 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        for (uint pair = item; pair < count; pair += GROUP * TOGETHER) {
            uint passed = passing_pairs(&step, &lists, &block, others, first, pair, count);
            EACH(i) if ((passed >> i) & 1) atomic_inc(&found[block.rows[place_of(&block, pair + i * GROUP)]]);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (found[item]) atomic_add(&counts[first + item], found[item]);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void append_weighted(
    STEP_PARAMETERS, ulong first_row, ulong last_row, global const uint *counts,
    global uint *extended, ulong extended_stride, volatile global uint *appended
) {
    const Step step = STEP_ARGUMENTS;
    local uint hits[PIECE_WORDS], hit_ranks[PIECE_WORDS], first_place;
    uint item = get_local_id(0);
    for (ulong begin = first_row + get_group_id(0) * (ulong)PIECE; begin < last_row; begin += get_num_groups(0) * (ulong)PIECE) {
        uint rows = (uint)min((ulong)PIECE, last_row - begin);
        hits[item] = 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        for (uint row = item; row < rows; row += GROUP) {
            if (counts[begin + row]) atomic_or(&hits[row >> 5], 1u << (row & 31));
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        take_places(hits, hit_ranks, &first_place, appended);
        for (uint row = item; row < rows; row += GROUP) {
            if ((hits[row >> 5] >> (row & 31)) & 1) {
                write_row(&step, begin + row, counts[begin + row], 0, extended, extended_stride,
                          (ulong)first_place + rank_of(hits, hit_ranks, row));
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}
