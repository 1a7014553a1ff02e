/* Extending partial embeddings row by row on a CPU, along links of any types and directions (see extension.h).

       intersect_rows    a few items that take rows from a counter: intersects lists by marks for the slowly changing ones

   counters[0] counts rows that were appended, counters[1] tasks that were taken.
   Links are in the order in which their nodes were bound: the last one changes fastest from row to row. Level l of the marks
   holds for each node in how many ways the links 0 … l lead to it, as long as neighbouring rows have the same nodes there, so
   that going through the last link's entries counts the rest:

       row    a  b  c        level 0: marks of a's neighbours
              a  b  c'       level 1: of those that b's entries lead to as well; kept for the next row
              a  b' …        level 0 kept, level 1 made anew

   A mark that reaches FULL only says that there are many ways; they are looked up. So are they where relationships could be
   the same: two relationships are the same only if both their ends are. A link's relationship ends at the added node, so it
   can only be one of the row if the added node is an end of that one (words before the step name their columns), and can only
   be another link's if both links begin at the same node.

   Comparisons with the added node cut what the last link's entries are (see row_ranges.h). With `weighs` a row is not extended, but
   appended with the number of its new rows (see weigh.cl).
*/
#include "work_split.h"
#include "search.h"
#include "csr.h"
#include "query_graph.h"
#include "extension.h"
#include "row_ranges.h"
#include "whole_rows.h"
#include "excluded_nodes.h"

#ifdef ON_CPU
#define FULL 255
#define NO_ROW 0xFFFFFFFFFFFFFFFFul

/* A byte per node, which is found faster than a bit, and the list of the nodes that are marked. */
typedef struct {
    global uchar *marks;
    global uint *list;
    uint size;
    bool has_full;
} Level;

static void clear(Level *level) {
    for (uint i = 0; i < level->size; ++i) level->marks[level->list[i]] = 0;
    level->size = 0;
    level->has_full = false;
}

/* A search costs about as much as looking at so many neighbours one after the other, to mark one as so many. What an item has
   done until it stops is reckoned by less: there most searched lists lie in a cache. */
#define SEARCH_COST 64
#define MARK_COST 4
#define SEARCH_WORK 16

static inline uint flags_of(const Step *step, uint link) {
    return step->words[link + LINK_FLAGS];
}

static inline uint bound_end(const Step *step, ulong row, uint number) {
    return old_value(step, row, step->words[link_at(step, number)]);
}

static inline uint length_of(const Step *step, ulong row, uint number) {
    return entry_count(step, link_at(step, number), bound_end(step, row, number));
}

static inline bool fits_mask(const Step *step, uint link, bool is_incoming, uint entry) {
    uint relationship;
    return step->words[link + LINK_MASK] == NONE || take_relationship(step, link, is_incoming, entry, &relationship);
}

/* The node to which an entry of a segment does not lead, for it is a loop that was taken from the other direction. */
static inline uint loop_of(const Step *step, uint link, bool is_incoming, uint from) {
    return is_incoming && (step->words[link + LINK_DIRECTIONS] & OUTGOING) ? from : NONE;
}

static inline uint ways_of(const Step *step, uint link, uint from, uint node) {
    uint relationship;
    return matches(step, link, from, node, flags_of(step, link) & SEVERAL ? EVERY_ONE : 1, &relationship);
}

static inline uint leading_links(const Step *step, ulong row, ulong other) {
    uint number = 0;
    while (number + 1 < step->link_count && bound_end(step, row, number) == bound_end(step, other, number)) ++number;
    return number;
}

/* ------------------------------------------------------------------ marks */
static inline void mark(Level *level, uint node, uint ways) {
    if (level->marks[node] == 0) level->list[level->size++] = node;
    uint sum = min(level->marks[node] + ways, (uint)FULL);
    level->marks[node] = (uchar)sum;
    level->has_full |= sum == FULL;
}

static ulong mark_by_searches(const Step *step, uint link, uint from, const Level *below, Level *level) {
    for (uint i = 0; i < below->size; ++i) {
        uint node = below->list[i], ways = ways_of(step, link, from, node);
        if (ways) mark(level, node, below->marks[node] * min(ways, (uint)FULL));
    }
    return (ulong)below->size * SEARCH_WORK;
}

