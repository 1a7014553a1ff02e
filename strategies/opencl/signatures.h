/* Keys of vertex signatures: a relationship as a node sees it, hashed into groups of two bits; must match
   strategies/gsi/signatures.py. */
#define ANYTHING 0xFFFFFFFFu
#define STARTS_HERE 1u
#define ENDS_HERE 2u
#define EITHER_WAY 3u

static inline uint key_hash(uint type, uint direction, uint label) {
    uint hash = type * 0x9E3779B1u ^ label * 0x85EBCA6Bu ^ direction * 0xC2B2AE35u;
    hash ^= hash >> 15;
    hash *= 0x2C1B3C6Du;
    hash ^= hash >> 12;
    hash *= 0x297A2D39u;
    return hash ^ (hash >> 15);
}

static inline void add_key(volatile global uint *signature, ulong word_stride, uint groups, uint hash) {
    uint group = mul_hi(hash, groups), shift = 2 * (group & 15);
    volatile global uint *word = signature + (group >> 4) * word_stride;
    if (((*word >> shift) & 3) == 3) return;
    uint before = atomic_or(word, 1u << shift);
    if ((before >> shift) & 1) atomic_or(word, 2u << shift);
}

/* Adds the keys of one label of the neighbour, or of ANYTHING. */
static inline void add_keys(
    volatile global uint *signature, ulong word_stride, uint groups, uint type, uint direction, uint label
) {
    add_key(signature, word_stride, groups, key_hash(type, direction, label));
    add_key(signature, word_stride, groups, key_hash(type, EITHER_WAY, label));
    add_key(signature, word_stride, groups, key_hash(ANYTHING, direction, label));
    add_key(signature, word_stride, groups, key_hash(ANYTHING, EITHER_WAY, label));
}

/* Removes a node from a row of candidates if its signature lacks bits of one of the required words. */
static inline void check_candidate(
    global const uint *signature, ulong word_stride, global const uint *asked, uint words, volatile global uint *candidates, ulong node
) {
    volatile global uint *word = candidates + (node >> 5);
    uint bit = 1u << (node & 31);
    if (!(*word & bit)) return;
    for (uint at = 0; at < words; ++at) {
        uint needed = asked[at];
        if (needed && (signature[at * word_stride] & needed) != needed) {
            atomic_and(word, ~bit);
            return;
        }
    }
}
