/* Comparing two values of a row by their keys, made by gpugda/match/candidates/keys.py.

   Keys are in the order of the values, equal where these are, and exist for all that a mask leaves. A place of NONE stands for the
   indexes themselves, as nodes rise with their ids; any other one says at which block of KEY_BLOCK keys those of a side begin.
   With GROUPED the highest bits of a key are a number of its kind: an order is defined within one kind alone.

   A test says which outcomes pass: left BELOW right, SAME, ABOVE; a bit COMPARES tells it from one that needs no keys.
*/
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

/* Keys that pass against a given one: key - low <= span, modulo 2^32. */
typedef struct {
    global const uint *keys;
    uint low, span;
} KeyRange;

/* The right keys that pass against a left one, false if there are none. */
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
