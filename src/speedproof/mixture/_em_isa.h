/* The three kernels for the instruction set that was just described, whose description ends here. */
#include "_em_data.h"
#include "_em_floats.h"
#include "_em_runs.h"
#include "_em_scout.h"
#undef ISA
#undef TARGET
#undef DOUBLES
#undef FLOATS
#undef MAX_D
#undef MAX_F
#undef FMA_D
#undef FMA_F
#undef ANY_F
#undef SQRT_F
