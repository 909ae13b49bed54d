/* Squared distances to the bit as distance.py defines them: differences in float64, their squares
 * added up in the order of NumPy's sum over a contiguous axis. To be compiled without fused
 * arithmetic.
 */
#include "kernel.h"

enum { SEQUENTIAL = 8, BLOCK = 128 };

#define DEFINE(NAME, FLOAT)                                                                         \
    static double NAME##_sum(const FLOAT *a, const FLOAT *b, int64_t d)                             \
    {                                                                                               \
        if (d > BLOCK) {                                                                            \
            const int64_t half = d / 2 - d / 2 % SEQUENTIAL;                                        \
            return NAME##_sum(a, b, half) + NAME##_sum(a + half, b + half, d - half);               \
        }                                                                                           \
        double total = 0.0;                                                                         \
        int64_t c = 0;                                                                              \
        if (d >= SEQUENTIAL) {                                                                      \
            double r[SEQUENTIAL] = {0.0};                                                           \
            for (; c + SEQUENTIAL <= d; c += SEQUENTIAL)                                            \
                for (int k = 0; k < SEQUENTIAL; k++) {                                              \
                    const double diff = (double)a[c + k] - (double)b[c + k];                        \
                    r[k] += diff * diff;                                                            \
                }                                                                                   \
            total = ((r[0] + r[1]) + (r[2] + r[3])) + ((r[4] + r[5]) + (r[6] + r[7]));              \
        }                                                                                           \
        for (; c < d; c++) {                                                                        \
            const double diff = (double)a[c] - (double)b[c];                                        \
            total += diff * diff;                                                                   \
        }                                                                                           \
        return total;                                                                               \
    }                                                                                               \
                                                                                                    \
    /* Squared distances between rows i[p] of X and j[p] of Y. */                                   \
    void NAME(const FLOAT *X, const FLOAT *Y, int64_t d, const int64_t *i, const int64_t *j,        \
              int64_t n, double *out)                                                               \
    {                                                                                               \
        for (int64_t p = 0; p < n; p++)                                                             \
            out[p] = NAME##_sum(X + i[p] * d, Y + j[p] * d, d);                                     \
    }

DEFINE(crlm_measure_float32, float)
DEFINE(crlm_measure_float64, double)
