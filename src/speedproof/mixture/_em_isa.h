/* The kernels for the instruction set that was just described, whose description ends here. */
#define OF(x) NAME(JOIN(x, d))
#define REAL double
#define INT int64_t
#define WORD uint64_t
#define SUFFIX pd
#define MANTISSA 52
#include "_em_vectors.h"
#include "_em_data.h"
#undef OF
#undef REAL
#undef INT
#undef WORD
#undef SUFFIX
#undef MANTISSA
#define OF(x) NAME(JOIN(x, f))
#define REAL float
#define INT int32_t
#define WORD uint32_t
#define SUFFIX ps
#define MANTISSA 23
#include "_em_vectors.h"
#include "_em_data.h"
#include "_em_runs.h"
#undef OF
#undef REAL
#undef INT
#undef WORD
#undef SUFFIX
#undef MANTISSA
#undef ISA
#undef TARGET
#undef BYTES
#undef MM
#undef BITS
