/* The filter on tiles of sixteen rows, without writing a product out.
 *
 * A tile holds its numbers column by column: coordinates c, then -s/2 (see filter.py for both). So
 * eight rows of it are a vector, and -V/2 = (-s_a/2) + (-s_b/2) + c_a c_b is a sum that starts with
 * the last column and goes on with the others (loop.h).
 */
#include "kernel.h"

#include <string.h>
#ifdef __AVX2__
#include <immintrin.h>
#endif

typedef float Floats __attribute__((vector_size(4 * LANES), aligned(4)));
typedef int32_t Wholes __attribute__((vector_size(4 * LANES), aligned(4)));

#define LOAD(kind, p) (*(const kind *)(p))

/* The number of the sources that this was compiled from, or 0 on a processor it is not for. */
int64_t crlm_kernel(void)
{
#ifdef __AVX2__
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? CRLM_SOURCES : 0;
#else
    return CRLM_SOURCES;
#endif
}

/* A bit for each lane that is set, and whether there is one. */
#ifdef __AVX2__
static inline int set(Wholes lanes) { return _mm256_movemask_ps((__m256)lanes); }
static inline int any(Wholes lanes) { return !_mm256_testz_si256((__m256i)lanes, (__m256i)lanes); }
#else
static inline int set(Wholes lanes)
{
    int bits = 0;
    for (int lane = 0; lane < LANES; lane++)
        bits |= (lanes[lane] & 1) << lane;
    return bits;
}

static inline int any(Wholes lanes)
{
    uint64_t two[LANES / 2];  /* at a time */
    memcpy(two, &lanes, sizeof two);
    return (two[0] | two[1] | two[2] | two[3]) != 0;
}
#endif

/* A bit for each of eight tiles from `tile` on whose box is nearer to that of another than `reach`,
 * squared. Boxes are the lowest of all tiles along an axis, the highest, and so on for every axis.
 */
static inline int near_boxes(const float *boxes, int64_t n_boxes, int64_t n_axes, float reach,
                             int64_t tile, int64_t other)
{
    Floats total = {0};
    for (const float *low = boxes; n_axes--; low += 2 * n_boxes) {
        const float *high = low + n_boxes;
        const Floats above = LOAD(Floats, low + tile) - high[other];
        const Floats below = low[other] - LOAD(Floats, high + tile);
        const Wholes gap = ((Wholes)above & (above > 0.0f)) | ((Wholes)below & (below > 0.0f));
        total += (Floats)gap * (Floats)gap;
    }
    return set(total < reach);
}

/* The filter on numbers of float32, */
#define NAME(name) name##_floats
#define NUMBER float
#define VECTOR Floats
#define TIMES(number, vector) ((number) * (vector))
#include "loop.h"

/* and on whole numbers of sixteen bits, two columns in one of 32 (see whole.py), where a processor
 * multiplies these faster.
 */
#ifdef __AVX2__
#define NAME(name) name##_wholes
#define NUMBER int32_t
#define VECTOR Wholes
#define TIMES(number, vector) ((Wholes)_mm256_madd_epi16(_mm256_set1_epi32(number), (__m256i)(vector)))
#include "loop.h"
#endif

/* Another look at `n` pairs, along the directions of `rows`; those that stay are moved to the front.
 * A row is as wide as whole vectors, and `rest` is the length of what was left before this look.
 */
int64_t crlm_look(const float *rows, int64_t width, const float *rest, float cutoff, int64_t n,
                  int32_t *i, int32_t *j, float *V)
{
    int64_t kept = 0;
    for (int64_t p = 0; p < n; p++) {
        const float *a = rows + i[p] * width, *b = rows + j[p] * width;
        Floats even = {0}, odd = {0};
        int64_t c = 0;
        for (; c + 2 * LANES <= width; c += 2 * LANES) {
            even += LOAD(Floats, a + c) * LOAD(Floats, b + c);
            odd += LOAD(Floats, a + c + LANES) * LOAD(Floats, b + c + LANES);
        }
        if (c < width)
            even += LOAD(Floats, a + c) * LOAD(Floats, b + c);
        even += odd;
        float dot = 0.0f;
        for (int lane = 0; lane < LANES; lane++)
            dot += even[lane];
        const float bound = V[p] + 2.0f * (rest[i[p]] * rest[j[p]] - dot);
        i[kept] = i[p], j[kept] = j[p], V[kept] = bound;
        kept += bound < cutoff;
    }
    return kept;
}
