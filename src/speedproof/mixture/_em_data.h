/* The E-step of one EM, vector lanes over the data: in double precision, and in single for climbs that only scout.
 * Included for each precision, once for each instruction set.
 *
 * Lanes always are of 64 bytes: a machine with narrower vectors splits them, and the order of every sum stays.
 */
#ifndef EM_DATA
#define EM_DATA
#define LANES (64 / (int)sizeof(REAL))
#define H (LANES / WIDTH) /* vectors that make up the lanes */
#define NEGLIGIBLE 24     /* log2 of what is lost in rounding beside the likeliest; in single precision */
/* Logs of densities are taken relative to the tallest component's peak, which gets this one, and cut off at the
 * lowest, so that no product of two is denormal; the sum of an observation is sound from so much on. */
#define TALLEST (SINGLE ? 90 : 700)
#define LOWEST (SINGLE ? -20 : -200)
#define LEAST_SUM (REAL)(SINGLE ? 0x1p8 : 0x1p-100)
#define ONE ((INT)(SINGLE ? 127 : 1023) << MANTISSA) /* bits of 1.0 */
#define EXPONENT(v) (Ints)((Words)(v) >> MANTISSA) /* with the bias; of positive numbers */
#define FRACTION(v) (Vec)(((Ints)(v) & (((INT)1 << MANTISSA) - 1)) | ONE)
static const int64_t USED_d[] = {-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0};
static const int32_t USED_f[] = {-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1,
                                 0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0};
#endif
#if SINGLE
#define USED USED_f
#else
#define USED USED_d
#endif

/* An observation far from all components: those elements anew, relative to its likeliest; returns that one's log. */
TARGET static __attribute__((noinline)) Vec OF(again)(Vec obs, Vec within, int K, const Vec *mu, const Vec *c, const Vec *h,
                                                      Ints where, Vec *e, int stride, Vec *sum) {
    const Vec zero = {0};
    Vec top = zero - INFINITY, total = zero;
    for (int k = 0; k < K; k++) {
        Vec d = obs - mu[k];
        top = OF(max)(OF(fma)(d * d + within, h[k], c[k]), top);
    }
    for (int k = 0; k < K; k++) {
        Vec d = obs - mu[k];
        Vec q = OF(max)(OF(fma)(d * d + within, h[k], c[k]) - top, zero - 100);
        e[k * stride] = OF(pick)(where, OF(exp2)(q), e[k * stride]);
        total += e[k * stride];
    }
    *sum = OF(pick)(where, total, *sum);
    return OF(pick)(where, top, zero);
}

/* Sum, or product, over the lanes in an order that does not depend on H. */
#define FOLD(name, op)                                                                                             \
    TARGET INLINE double OF(name)(const Vec *v) {                                                                  \
        OF(Half) half[2];                                                                                          \
        OF(Quarter) quarter[2];                                                                                    \
        OF(Eighth) eighth[2];                                                                                      \
        memcpy(half, v, sizeof half);                                                                              \
        half[0] = half[0] op half[1];                                                                              \
        memcpy(quarter, half, sizeof quarter);                                                                     \
        quarter[0] = quarter[0] op quarter[1];                                                                     \
        if (!SINGLE) return (double)(quarter[0][0] op quarter[0][1]);                                              \
        memcpy(eighth, quarter, sizeof eighth);                                                                    \
        eighth[0] = eighth[0] op eighth[1];                                                                        \
        return (double)(eighth[0][0] op eighth[0][8 / sizeof(REAL) - 1]);                                          \
    }
typedef REAL OF(Half) __attribute__((vector_size(32)));
typedef REAL OF(Quarter) __attribute__((vector_size(16)));
typedef REAL OF(Eighth) __attribute__((vector_size(8)));
FOLD(total, +)
FOLD(product, *)
#undef FOLD

TARGET INLINE Vec OF(values)(const REAL *x) {
    Vec v;
    memcpy(&v, x, sizeof v);
    return v;
}

/* Densities of a component at `count` (a constant) vectors of values, also added to their sums. `within`: NULL, or of cells. */
TARGET INLINE void OF(densities)(const REAL *x, const REAL *within, const int count, Vec mu, Vec c, Vec h, Vec *e, Vec *sum) {
    Vec q[GROUP];
    for (int j = 0; j < count; j++) {
        Vec d = mu - OF(values)(x + j * WIDTH), square = d * d;
        if (within) square += OF(values)(within + j * WIDTH);
        q[j] = OF(max)(OF(fma)(square, h, c), (Vec){0} + LOWEST);
    }
    OF(exp2s)(q, count);
    for (int j = 0; j < count; j++) {
        e[j] = q[j];
        sum[j] += q[j];
    }
}

