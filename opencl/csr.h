/* The data graph: one CSR per direction, with a directory of runs of one type.

   Row v holds the entries row_offsets[v] … row_offsets[v+1]-1 and the runs run_offsets[v] … run_offsets[v+1]-1; run i has the
   type run_types[i] (rising within a row) and the entries run_starts[i] … run_starts[i+1]-1, sorted by neighbour.
   Entry e of an outgoing row is relationship e; an incoming entry says which one it is.
*/
typedef struct {
    global const uint *row_offsets;
    global const uint *neighbours;
    global const uint *run_offsets;
    global const ushort *run_types;
    global const uint *run_starts;
} Csr;

/* Every kernel that reads the data graph begins with these eleven arguments. */
#define GRAPH_PARAMETERS \
    global const uint *outgoing_row_offsets, global const uint *outgoing_neighbours, \
    global const uint *outgoing_run_offsets, global const ushort *outgoing_run_types, \
    global const uint *outgoing_run_starts, \
    global const uint *incoming_row_offsets, global const uint *incoming_neighbours, \
    global const uint *incoming_run_offsets, global const ushort *incoming_run_types, \
    global const uint *incoming_run_starts, global const uint *incoming_relationship_indexes

#define OUTGOING_CSR {outgoing_row_offsets, outgoing_neighbours, outgoing_run_offsets, outgoing_run_types, outgoing_run_starts}
#define INCOMING_CSR {incoming_row_offsets, incoming_neighbours, incoming_run_offsets, incoming_run_types, incoming_run_starts}

/* The first run of a row whose type is not below this one, else the run after the row's last. */
static inline uint place_of_run(const Csr *csr, uint node, uint type) {
    uint first = csr->run_offsets[node], last = csr->run_offsets[node + 1];
    while (first < last) {
        uint middle = first + (last - first) / 2;
        if (csr->run_types[middle] < type) first = middle + 1;
        else last = middle;
    }
    return first;
}

/* The entries of one type in one row, as [x, y). */
static inline uint2 run_of_type(const Csr *csr, uint node, uint type) {
    uint run = place_of_run(csr, node, type);
    if (run == csr->run_offsets[node + 1] || csr->run_types[run] != type) return (uint2)(0, 0);
    return (uint2)(csr->run_starts[run], csr->run_starts[run + 1]);
}

/* The entries of one row, or of one type in it: type NONE stands for all. */
static inline uint2 run_of(const Csr *csr, uint node, uint type) {
    if (type == NONE) return (uint2)(csr->row_offsets[node], csr->row_offsets[node + 1]);
    return run_of_type(csr, node, type);
}
