/* Bitmaps of long lists: whether a node is in one of them is then a look at one word, not a search.

   A list is a run of the data graph (see csr.h). Run i of a direction has bitmap slots[i], or none (NONE); bitmap s is the words
   s * node_words … of `bits`, one bit per data node. Lists shorter than `shortest` have none.
*/
typedef struct {
    global const uint *outgoing_slots, *incoming_slots, *bits;
    uint shortest;
} Hubs;

#define HUB_PARAMETERS \
    global const uint *outgoing_hub_slots, global const uint *incoming_hub_slots, global const uint *hub_bits, uint shortest_hub

#define HUB_ARGUMENTS {outgoing_hub_slots, incoming_hub_slots, hub_bits, shortest_hub}

/* The bitmap of a node's run of one type, type NONE where there is only one; NONE if it has none. */
static inline uint hub_slot(const Hubs *hubs, const Csr *csr, bool is_incoming, uint node, uint type, uint length) {
    if (length < hubs->shortest) return NONE;
    uint run = place_of_run(csr, node, type == NONE ? 0 : type);
    return (is_incoming ? hubs->incoming_slots : hubs->outgoing_slots)[run];
}