/* Which of the next lanes of a row are values, `left` of which are left from its beginning on. */
TARGET INLINE Ints OF(used)(int left, int i) {
    Ints mask;
    memcpy(&mask, USED + LANES - (left < LANES ? left : LANES) + i * WIDTH, sizeof mask);
    return mask;
}

#if SINGLE
/* The rows of sorted values outside of which a component is negligible beside another: less likely at the nearest value
 * of a row than that is at the farthest. */
TARGET INLINE void NAME(reach)(const float *lows, const float *highs, int rows, int K, const float *mu, const float *c,
                               const float *h, int *from, int *to) {
    const Vec zero = {0};
    Vec bar[ROWS / WIDTH], top[K_LIMIT][ROWS / WIDTH];
    const int count = (rows + WIDTH - 1) / WIDTH;
    for (int j = 0; j < count; j++) {
        const Vec low = OF(values)(lows + j * WIDTH), high = OF(values)(highs + j * WIDTH);
        bar[j] = zero - INFINITY;
        for (int k = 0; k < K; k++) {
            const Vec below = low - mu[k], above = mu[k] - high;
            const Vec far = OF(max)(zero - below, zero - above), near = OF(max)(OF(max)(below, above), zero);
            bar[j] = OF(max)(bar[j], OF(fma)(far * far, h[k] - zero, c[k] - zero));
            top[k][j] = OF(fma)(near * near, h[k] - zero, c[k] - zero);
        }
        bar[j] -= NEGLIGIBLE;
    }
    for (int k = 0; k < K; k++) {
        uint32_t found = 0;
        for (int j = 0; j < count; j++) found |= (uint32_t)OF(bits)(top[k][j] > bar[j]) << (j * WIDTH);
        from[k] = found ? __builtin_ctz(found) & ~1 : 0;
        to[k] = found ? (33 - __builtin_clz(found)) & ~1 : 0; /* pairs of rows: loops that differ less in length */
        if (to[k] > rows) to[k] = rows;
    }
}
#endif

#if !SINGLE
/* log2 of a positive normal number: exponent plus log2 of s in [sqrt(1/2), sqrt(2)), a series in (s - 1) / (s + 1). */
TARGET INLINE Vec NAME(log2_d)(Vec x) {
    const WORD half = 0x3fe6a09e667f3bcd;
    const Words bits = (Words)x + (WORD)(ONE - (INT)half);
    const Vec s = (Vec)((bits & (((WORD)1 << MANTISSA) - 1)) + half), t = (s - 1) / (s + 1), tt = t * t;
    Vec p = (Vec){0} + 1.0 / 23;
    for (int k = 21; k > 0; k -= 2) p = OF(fma)(p, tt, (Vec){0} + 1.0 / k);
    return (Vec)((bits >> MANTISSA) | 0x4330000000000000) - (0x1p52 + 1023) + 2 * LOG2_E * t * p;
}

/* What a block adds to the curvature of em_newton(), from its densities and one over their sums (of cells: times their
 * counts, of which `root` is one over the root). */
TARGET static __attribute__((noinline)) void NAME(curve)(const double *x, const double *within, const double *root, int rows,
                                                         int K, const Mixture *m, Vec (*e)[ROWS * H], const Vec *scale,
                                                         double *curvature) {
    Vec u[3 * NEWTON_K][ROWS * H];
    const int size = 3 * K;
    for (int k = 0; k < K; k++) {
        const double narrow = 1.0 / sqrt(m->v[k]);
        Vec own[6][H] = {{{0}}};
        for (int j = 0; j < rows * H; j++) {
            const Vec z = (OF(values)(x + j * WIDTH) - m->mu[k]) * narrow, r = e[k][j] * scale[j];
            Vec square = z * z;
            if (within) square += OF(values)(within + j * WIDTH) * narrow * narrow;
            const Vec b = 0.5 * (square - 1), rz = r * z, rb = r * b, all[] = {r, rz, rb, rz * z, rz * b, rb * b};
            for (int c = 0; c < 3; c++) u[3 * k + c][j] = root ? all[c] * OF(values)(root + j * WIDTH) : all[c];
            for (int c = 0; c < 6; c++) own[c][j % H] += all[c];
        }
        for (int a = 0, c = 0; a < 3; a++)
            for (int b = a; b < 3; b++) curvature[(3 * k + a) * size + 3 * k + b] += OF(total)(own[c++]);
    }
    for (int p = 0; p < size; p++)
        for (int q = p; q < size; q++) {
            Vec both[H] = {{0}};
            for (int j = 0; j < rows * H; j += H)
                for (int i = 0; i < H; i++) both[i] = OF(fma)(u[p][j + i], u[q][j + i], both[i]);
            curvature[p * size + q] -= OF(total)(both);
        }
}
#endif

