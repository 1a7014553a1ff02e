/* Extends partial embeddings row by row on a CPU, along links of any types and directions (see extension.h). Work
   split:

          intersect_rows   a few items take tasks of task_rows rows from counters[1]; an item intersects lists by
                           marks of the slowly changing ones

       counters   uint[2]                               rows appended, tasks taken
       scratch    uint[items * (links - 1) * level_words]   marks of each item, zero before and after
       extended   new table; rows are appended in batches, in any order
       totals     ulong[items]                          number of new rows; each item adds to its own

   Links are in the order in which their nodes were bound: the last one changes fastest from row to row. Level l of
   the marks holds for each node the number of multiplicity in which links 0 … l lead to it, as long as consecutive rows
   have the same nodes there, so that scanning the last link's entries counts the rest:

          row    a  b  c        level 0: marks of a's neighbours
                 a  b  c'       level 1: of those that b's entries lead to as well; kept for the next row
                 a  b' …        level 0 kept, level 1 rebuilt

   Relationships are looked up if a mark is FULL (see marks.h), and if they could coincide (see special_nodes.h).
   Comparisons with the added node restrict the last link's entries (see row_ranges.h). With `weighs`, a row is
   not extended but appended once with the number of its new rows (see weigh.cl).
*/
#include "work_split.h"
#include "search.h"
#include "csr.h"
#include "query_graph.h"
#include "extension.h"
#include "row_ranges.h"
#include "whole_rows.h"
#include "excluded_nodes.h"
#include "marks.h"
#include "special_nodes.h"
#include "counted_rows.h"

#ifdef ON_CPU
static inline ulong take_copies(const Step *step, ulong row, uint node, ulong multiplicity, const Output *output) {
    if (!output->extended) return multiplicity;
    const uint unread[MAX_LINKS] = {0};
    for (; multiplicity > 0; --multiplicity) {
        found_row(step, output->found, row, node, unread, output->extended, output->stride, output->appended);
    }
    return 0;
}

static ulong go_through_entries(
    const Step *step, ulong row, uint link, uint from, const Level *level, const Special *special, const RowRanges *ranges,
    const Output *output
) {
    ulong total = 0;
    bool sorted = has_sorted_segments(step, link);
    uint counts[MAX_LINKS], relationships[MAX_LINKS], base = step->link_count - 1;
    Segments segments = all_segments(step->words, link, false);
    while (next_segment(&segments, step, from)) {
        global const uint *neighbours = neighbours_of(step, segments.is_incoming);
        uint loop = loop_of(step, link, segments.is_incoming, from);
        uint2 list = (uint2)(segments.begin, segments.end);
        if (sorted) list = within_ranges(ranges, neighbours, list);
        for (uint entry = list.x; entry < list.y; ++entry) {
            uint node = neighbours[entry], multiplicity = 1;
            if (level) multiplicity = level->marks[node];
            else if (step->row_bits) multiplicity = has_bit(step->row_bits, node);
            if (multiplicity == 0 || !passes_ranges(ranges, node)) continue;
            uint place = special_place(special, node);
            if (place < special->excluded_count) continue;
            if (special->is_any || place < special->count || (level && multiplicity == FULL)) {
                ulong product = combinations(
                    step, row, base, from, segments.is_incoming, segments.begin, entry, node, counts, relationships);
                if (product) total += take(step, row, node, counts, product, relationships, output);
            } else if (node != loop && fits_mask(step, link, segments.is_incoming, entry)) {
                total += take_copies(step, row, node, multiplicity, output);
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
            uint multiplicity = multiplicity_of(step, link, from, node);
            total += take_copies(step, row, node, (ulong)multiplicity * level->marks[node], output);
        }
    }
    return total;
}

/* Makes the new rows of one row; its marks are built if it has several links. */
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

/* True if the new table has a relationship column, so that relationships must be looked up. */
static bool binds_relationships(const Step *step) {
    bool binds = false;
    for (uint number = 0; number < step->link_count; ++number) {
        binds |= step->words[link_at(step, number) + LINK_RELATIONSHIP_COLUMN] != NONE;
    }
    return binds;
}

/* Items stop taking tasks when they have read `max_work` entries: the host launches again until all tasks are
   done. Each item has `level_words` words for each link but the last: the marks, then the list. With one link
   these cache counts of nodes, initially 0, or are absent. */
kernel void intersect_rows(
    STEP_PARAMETERS, uint end_count, ulong first_row, ulong last_row, uint task_rows, ulong max_work, uint weighs,
    global uint *scratch, ulong level_words,
    global uint *extended, ulong extended_stride, volatile global uint *counters, global ulong *totals
) {
    const Step step = STEP_ARGUMENTS;
    Found found;
    found.count = 0;
    const Output output = {&found, weighs ? 0 : extended, extended_stride, counters};
    uint top = step.link_count - 1, built = 0, base = 0;
    bool binds = output.extended && binds_relationships(&step);
    Level levels[MAX_LINKS];
    for (uint number = 0; number < top; ++number) {
        global uint *own = scratch + (get_global_id(0) * top + number) * level_words;
        levels[number].marks = (global uchar *)own;
        levels[number].list = own + node_words * 8;
        levels[number].size = 0;
        levels[number].has_full = false;
    }
    ulong total = 0, work = 0;
    while (work < max_work) {
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