static ulong mark_by_entries(const Step *step, uint link, uint from, const Level *below, Level *level) {
    ulong work = 0;
    bool is_several = flags_of(step, link) & SEVERAL;
    Segments segments = all_segments(step->words, link, false);
    while (next_segment(&segments, step, from)) {
        global const uint *neighbours = neighbours_of(step, segments.is_incoming);
        uint loop = loop_of(step, link, segments.is_incoming, from);
        for (uint entry = segments.begin; entry < segments.end; ++entry) {
            uint node = neighbours[entry], ways = 1;
            if (below) ways = below->marks[node];
            else if (step->row_bits) ways = has_bit(step->row_bits, node);
            if (ways == 0 || node == loop || !fits_mask(step, link, segments.is_incoming, entry)) continue;
            if (is_several || level->marks[node] == 0) mark(level, node, ways);
        }
        work += segments.end - segments.begin;
    }
    return work;
}

static ulong build(const Step *step, ulong row, uint number, Level *levels) {
    uint link = link_at(step, number), from = bound_end(step, row, number);
    const Level *below = number ? &levels[number - 1] : 0;
    Level *level = &levels[number];
    if (below && below->size == 0) return 0;
    if (below && (ulong)below->size * SEARCH_COST < entry_count(step, link, from)) {
        return mark_by_searches(step, link, from, below, level);
    }
    return mark_by_entries(step, link, from, below, level);
}

/* Are marks cheaper than searches, from the first level that is not there? The next row shares some. */
static bool marks_pay(const Step *step, ulong row, uint built, uint shared, uint *shortest) {
    ulong least = EVERY_ONE, work = 0;
    for (uint number = 0; number < step->link_count; ++number) {
        ulong length = length_of(step, row, number);
        if (length < least) *shortest = number;
        least = min(least, length);
        if (number + 1 == step->link_count) work += length;
        else if (number >= max(built, shared)) work += length * MARK_COST;
    }
    return work < least * SEARCH_COST * (step->link_count - 1);
}

/* ------------------------------------------------------------------ rows */
/* What a row makes of some nodes: the first ones are excluded, at the others relationships could be the same. */
typedef struct {
    uint nodes[3 * MOST_EXCLUDED];
    uint excluded_count, count;
    bool is_any;
} Special;

static void add_special(Special *special, uint node) {
    for (uint i = 0; i < special->count; ++i) {
        if (special->nodes[i] == node) return;
    }
    special->nodes[special->count++] = node;
}

static void find_special(const Step *step, ulong row, uint ends, Special *special) {
    special->count = special->excluded_count = excluded_nodes(step, row, special->nodes);
    special->is_any = false;
    for (uint test = step->tests; test < step->tests_end; test += TEST_WORDS) {
        if (!is_on_relationships(step, test)) continue;
        uint left = step->words[test], right = step->words[test + 1], other = max(left, right) - step->width - 1;
        uint from = bound_end(step, row, other);
        if (min(left, right) > step->width) {
            special->is_any |= from == bound_end(step, row, min(left, right) - step->width - 1);
            continue;
        }
        uint source = old_value(step, row, step->words[ends]), target = old_value(step, row, step->words[ends + 1]);
        ends += 2;
        if (from == source) add_special(special, target);
        if (from == target) add_special(special, source);
    }
}

static inline uint special_place(const Special *special, uint node) {
    uint place = 0;
    while (place < special->count && special->nodes[place] != node) ++place;
    return place;
}

/* All that lead to a node, whose relationships are looked up. */
static ulong take_exactly(const Step *step, ulong row, uint node, const Output *output) {
    uint counts[MOST_LINKS], relationships[MOST_LINKS];
    ulong product = combinations(step, row, NONE, 0, false, 0, 0, node, counts, relationships);
    return take(step, row, node, counts, product, relationships, output);
}

/* Is a relationship of a link none of the row that tests compare with it? */
static inline bool is_new(const Step *step, ulong row, uint number, uint relationship) {
    uint column = step->width + 1 + number;
    for (uint test = step->tests; test < step->tests_end; test += TEST_WORDS) {
        uint left = step->words[test], right = step->words[test + 1], other = left == column ? right : left;
        if ((step->words[test + 2] & COMPARES) || (left != column && right != column) || other >= step->width) continue;
        if (old_value(step, row, other) == relationship) return false;
    }
    return true;
}