/* Responsibilities and their moments; returns the log-likelihood. x is padded to whole blocks. No moments where `sums` is
 * NULL; those of the last values are left out below `least`. In double precision, unless NULL, also the upper half of the
 * curvature of em_newton(). In single precision the ends of each row follow the values. `cells`, a constant NULL for plain
 * values, are those that x are the means of; they stand for `of` values. */
TARGET INLINE double OF(e_body)(const REAL *x, const Cells *cells, int n, int of, int K, const Mixture *m, double least,
                                Sums *sums, double *curvature) {
    const REAL *const within = cells ? (const REAL *)cells->within : NULL;
    const Vec zero = {0};
    Vec height[H], product[H];
    Ints exponent[H];
    REAL c[K_LIMIT] = {1}, h[K_LIMIT], mu[K_LIMIT], highest = -INFINITY;
    INT whole[LANES];
    int64_t exponents = 0;
    double loglik = 0.0;
    /* log2 of w_k N(x; mu_k, v_k) without sqrt(2 pi) is c + h d^2. */
    for (int k = 0; k < K; k++) {
        const double inverse = 1.0 / m->v[k], square = m->w[k] * m->w[k] * inverse;
        c[k] = (REAL)(SINGLE ? square : 0.5 * log2(square));
        h[k] = (REAL)(-0.5 * LOG2_E * inverse);
        mu[k] = (REAL)m->mu[k];
        if (sums) sums->s0[k] = sums->s1[k] = sums->s2[k] = 0.0;
    }
#if SINGLE
    for (int k = 0; k < K; k += WIDTH) {
        const Vec some = 0.5f * OF(log2)(OF(values)(c + k));
        memcpy(c + k, &some, sizeof some);
    }
#endif
    for (int k = 0; k < K; k++) highest = c[k] > highest ? c[k] : highest;
    highest -= TALLEST;
    for (int k = 0; k < K; k += WIDTH) {
        const Vec some = OF(values)(c + k) - highest;
        memcpy(c + k, &some, sizeof some);
    }
    for (int i = 0; i < H; i++) {
        height[i] = zero;
        exponent[i] = (Ints){0};
        product[i] = zero + 1;
    }
    for (int start = 0; start < n; start += ROWS * LANES) {
        const int left = n - start, rows = left > ROWS * LANES ? ROWS : (left + LANES - 1) / LANES;
        const int last = (rows - 1) * H, rest = left - (rows - 1) * LANES;
        const REAL *at = x + start, *own_within = cells ? within + start : NULL;
        Vec e[K_LIMIT][ROWS * H], sum[ROWS * H];
        Ints near = ~(Ints){0};
        int from[K_LIMIT], to[K_LIMIT];
        for (int j = 0; j < rows * H; j += H)
            for (int i = 0; i < H; i++) sum[j + i] = zero;
#if SINGLE
        if (rows > 2) {
            const float *ends = x + (n + LANES - 1) / LANES * LANES + start / LANES;
            NAME(reach)(ends, ends + ENDS(n), rows, K, mu, c, h, from, to);
        }
#endif
        for (int k = 0; k < K; k++) {
            const Vec own_mu = mu[k] - zero, own_c = c[k] - zero, own_h = h[k] - zero;
            const size_t end = (size_t)(SINGLE && rows > 2 ? to[k] : rows) * H;
            size_t j = (size_t)(SINGLE && rows > 2 ? from[k] : 0) * H;
            for (; j + GROUP <= end; j += GROUP)
                OF(densities)(at + j * WIDTH, cells ? own_within + j * WIDTH : NULL, GROUP, own_mu, own_c, own_h, e[k] + j,
                              sum + j);
            for (; j < end; j++)
                OF(densities)(at + j * WIDTH, cells ? own_within + j * WIDTH : NULL, 1, own_mu, own_c, own_h, e[k] + j, sum + j);
        }
        for (int j = 0; j < rows * H; j += H)
            for (int i = 0; i < H; i++) near &= sum[j + i] > LEAST_SUM;
        if (__builtin_expect(OF(bits)(~near) != 0, 0)) {
            Vec mus[K_LIMIT], cs[K_LIMIT], hs[K_LIMIT];
            for (int k = 0; k < K; k++) {
                mus[k] = zero + mu[k];
                cs[k] = zero + c[k];
                hs[k] = zero + h[k];
            }
            for (int j = 0; j < rows * H; j++) {
                const Ints far = ~(sum[j] > LEAST_SUM);
                if (!OF(bits)(far)) continue;
                const Vec top = OF(again)(OF(values)(at + j * WIDTH), cells ? OF(values)(own_within + j * WIDTH) : zero, K, mus,
                                          cs, hs, far, e[0] + j, ROWS * H, &sum[j]);
                height[j % H] += cells ? top * OF(values)((const REAL *)cells->count + start + j * WIDTH)
                                       : (Vec)((Ints)top & OF(used)(left - j / H * LANES, j % H));
            }
        }
#if !SINGLE
        for (int j = 0; cells && j < rows * H; j += H)
            for (int i = 0; i < H; i++) {
                const Vec count = OF(values)(cells->count + start + (j + i) * WIDTH);
                height[i] = OF(fma)(count, NAME(log2_d)(sum[j + i]), height[i]);
                sum[j + i] = count / sum[j + i];
            }
#endif
        for (int i = 0; !cells && i < H; i++) sum[last + i] = OF(pick)(OF(used)(rest, i), sum[last + i], zero + 1);
        for (int j = 0; !cells && j < rows * H; j += H)
            for (int i = 0; i < H; i++) {
                exponent[i] += EXPONENT(sum[j + i]);
                product[i] *= FRACTION(sum[j + i]);
                sum[j + i] = 1 / sum[j + i];
            }
        for (int i = 0; !cells && i < H; i++) {
            exponent[i] += EXPONENT(product[i]);
            product[i] = FRACTION(product[i]);
            sum[last + i] = (Vec)((Ints)sum[last + i] & OF(used)(rest, i));
        }
        if (!cells) exponents -= (int64_t)LANES * (rows + 1) * (ONE >> MANTISSA);
        if (left <= ROWS * LANES) {
            memcpy(whole, exponent, sizeof whole);
            for (int l = 0; l < LANES; l++) exponents += whole[l];
            loglik = LN_2 * (log2(OF(product)(product)) + (double)exponents + OF(total)(height) + of * (double)highest) -
                     0.5 * of * LOG_2PI;
            if (loglik < least) break;
        }
#if SINGLE
        (void)curvature;
#else
        if (curvature) NAME(curve)(at, own_within, cells ? cells->root + start : NULL, rows, K, m, e, sum, curvature);
#endif
        for (int k = 0; sums && k < K; k++) {
            Vec t0[H] = {{0}}, t1[H] = {{0}}, t2[H] = {{0}};
            const size_t end = (size_t)(SINGLE && rows > 2 ? to[k] : rows) * H;
            for (size_t j = (size_t)(SINGLE && rows > 2 ? from[k] : 0) * H; j < end; j += H)
                for (int i = 0; i < H; i++) {
                    Vec d = mu[k] - OF(values)(at + (j + i) * WIDTH), r = e[k][j + i] * sum[j + i], rd = r * d;
                    t0[i] += r;
                    t1[i] += rd;
                    t2[i] = OF(fma)(rd, d, t2[i]);
                    if (cells) t2[i] = OF(fma)(r, OF(values)(own_within + (j + i) * WIDTH), t2[i]);
                }
            sums->s0[k] += OF(total)(t0);
            sums->s1[k] -= OF(total)(t1); /* differences are the other way round, which spares loads */
            sums->s2[k] += OF(total)(t2);
        }
    }
    return loglik;
}

