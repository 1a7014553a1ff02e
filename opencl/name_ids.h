/* Ids of types and labels in arrays: 16 bits, or 32 if the data graph has more of them. */
#ifdef WIDE_TYPES
typedef uint TypeId;
#define TYPE_BITS 32
#else
typedef ushort TypeId;
#define TYPE_BITS 16
#endif

#ifdef WIDE_LABELS
typedef uint LabelId;
#else
typedef ushort LabelId;
#endif