/* In how many ways do new relationships lead to a node, where no two links can take the same one? `entries`: of the last link. */
static ulong new_ways(const Step *step, ulong row, uint node, ulong *entries) {
    ulong product = 1, count = 0;
    for (uint number = 0; number < step->link_count; ++number) {
        uint link = link_at(step, number), from = bound_end(step, row, number);
        ulong all = 0;
        count = 0;
        Segments segments = all_segments(step->words, link, true);
        while (next_segment(&segments, step, from)) {
            if (loop_of(step, link, segments.is_incoming, from) == node) continue;
            global const uint *neighbours = neighbours_of(step, segments.is_incoming);
            uint entry = first_place_from(neighbours, segments.begin, segments.end, node);
            for (; entry < segments.end && neighbours[entry] == node; ++entry) {
                if (!fits_mask(step, link, segments.is_incoming, entry)) continue;
                ++all;
                count += is_new(step, row, number, segments.is_incoming ? step->incoming_relationship_indexes[entry] : entry);
            }
        }
        product *= flags_of(step, link) & SEVERAL ? count : min(count, (ulong)1);
        *entries = all;
    }
    return product;
}

static inline ulong take_ways(const Step *step, ulong row, uint node, ulong ways, const Output *output) {
    if (!output->extended) return ways;
    const uint unread[MOST_LINKS] = {0};
    for (; ways > 0; --ways) {
        found_row(step, output->found, row, node, unread, output->extended, output->stride, output->appended);
    }
    return 0;
}

/* Of the nodes whose keys are in a range. */
static inline ulong marked_ways_within(
    global const uchar *restrict marks, global const uint *restrict neighbours, uint begin, uint end, const KeyRange *range
) {
    global const uint *restrict keys = range->keys;
    uint low = range->low, span = range->span;
    ulong ways = 0;
    for (uint entry = begin; entry < end; ++entry) {
        uint node = neighbours[entry];
        ways += keys[node] - low <= span ? marks[node] : 0;
    }
    return ways;
}

static inline ulong marked_ways(global const uchar *restrict marks, global const uint *restrict neighbours, uint begin, uint end) {
    ulong ways = 0;
    for (uint entry = begin; entry < end; ++entry) ways += marks[neighbours[entry]];
    return ways;
}

/* Entries of a link that lead to a node and fit its mask, or only the loops among them that count for the other direction. */
static ulong entries_to(const Step *step, uint link, uint from, uint node, bool only_loops) {
    ulong count = 0;
    Segments segments = all_segments(step->words, link, true);
    while (next_segment(&segments, step, from)) {
        bool is_counted = loop_of(step, link, segments.is_incoming, from) == node;
        if (is_counted != only_loops) continue;
        global const uint *neighbours = neighbours_of(step, segments.is_incoming);
        uint entry = first_place_from(neighbours, segments.begin, segments.end, node);
        for (; entry < segments.end && neighbours[entry] == node; ++entry) {
            count += fits_mask(step, link, segments.is_incoming, entry);
        }
    }
    return count;
}

/* The last count, which the next row has too if all its links begin at the same nodes. Of a step with one link, one more than
   the counts of the nodes that were met. */
typedef struct {
    ulong row, count;
    global uint *of_nodes;
} Known;

static inline bool same_links(const Step *step, ulong row, ulong other) {
    uint last = step->link_count - 1;
    return leading_links(step, row, other) == last && bound_end(step, row, last) == bound_end(step, other, last);
}

static inline uint ways_at(const Step *step, const Level *level, uint node) {
    return level ? level->marks[node] : !step->row_bits || has_bit(step->row_bits, node);
}

/* In how many ways the last link's entries and the marks lead to any node. */
static ulong count_entries(
    const Step *step, uint link, uint from, const Level *level, const RowRanges *ranges, ulong *work
) {
    ulong total = 0;
    bool sorted = has_sorted_segments(step, link), is_masked = step->words[link + LINK_MASK] != NONE;
    Segments segments = all_segments(step->words, link, false);
    while (next_segment(&segments, step, from)) {
        global const uint *neighbours = neighbours_of(step, segments.is_incoming);
        uint2 list = (uint2)(segments.begin, segments.end);
        if (sorted) list = within_ranges(ranges, neighbours, list);
        bool all_pass = ranges->range_count == 0 && (sorted || !has_limits(ranges));
        if (is_masked) {
            for (uint entry = list.x; entry < list.y; ++entry) {
                uint node = neighbours[entry], ways = passes_ranges(ranges, node) ? ways_at(step, level, node) : 0;
                if (ways && fits_mask(step, link, segments.is_incoming, entry)) total += ways;
            }
        } else if (all_pass && level) total += marked_ways(level->marks, neighbours, list.x, list.y);
        else if (all_pass && !step->row_bits) total += list.y - list.x;
        else if (level && sorted && ranges->range_count == 1 && ranges->ranges[0].keys) {
            total += marked_ways_within(level->marks, neighbours, list.x, list.y, &ranges->ranges[0]);
        } else {
            for (uint entry = list.x; entry < list.y; ++entry) {
                uint node = neighbours[entry];
                if (all_pass || passes_ranges(ranges, node)) total += ways_at(step, level, node);
            }
        }
        *work += (list.y - list.x) / 4;
    }
    if ((flags_of(step, link) & LOOPS) && passes_ranges(ranges, from)) {
        uint ways = ways_at(step, level, from);
        if (ways) total -= ways * entries_to(step, link, from, from, true);
    }
    return total;
}