TARGET static double OF(e_step)(const void *data, int n, int K, const Mixture *m, double least, Sums *sums,
                                double *curvature) {
    return OF(e_body)(data, NULL, n, n, K, m, least, sums, curvature);
}

#if !SINGLE
/* The same of cells, which stand for n values. */
TARGET static double NAME(e_cells)(const void *data, int n, int K, const Mixture *m, double least, Sums *sums,
                                   double *curvature) {
    const Cells *const cells = data;
    return OF(e_body)(cells->x, cells, cells->size, n, K, m, least, sums, curvature);
}

/* The density of a mixture at padded values, up to a factor; room in `out` for whole blocks. */
TARGET static void NAME(density)(const double *x, int n, int K, const Mixture *m, double *out) {
    const Vec zero = {0}, lowest = zero - 1000.0;
    for (int i = 0; i < n; i += WIDTH) {
        Vec obs, sum = zero + 1e-300;
        memcpy(&obs, x + i, sizeof obs);
        for (int k = 0; k < K; k++) {
            Vec d = obs - m->mu[k];
            Vec q = OF(max)(d * d * (-0.5 * LOG2_E / m->v[k]), lowest);
            sum += OF(exp2)(q) * (m->w[k] / sqrt(m->v[k]));
        }
        memcpy(out + i, &sum, sizeof sum);
    }
}
#endif
#undef USED
