/* What of the search is worth compiling; see kernel.py, which says how it is called.
 *
 * filter.c may use fused arithmetic, since a bound on its rounding is part of the filter. measure.c
 * may not: it gives the bits that NumPy gives.
 */
#include <stdint.h>

/* Raised with every change of what is below, so that an older library is not called. */
#define CRLM_KERNEL 1

enum { TILE = 16, LANES = 8 };