/* Of a row that nothing has to be looked up for but at a few nodes: these are taken out again. */
static ulong count_row(
    const Step *step, ulong row, uint link, uint from, const Level *level, const Special *special,
    const RowRanges *ranges, Known *known, ulong *work
) {
    bool same_ranges = ranges->range_count == 0 && !has_limits(ranges);
    if (same_ranges && known->of_nodes) {
        if (!known->of_nodes[from]) known->of_nodes[from] = 1 + (uint)count_entries(step, link, from, level, ranges, work);
        known->count = known->of_nodes[from] - 1;
    } else if (!same_ranges || known->row == NO_ROW || !same_links(step, row, known->row)) {
        known->count = count_entries(step, link, from, level, ranges, work);
    }
    known->row = same_ranges ? row : NO_ROW;
    ulong total = known->count;
    for (uint i = 0; i < special->count; ++i) {
        uint node = special->nodes[i], ways = ways_at(step, level, node);
        if (ways == 0 || !passes_ranges(ranges, node)) continue;
        if (i < special->excluded_count) {
            total -= ways * entries_to(step, link, from, node, false);
        } else {
            ulong entries, new = new_ways(step, row, node, &entries);
            total += new - ways * entries;
        }
    }
    return total;
}

static ulong go_through_entries(
    const Step *step, ulong row, uint link, uint from, const Level *level, const Special *special, const RowRanges *ranges,
    const Output *output
) {
    ulong total = 0;
    bool sorted = has_sorted_segments(step, link);
    uint counts[MOST_LINKS], relationships[MOST_LINKS], base = step->link_count - 1;
    Segments segments = all_segments(step->words, link, false);
    while (next_segment(&segments, step, from)) {
        global const uint *neighbours = neighbours_of(step, segments.is_incoming);
        uint loop = loop_of(step, link, segments.is_incoming, from);
        uint2 list = (uint2)(segments.begin, segments.end);
        if (sorted) list = within_ranges(ranges, neighbours, list);
        for (uint entry = list.x; entry < list.y; ++entry) {
            uint node = neighbours[entry], ways = 1;
            if (level) ways = level->marks[node];
            else if (step->row_bits) ways = has_bit(step->row_bits, node);
            if (ways == 0 || !passes_ranges(ranges, node)) continue;
            uint place = special_place(special, node);
            if (place < special->excluded_count) continue;
            if (special->is_any || place < special->count || (level && ways == FULL)) {
                ulong product = combinations(
                    step, row, base, from, segments.is_incoming, segments.begin, entry, node, counts, relationships);
                if (product) total += take(step, row, node, counts, product, relationships, output);
            } else if (node != loop && fits_mask(step, link, segments.is_incoming, entry)) {
                total += take_ways(step, row, node, ways, output);
            }
        }
    }
    return total;
}

static ulong go_through_marked(
    const Step *step, ulong row, uint link, uint from, const Level *level, const Special *special, const RowRanges *ranges,
    const Output *output
) {
    ulong total = 0;
    for (uint i = 0; i < level->size; ++i) {
        uint node = level->list[i];
        if (!passes_ranges(ranges, node)) continue;
        uint place = special_place(special, node);
        if (place < special->excluded_count) continue;
        if (special->is_any || place < special->count || level->marks[node] == FULL) {
            total += take_exactly(step, row, node, output);
        } else {
            uint ways = ways_of(step, link, from, node);
            total += take_ways(step, row, node, (ulong)ways * level->marks[node], output);
        }
    }
    return total;
}

