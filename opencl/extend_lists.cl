/* Extending partial embeddings on a GPU where all links of a step are plain sorted lists without parallel relationships (see
   extension.h): one work item per (row, neighbour) pair, and what it needs to know of its row lies in local memory.

       find_rows       one item per piece: the row of its first pair; after the last piece the row of the last pair
       count_listed    counts the pairs that pass, in totals[group]
       append_listed   appends a row for each of them

   A work group takes pieces of PIECE pairs. It goes through the rows of a piece in blocks of GROUP: a bit marks where in the
   block each row begins, so that counting the bits up to a pair gives its row; lists of other links are looked up once per row.
   What is found is marked by bits too, and counting these gives each its place: one atomic per block, and rows stay in order.
*/
#include "work_split.h"
#include "search.h"
#include "csr.h"
#include "query_graph.h"
#include "extension.h"

#define GROUP 256
#define PIECE 8192
#define PIECE_WORDS (PIECE / 32)
#define LINKS MOST_LINKS

kernel void find_rows(ulong row_count, global const ulong *sums, ulong low, ulong high, global uint *first_rows) {
    ulong pieces = (high - low + PIECE - 1) / PIECE;
    FOR_EACH(piece, pieces + 1) {
        ulong pair = piece < pieces ? low + piece * PIECE : high - 1;
        first_rows[piece] = (uint)(first_sum_above(sums, 0, row_count + 1, pair) - 1);
    }
}

/* Of the rows of a block that have pairs in the piece. */
typedef struct {
    uint marks[PIECE_WORDS], ranks[PIECE_WORDS];
    uint rows[GROUP], shifts[GROUP], begins[LINKS][GROUP], ends[LINKS][GROUP];
    uchar bases[GROUP];
} Block;

/* How many of the marks are before a place. */
static inline uint rank_of(local const uint *marks, local const uint *ranks, uint place) {
    return ranks[place >> 5] + popcount(marks[place >> 5] & ((1u << (place & 31)) - 1));
}

/* ranks[w] becomes the number of marks in the words before w; gives the number of all. */
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

static inline uint2 link_list(const Step *step, ulong row, uint number) {
    uint link = link_at(step, number);
    return plain_list(step, link, step->words[link + LINK_DIRECTIONS] & INCOMING, old_value(step, row, step->words[link]));
}

/* The rows first … last-1, at most GROUP, and their pairs from `begin` on, up to `end`. */
static inline void look_up_block(
    const Step *step, local Block *block, global const ulong *sums, global const uchar *bases,
    ulong first, ulong last, ulong begin, ulong end
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
        uint place = rank_of(block->marks, block->ranks, start), base = bases[row];
        block->rows[place] = item;
        block->bases[place] = (uchar)base;
        for (uint number = 0; number < step->link_count; ++number) {
            uint2 list = link_list(step, row, number);
            block->begins[number][place] = list.x;
            block->ends[number][place] = list.y;
            if (number == base) block->shifts[place] = list.x + skipped - start;
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
}

static inline bool is_in_list(global const uint *values, uint begin, uint end, uint wanted) {
    uint left = end - begin;
    if (left == 0) return false;
    while (left > 1) {
        uint half_of = left >> 1;
        begin += values[begin + half_of] <= wanted ? half_of : 0;
        left -= half_of;
    }
    return values[begin] == wanted;
}

static inline uint place_of(local const Block *block, uint pair) {
    return rank_of(block->marks, block->ranks, pair) + ((block->marks[pair >> 5] >> (pair & 31)) & 1) - 1;
}

static inline uint node_of(const Step *step, local const Block *block, uint pair, uint place) {
    uint link = link_at(step, block->bases[place]);
    return neighbours_of(step, step->words[link + LINK_DIRECTIONS] & INCOMING)[pair + block->shifts[place]];
}

/* Does the neighbour of a pair pass? `first` is the first row of the block. */
static inline bool passes(const Step *step, local const Block *block, ulong first, uint place, uint node) {
    if (step->row_bits && !has_bit(step->row_bits, node)) return false;
    uint base = block->bases[place];
    bool is_found = true;
    for (uint number = 0; number < step->link_count; ++number) {
        uint link = link_at(step, number);
        global const uint *neighbours = neighbours_of(step, step->words[link + LINK_DIRECTIONS] & INCOMING);
        if (is_found && number != base) {
            is_found = is_in_list(neighbours, block->begins[number][place], block->ends[number][place], node);
        }
    }
    return is_found && passes_tests(step, first + block->rows[place], node, 0);
}

#define BLOCKS(first, last) \
    for (ulong piece = get_group_id(0); low + piece * PIECE < high; piece += get_num_groups(0)) \
        for (ulong first = first_rows[piece], last = (ulong)first_rows[piece + 1] + 1; first < last; first += GROUP)

#define BLOCK_PAIRS(first, last) \
    ulong begin = max(low + piece * PIECE, sums[first]); \
    ulong end = min(min(low + (piece + 1) * PIECE, high), sums[min(first + GROUP, last)]); \
    uint count = begin < end ? (uint)(end - begin) : 0; \
    look_up_block(&step, &block, sums, bases, first, last, begin, end)

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void count_listed(
    STEP_PARAMETERS, global const ulong *sums, global const uchar *bases, ulong low, ulong high,
    global const uint *first_rows, global ulong *totals
) {
    const Step step = STEP_ARGUMENTS;
    local Block block;
    local ulong scratch[GROUP];
    uint item = get_local_id(0);
    ulong total = 0;
    BLOCKS(first, last) {
        BLOCK_PAIRS(first, last);
        for (uint pair = item; pair < count; pair += GROUP) {
            uint place = place_of(&block, pair);
            total += passes(&step, &block, first, place, node_of(&step, &block, pair, place));
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    scratch[item] = total;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint reach = GROUP / 2; reach > 0; reach /= 2) {
        if (item < reach) scratch[item] += scratch[item + reach];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (item == 0) totals[get_group_id(0)] += scratch[0];
}

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void append_listed(
    STEP_PARAMETERS, global const ulong *sums, global const uchar *bases, ulong low, ulong high,
    global const uint *first_rows, global uint *extended, ulong extended_stride, volatile global uint *appended
) {
    const Step step = STEP_ARGUMENTS;
    local Block block;
    local uint hits[PIECE_WORDS], hit_ranks[PIECE_WORDS], first_place;
    uint item = get_local_id(0);
    BLOCKS(first, last) {
        BLOCK_PAIRS(first, last);
        hits[item] = 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        for (uint pair = item; pair < count; pair += GROUP) {
            uint place = place_of(&block, pair);
            bool is_hit = passes(&step, &block, first, place, node_of(&step, &block, pair, place));
            if (is_hit) atomic_or(&hits[pair >> 5], 1u << (pair & 31));
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        uint found = rank_marks(hits, hit_ranks);
        if (item == 0) first_place = found ? atomic_add(appended, found) : 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        for (uint pair = item; pair < count; pair += GROUP) {
            if ((hits[pair >> 5] >> (pair & 31)) & 1) {
                uint place = place_of(&block, pair);
                write_row(&step, first + block.rows[place], node_of(&step, &block, pair, place), 0, extended, extended_stride,
                          (ulong)first_place + rank_of(hits, hit_ranks, pair));
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}
