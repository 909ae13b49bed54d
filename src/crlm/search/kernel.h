/* What of the search is worth compiling; see kernel.py, which says how it is called.
 *
 * filter.c may use fused arithmetic, since a bound on its rounding is part of the filter. measure.c
 * may not: it gives the bits that NumPy gives.
 */
#include <stdint.h>

enum { TILE = 16, LANES = 8 };
