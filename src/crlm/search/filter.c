/* The filter on tiles of sixteen rows, without writing a product out.
 *
 * A tile holds its numbers column by column: coordinates c, then -s/2 (see filter.py for both). So
 * eight rows of it are a vector, and -V/2 = (-s_a/2) + (-s_b/2) + c_a c_b is a sum that starts with
 * the last column and goes on with the others.
 */
#include "kernel.h"

#include <string.h>

typedef float Lanes __attribute__((vector_size(4 * LANES), aligned(4)));
typedef int32_t Flags __attribute__((vector_size(4 * LANES)));

#define LOAD(p) (*(const Lanes *)(p))

/* The number of the sources that this was compiled from, or 0 on a processor it is not for. */
int64_t crlm_kernel(void)
{
#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
    return 0;  /* the bits of two lanes would change places */
#elif defined(__AVX2__)
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? CRLM_SOURCES : 0;
#else
    return CRLM_SOURCES;
#endif
}

/* Squared gap between two boxes: lowest and highest of a tile along each axis, in turn. */
static inline float sq_gap(const float *p, const float *q, int64_t n_axes)
{
    float total = 0.0f;
    for (int64_t x = 0; x < 2 * n_axes; x += 2) {
        const float above = p[x] - q[x + 1], below = q[x] - p[x + 1];
        const float gap = above > below ? above : below;
        total += gap > 0.0f ? gap * gap : 0.0f;
    }
    return total;
}

/* Pairs whose bound V is below the cutoff, of the tiles from `first` to `last` with some others,
 * from the `*next`-th on. Stops when `room` may not do for another tile, and leaves `*next` there.
 * With `later` a tile is not paired with earlier ones.
 */
int64_t crlm_filter(const float *tiles, int64_t width, const float *boxes, int64_t n_axes, float reach,
                    float cutoff, int64_t first, int64_t last, int64_t later, const int32_t *others,
                    int64_t n_others, int64_t *next, int64_t room, int32_t *i, int32_t *j, float *V)
{
    const int64_t n_columns = width - 1, size = width * TILE;
    const float limit = -0.5f * cutoff;
    int64_t found = 0, at = *next;
    for (; at < n_others && found + TILE * TILE * (last - first) <= room; at++) {
        const int64_t other = others[at];
        const float *right = tiles + other * size;
        const Lanes s0 = LOAD(right + n_columns * TILE), s1 = LOAD(right + n_columns * TILE + LANES);
        const int64_t stop = later && other < last ? other + 1 : last;
        for (int64_t tile = first; tile < stop; tile++) {
            if (sq_gap(boxes + 2 * n_axes * tile, boxes + 2 * n_axes * other, n_axes) >= reach)
                continue;
            for (int64_t row = 0; row < TILE; row += 4) {  /* 4 x 16 sums: half of the registers */
                const float *a = tiles + tile * size + row, *b = right, *s = a + n_columns * TILE;
                Lanes p0 = s0 + s[0], p1 = s1 + s[0], q0 = s0 + s[1], q1 = s1 + s[1];
                Lanes r0 = s0 + s[2], r1 = s1 + s[2], t0 = s0 + s[3], t1 = s1 + s[3];
                for (int64_t c = 0; c < n_columns; c++, a += TILE, b += TILE) {
                    const Lanes b0 = LOAD(b), b1 = LOAD(b + LANES);
                    p0 += a[0] * b0, p1 += a[0] * b1;
                    q0 += a[1] * b0, q1 += a[1] * b1;
                    r0 += a[2] * b0, r1 += a[2] * b1;
                    t0 += a[3] * b0, t1 += a[3] * b1;
                }
                const Flags near = ((p0 > limit) & 1) | ((p1 > limit) & 2) | ((q0 > limit) & 4) |
                                   ((q1 > limit) & 8) | ((r0 > limit) & 16) | ((r1 > limit) & 32) |
                                   ((t0 > limit) & 64) | ((t1 > limit) & 128);
                uint64_t two[LANES / 2];  /* lanes at a time */
                memcpy(two, &near, sizeof two);
                if (!(two[0] | two[1] | two[2] | two[3]))
                    continue;
                uint64_t bits = 0;  /* eight for each lane */
                for (int k = 0; k < LANES / 2; k++)
                    bits |= ((two[k] | two[k] >> 24) & 0xffff) << 16 * k;
                const Lanes sums[] = {p0, p1, q0, q1, r0, r1, t0, t1};
                const float *sum = (const float *)sums;
                for (; bits; bits &= bits - 1, found++) {
                    const int bit = __builtin_ctzll(bits), lane = bit / 8, k = bit % 8;
                    i[found] = (int32_t)(tile * TILE + row + k / 2);
                    j[found] = (int32_t)(other * TILE + k % 2 * LANES + lane);
                    V[found] = -2.0f * sum[k * LANES + lane];
                }
            }
        }
    }
    *next = at;
    return found;
}

/* Another look at `n` pairs, along the directions of `rows`; those that stay are moved to the front.
 * A row is as wide as whole vectors, and `rest` is the length of what was left before this look.
 */
int64_t crlm_look(const float *rows, int64_t width, const float *rest, float cutoff, int64_t n,
                  int32_t *i, int32_t *j, float *V)
{
    int64_t kept = 0;
    for (int64_t p = 0; p < n; p++) {
        const float *a = rows + i[p] * width, *b = rows + j[p] * width;
        Lanes even = {0}, odd = {0};
        int64_t c = 0;
        for (; c + 2 * LANES <= width; c += 2 * LANES) {
            even += LOAD(a + c) * LOAD(b + c);
            odd += LOAD(a + c + LANES) * LOAD(b + c + LANES);
        }
        if (c < width)
            even += LOAD(a + c) * LOAD(b + c);
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
