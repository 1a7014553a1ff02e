/* Compares two values of a row by their keys, which gpugda/match/candidates/keys.py makes.

   Keys have the order of the values, are equal if the values are, and exist for all indexes that a mask lets pass.
   A place of NONE means that the indexes themselves are compared, as node indexes ascend with the ids; any other
   place is the number of the block of KEY_BLOCK keys at which the keys of that side begin. With GROUPED the highest
   4 bits of a key are the kind of the value: values are comparable only within one kind.
   A test lists the outcomes that pass: left BELOW right, SAME, ABOVE. The bit COMPARES distinguishes it from a
   test without keys. */
#define BELOW 1u
#define SAME 2u
#define ABOVE 4u
#define COMPARES 8u
#define GROUPED 16u
#define KEY_BLOCK 32
#define KIND_KEYS 0x0FFFFFFFu

static inline uint key_of(global const uint *keys, uint place, uint index) {
    return place == NONE ? index : keys[(ulong)place * KEY_BLOCK + index];
}

static inline bool outcome_passes(uint test, uint left, uint right) {
    uint outcome = left < right ? BELOW : left == right ? SAME : ABOVE;
    return (test & outcome) && (!(test & GROUPED) || (left ^ right) <= KIND_KEYS);
}

/* Range of keys that pass against a given key: key - low <= span, modulo 2^32. */
typedef struct {
    global const uint *keys;
    uint low, span;
} KeyRange;

/* Computes the range of right keys that pass against a left one; false if there are none. */
static inline bool keys_that_pass(uint test, uint left, KeyRange *range) {
    uint first = test & GROUPED ? left & ~KIND_KEYS : 0, last = test & GROUPED ? left | KIND_KEYS : NONE;
    uint outcomes = test & (BELOW | SAME | ABOVE);
    if (outcomes == (BELOW | ABOVE)) {
        range->low = left + 1;
        range->span = NONE - 1;
        return true;
    }
    uint low = outcomes & ABOVE ? first : left, high = outcomes & BELOW ? last : left;
    if (!(outcomes & SAME)) {
        if (low == high) return false;
        if (outcomes & BELOW) ++low;
        else --high;
    }
    range->low = low;
    range->span = high - low;
    return true;
}

static inline uint mirrored(uint test) {
    return (test & ~(BELOW | ABOVE)) | (test & BELOW ? ABOVE : 0) | (test & ABOVE ? BELOW : 0);
}
