/* The filter, for numbers of one kind: included by filter.c once for each, with NAME, NUMBER, VECTOR and
 * TIMES defined.
 */

/* Pairs of four rows from `a` on with sixteen from `b` on whose sum is above the limit. Not inlined, so
 * that the loop below has the registers to itself.
 */
static __attribute__((noinline)) int64_t
NAME(list)(const VECTOR *sums, NUMBER limit, float unit, int64_t a, int64_t b, int32_t *i, int32_t *j,
           float *V)
{
    int64_t found = 0;
    for (int k = 0; k < 8; k++)
        for (int bits = set(sums[k] > limit); bits; bits &= bits - 1, found++) {
            const int lane = __builtin_ctz(bits);
            i[found] = (int32_t)(a + k / 2);
            j[found] = (int32_t)(b + k % 2 * LANES + lane);
            V[found] = unit * (float)((const NUMBER *)(sums + k))[lane];
        }
    return found;
}

/* The same for two tiles, of which the first rows are `a` and `b`. */
static inline int64_t
NAME(compare)(const NUMBER *left, const NUMBER *right, int64_t n_columns, NUMBER limit, float unit,
              int64_t a, int64_t b, int32_t *i, int32_t *j, float *V)
{
    const VECTOR s0 = LOAD(VECTOR, right + n_columns * TILE);
    const VECTOR s1 = LOAD(VECTOR, right + n_columns * TILE + LANES);
    int64_t found = 0;
    for (int64_t row = 0; row < TILE; row += 4) {  /* 4 x 16 sums: half of the registers */
        const NUMBER *x = left + row, *y = right, *s = x + n_columns * TILE;
        VECTOR p0 = s0 + s[0], p1 = s1 + s[0], q0 = s0 + s[1], q1 = s1 + s[1];
        VECTOR r0 = s0 + s[2], r1 = s1 + s[2], t0 = s0 + s[3], t1 = s1 + s[3];
        for (int64_t c = 0; c < n_columns; c++, x += TILE, y += TILE) {
            const VECTOR y0 = LOAD(VECTOR, y), y1 = LOAD(VECTOR, y + LANES);
            p0 += TIMES(x[0], y0), p1 += TIMES(x[0], y1);
            q0 += TIMES(x[1], y0), q1 += TIMES(x[1], y1);
            r0 += TIMES(x[2], y0), r1 += TIMES(x[2], y1);
            t0 += TIMES(x[3], y0), t1 += TIMES(x[3], y1);
        }
        if (any((p0 > limit) | (p1 > limit) | (q0 > limit) | (q1 > limit) |
                (r0 > limit) | (r1 > limit) | (t0 > limit) | (t1 > limit))) {
            const VECTOR sums[] = {p0, p1, q0, q1, r0, r1, t0, t1};
            found += NAME(list)(sums, limit, unit, a + row, b, i + found, j + found, V + found);
        }
    }
    return found;
}

/* The same for the tiles from `first` to `last` with some others, from the `*next`-th on. Stops when
 * `room` may not do for another tile, and leaves `*next` there. With `later` a tile is not paired with
 * earlier ones. V is the sum in units of `unit`.
 */
int64_t
NAME(crlm_filter)(const NUMBER *tiles, int64_t width, NUMBER limit, float unit, const float *boxes,
                  int64_t n_boxes, int64_t n_axes, float reach, int64_t first, int64_t last,
                  int64_t later, const int32_t *others, int64_t n_others, int64_t *next, int64_t room,
                  int32_t *i, int32_t *j, float *V)
{
    const int64_t size = width * TILE;
    int64_t found = 0, at = *next;
    for (; at < n_others && found + TILE * TILE * (last - first) <= room; at++) {
        const int64_t other = others[at];
        const int64_t stop = later && other < last ? other + 1 : last;
        for (int64_t eight = first; eight < stop; eight += LANES) {
            int near = near_boxes(boxes, n_boxes, n_axes, reach, eight, other);
            if (stop - eight < LANES)
                near &= (1 << (stop - eight)) - 1;
            for (; near; near &= near - 1) {
                const int64_t tile = eight + __builtin_ctz(near);
                found += NAME(compare)(tiles + tile * size, tiles + other * size, width - 1, limit, unit,
                                       tile * TILE, other * TILE, i + found, j + found, V + found);
            }
        }
    }
    *next = at;
    return found;
}

#undef NAME
#undef NUMBER
#undef VECTOR
#undef TIMES