/* The rows of one row, whose marks are there if it has several links. */
static ulong intersect(
    const Step *step, ulong row, const Level *level, uint ends, bool binds, const Output *output,
    Known *known, ulong *work
) {
    uint number = step->link_count - 1, link = link_at(step, number), from = bound_end(step, row, number);
    if (level && level->size == 0) return 0;
    RowRanges ranges;
    if (!ranges_of_row(step, row, step->tests, step->tests_end, &ranges)) return 0;
    Special special;
    find_special(step, row, ends, &special);
    special.is_any |= binds;
    if (level) {
        uint length = entry_count(step, link, from);
        if ((ulong)level->size * SEARCH_COST < length) {
            *work += (ulong)level->size * SEARCH_WORK;
            return go_through_marked(step, row, link, from, level, &special, &ranges, output);
        }
    }
    bool counts_once = (flags_of(step, link) & (DISTINCT | SEVERAL)) == DISTINCT;
    bool is_plain = !counts_once && !special.is_any;
    if (is_plain && !output->extended && !(level && level->has_full)) {
        return count_row(step, row, link, from, level, &special, &ranges, known, work);
    }
    special.is_any |= counts_once;
    uint entries = length_of(step, row, number);
    *work += entries;
    if (special.is_any) *work += (ulong)(level ? level->size : entries) * SEARCH_WORK;
    return go_through_entries(step, row, link, from, level, &special, &ranges, output);
}

/* Must it be known which relationships lead to a node? */
static bool binds_relationships(const Step *step) {
    bool binds = false;
    for (uint number = 0; number < step->link_count; ++number) {
        binds |= step->words[link_at(step, number) + LINK_RELATIONSHIP_COLUMN] != NONE;
    }
    return binds;
}

/* Items stop taking tasks when they looked at `most_work` entries: the host starts them again until all tasks are done.
   Each has `level_words` words for each link but the last: the marks, then the list. With one link these are for what is known
   of each node, zero at first, or there are none. */
kernel void intersect_rows(
    STEP_PARAMETERS, uint end_count, ulong first_row, ulong last_row, uint task_rows, ulong most_work, uint weighs,
    global uint *scratch, ulong level_words,
    global uint *extended, ulong extended_stride, volatile global uint *counters, global ulong *totals
) {
    const Step step = STEP_ARGUMENTS;
    Found found;
    found.count = 0;
    const Output output = {&found, weighs ? 0 : extended, extended_stride, counters};
    uint top = step.link_count - 1, built = 0, base = 0;
    bool binds = output.extended && binds_relationships(&step);
    Level levels[MOST_LINKS];
    for (uint number = 0; number < top; ++number) {
        global uint *own = scratch + (get_global_id(0) * top + number) * level_words;
        levels[number].marks = (global uchar *)own;
        levels[number].list = own + node_words * 8;
        levels[number].size = 0;
        levels[number].has_full = false;
    }
    ulong total = 0, work = 0;
    while (work < most_work) {
        ulong begin = first_row + (ulong)atomic_inc(&counters[1]) * task_rows, end = min(begin + task_rows, last_row);
        if (begin >= last_row) break;
        Known known = {NO_ROW, 0, top == 0 && level_words ? scratch + get_global_id(0) * level_words : 0};
        for (ulong row = begin; row < end; ++row) {
            uint same = row > begin ? leading_links(&step, row, row - 1) : 0;
            while (built > same) clear(&levels[--built]);
            if (built < top) {
                uint shared = row + 1 < end ? leading_links(&step, row, row + 1) : 0;
                if (shared == top || marks_pay(&step, row, built, shared, &base)) {
                    for (; built < top; ++built) work += build(&step, row, built, levels);
                }
            }
            ulong new_rows;
            if (built == top) {
                new_rows = intersect(&step, row, top ? &levels[top - 1] : 0, at - end_count, binds, &output,
                                   &known, &work);
            } else {
                uint length = length_of(&step, row, base);
                new_rows = extend_row(&step, row, base, 0, length, &output);
                work += (ulong)length * SEARCH_WORK;
            }
            if (weighs && new_rows) write_row(&step, row, (uint)new_rows, 0, extended, extended_stride, atomic_inc(counters));
            total += new_rows;
            ++work;
        }
        while (built > 0) clear(&levels[--built]);
    }
    append(&step, &found, extended, extended_stride, counters);
    totals[get_group_id(0)] += total;
}
#endif
