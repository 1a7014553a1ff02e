/* The query graph as words, written by gpugda/device/launch/query_words.py.

   Query nodes are numbered in breadth-first order: `row` of the candidate matrix.

       words[row * NODE_WORDS + …]   positions and numbers of the node's parts:
       label                         operation, slot of the label's bitmap (postfix)
       degree need                   directions, at least, first type, number of types
       adjacency                     directions, other row, relationship mask slot, first type, number of types
       type                          type id

   A number of types of NONE stands for any type.
*/
#define NODE_WORDS 8
#define LABELS_AT 0
#define LABEL_COUNT 1
#define DEGREES_AT 2
#define DEGREE_COUNT 3
#define ADJACENCIES_AT 4
#define ADJACENCY_COUNT 5
#define LEVEL 6
#define NODE_MASK 7

#define LABEL_WORDS 2
#define DEGREE_WORDS 4
#define ADJACENCY_WORDS 5

/* Directions. A loop starts and ends at one query node, so only a data node's loops fit. */
#define OUTGOING 1u
#define INCOMING 2u
#define LOOP 4u

/* Iterates over the runs of a data node's entries that an adjacency (or a degree need) allows:

          Runs runs = all_runs(directions, first type, number of types);
          while (next_run(&runs, &outgoing, &incoming, words, node)) … entries runs.begin … runs.end-1 …
*/
typedef struct {
    uint directions, types_at, per_direction, turn;
    bool any_type, is_incoming;
    uint begin, end;
} Runs;

static inline Runs all_runs(uint directions, uint types_at, uint type_count) {
    Runs runs;
    runs.directions = directions;
    runs.types_at = types_at;
    runs.any_type = type_count == NONE;
    runs.per_direction = runs.any_type ? 1 : type_count;
    runs.turn = 0;
    return runs;
}

static inline bool next_run(
    Runs *runs, const Csr *outgoing, const Csr *incoming, global const uint *words, uint node
) {
    while (runs->turn < 2 * runs->per_direction) {
        uint turn = runs->turn++;
        runs->is_incoming = turn >= runs->per_direction;
        if (!(runs->directions & (runs->is_incoming ? INCOMING : OUTGOING))) continue;
        uint place = runs->is_incoming ? turn - runs->per_direction : turn;
        uint type = runs->any_type ? NONE : words[runs->types_at + place];
        uint2 run = run_of(runs->is_incoming ? incoming : outgoing, node, type);
        runs->begin = run.x;
        runs->end = run.y;
        if (run.x < run.y) return true;
    }
    return false;
}

/* True if an entry fits, apart from candidates. An undirected query relationship meets a loop of the data graph
   in both directions: only the outgoing one counts. */
static inline bool fits(
    uint directions, bool is_incoming, uint node, uint neighbour, uint relationship,
    uint mask_slot, global const uint *relationship_masks, uint mask_words
) {
    if ((directions & LOOP) && neighbour != node) return false;
    if ((directions & OUTGOING) && is_incoming && neighbour == node) return false;
    if (mask_slot == NONE) return true;
    uint word = relationship_masks[(ulong)mask_slot * mask_words + (relationship >> 5)];
    return (word >> (relationship & 31)) & 1;
}

/* Bit of a node in one row of the candidate matrix. */
static inline bool is_candidate(global const uint *row_bits, uint node) {
    return (row_bits[node >> 5] >> (node & 31)) & 1;
}
