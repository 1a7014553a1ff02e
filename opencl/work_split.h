/* Splits work over work items: FOR_EACH(i, count) runs its body once for each element i.

   On a GPU adjacent work items take adjacent elements. On a CPU there are a few work items per core, each with a
   contiguous share, so that caches are used and two cores rarely write to one cache line.

          GPU   item 0: 0, s, 2s, …    item 1: 1, s+1, …      s = global size
          CPU   item 0: 0 … c-1        item 1: c … 2c-1       c = ceil(count / global size)
*/
#define NONE 0xFFFFFFFFu

#ifdef ON_CPU
static inline ulong share_begin(ulong count) {
    ulong share = (count + get_global_size(0) - 1) / get_global_size(0);
    return min(share * get_global_id(0), count);
}
static inline ulong share_end(ulong count) {
    ulong share = (count + get_global_size(0) - 1) / get_global_size(0);
    return min(share * (get_global_id(0) + 1), count);
}
#define FOR_EACH(i, count) \
    for (ulong i = share_begin(count), i##_end = share_end(count); i < i##_end; ++i)
#else
#define FOR_EACH(i, count) \
    for (ulong i = get_global_id(0); i < (count); i += get_global_size(0))
#endif
