/* Marks of the nodes that the links of a row have in common, level by level (see extend_marks.cl). Needs
   extension.h.

   A mark saturates at FULL; the exact number is then looked up. */
#ifdef ON_CPU
#define FULL 255

/* A sparse accumulator: a byte per node, which is accessed faster than a bit, and the list of the marked nodes. */
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

/* Costs in neighbours read sequentially: of a search, and of a mark. SEARCH_WORK is the lower cost by which an
   item accounts for searches to decide when to stop: there most searched lists are in a cache. */
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

/* The node that entries of a segment must not lead to, since such a loop was taken from the other direction. */
static inline uint loop_of(const Step *step, uint link, bool is_incoming, uint from) {
    return is_incoming && (step->words[link + LINK_DIRECTIONS] & OUTGOING) ? from : NONE;
}

static inline uint multiplicity_of(const Step *step, uint link, uint from, uint node) {
    uint relationship;
    return matches(step, link, from, node, flags_of(step, link) & SEVERAL ? EVERY_ONE : 1, &relationship);
}

static inline uint leading_links(const Step *step, ulong row, ulong other) {
    uint number = 0;
    while (number + 1 < step->link_count && bound_end(step, row, number) == bound_end(step, other, number)) ++number;
    return number;
}

static inline void mark(Level *level, uint node, uint multiplicity) {
    if (level->marks[node] == 0) level->list[level->size++] = node;
    uint sum = min(level->marks[node] + multiplicity, (uint)FULL);
    level->marks[node] = (uchar)sum;
    level->has_full |= sum == FULL;
}

static ulong mark_by_searches(const Step *step, uint link, uint from, const Level *below, Level *level) {
    for (uint i = 0; i < below->size; ++i) {
        uint node = below->list[i], multiplicity = multiplicity_of(step, link, from, node);
        if (multiplicity) mark(level, node, below->marks[node] * min(multiplicity, (uint)FULL));
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
            uint node = neighbours[entry], multiplicity = 1;
            if (below) multiplicity = below->marks[node];
            else if (step->row_bits) multiplicity = has_bit(step->row_bits, node);
            if (multiplicity == 0 || node == loop || !fits_mask(step, link, segments.is_incoming, entry)) continue;
            if (is_several || level->marks[node] == 0) mark(level, node, multiplicity);
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

/* True if building the missing levels of marks costs less than searches. The next row reuses `shared` levels. */
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
#endif
