/* The E-step of one EM, vector lanes over the data: in double precision, and in single for climbs that only scout.
 * Included for each precision, once for each instruction set.
 *
 * Lanes always are of 64 bytes: a machine with narrower vectors splits them, and the order of every sum stays.
 */
#ifndef EM_DATA
#define EM_DATA
#define LANES (64 / (int)sizeof(REAL))
#define H (LANES / WIDTH) /* vectors that make up the lanes */
#define HALF (LANES / 8)
#define ROWS 8            /* of so many lanes at once: constants and sums stay in registers, densities in the cache */
/* Logs of densities are taken relative to the tallest component's peak, which gets this one, and cut off at the
 * lowest, so that no product of two is denormal; the sum of an observation is sound from so much on. */
#define TALLEST (SINGLE ? 90 : 700)
#define LOWEST (SINGLE ? -20 : -200)
#define LEAST_SUM (REAL)(SINGLE ? 0x1p8 : 0x1p-100)
#define ONE ((INT)(SINGLE ? 127 : 1023) << MANTISSA) /* bits of 1.0 */
#define EXPONENT(v) (((Ints)(v) - ONE) >> MANTISSA)
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
TARGET static __attribute__((noinline)) Vec OF(again)(Vec obs, int K, const Vec *mu, const Vec *c, const Vec *h,
                                                      Ints where, Vec *e, int stride, Vec *sum) {
    const Vec zero = {0};
    Vec top = zero - INFINITY, total = zero;
    for (int k = 0; k < K; k++) {
        Vec d = obs - mu[k];
        top = OF(max)(OF(fma)(d * d, h[k], c[k]), top);
    }
    for (int k = 0; k < K; k++) {
        Vec d = obs - mu[k];
        Vec q = OF(max)(OF(fma)(d * d, h[k], c[k]) - top, zero - 100);
        e[k * stride] = OF(pick)(where, OF(exp2)(q), e[k * stride]);
        total += e[k * stride];
    }
    *sum = OF(pick)(where, total, *sum);
    return OF(pick)(where, top, zero);
}

/* Sum, or product, over the lanes in an order that does not depend on H. */
#define FOLD(name, op)                                                                                             \
    TARGET INLINE double OF(name)(const Vec *v) {                                                                  \
        OF(Quarter) part[4];                                                                                           \
        memcpy(part, v, sizeof part);                                                                              \
        part[0] = (part[0] op part[2]) op (part[1] op part[3]);                                                    \
        return (double)(SINGLE ? (part[0][0] op part[0][HALF]) op (part[0][1] op part[0][LANES / 4 - 1])           \
                               : part[0][0] op part[0][1]);                                                        \
    }
typedef REAL OF(Quarter) __attribute__((vector_size(16)));
FOLD(total, +)
FOLD(product, *)
#undef FOLD

TARGET INLINE Vec OF(values)(const REAL *x) {
    Vec v;
    memcpy(&v, x, sizeof v);
    return v;
}

/* Densities of component k at `count` (a constant) vectors of values, also added to their sums. */
TARGET INLINE void OF(densities)(const REAL *x, const int count, REAL mu, REAL c, REAL h, int k, Vec *e, Vec *sum) {
    const Vec zero = {0};
    Vec q[GROUP];
    for (int j = 0; j < count; j++) {
        Vec d = mu - OF(values)(x + j * WIDTH);
        q[j] = OF(max)(OF(fma)(d * d, zero + h, zero + c), zero + LOWEST);
    }
    OF(exp2s)(q, count);
    for (int j = 0; j < count; j++) {
        e[j] = q[j];
        sum[j] = k ? sum[j] + q[j] : q[j];
    }
}

#if !SINGLE
/* What a block adds to the curvature of em_newton(), from its densities and one over their sums. */
TARGET static __attribute__((noinline)) void NAME(curve)(const double *x, int rows, int K, const Mixture *m,
                                                         Vec (*e)[ROWS * H], const Vec *scale, double *curvature) {
    Vec u[3 * NEWTON_K][ROWS * H];
    const int size = 3 * K;
    for (int k = 0; k < K; k++) {
        const double narrow = 1.0 / sqrt(m->v[k]);
        Vec own[6][H] = {{{0}}};
        for (int j = 0; j < rows * H; j++) {
            const Vec z = (OF(values)(x + j * WIDTH) - m->mu[k]) * narrow, b = 0.5 * (z * z - 1), r = e[k][j] * scale[j];
            const Vec rz = r * z, rb = r * b, all[] = {r, rz, rb, rz * z, rz * b, rb * b};
            for (int c = 0; c < 3; c++) u[3 * k + c][j] = all[c];
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

/* Responsibilities and their moments; returns the log-likelihood. x is padded to whole blocks. In double precision,
 * unless NULL, also the upper half of the curvature of em_newton(). */
TARGET static double OF(e_step)(const void *data, int n, int K, const Mixture *m, Sums *sums, double *curvature) {
    const REAL *x = data;
    const Vec zero = {0};
    Vec s0[K_LIMIT][H], s1[K_LIMIT][H], s2[K_LIMIT][H], height[H], product[H];
    Ints exponent[H];
    REAL c[K_LIMIT], h[K_LIMIT], mu[K_LIMIT], highest = -INFINITY;
    INT whole[LANES];
    /* log2 of w_k N(x; mu_k, v_k) without sqrt(2 pi) is c + h d^2. */
    for (int k = 0; k < K; k++) {
        const double inverse = 1.0 / m->v[k], square = m->w[k] * m->w[k] * inverse;
        c[k] = (REAL)(SINGLE ? square : 0.5 * log2(square));
        h[k] = (REAL)(-0.5 * LOG2_E * inverse);
        mu[k] = (REAL)m->mu[k];
        for (int i = 0; i < H; i++) s0[k][i] = s1[k][i] = s2[k][i] = zero;
    }
#if SINGLE
    for (int k = K; k % WIDTH; k++) c[k] = 1.0f;
    for (int k = 0; k < K; k += WIDTH) {
        Vec some;
        memcpy(&some, c + k, sizeof some);
        some = 0.5f * OF(log2)(some);
        memcpy(c + k, &some, sizeof some);
    }
#endif
    for (int k = 0; k < K; k++) highest = c[k] > highest ? c[k] : highest;
    highest -= TALLEST;
    for (int k = 0; k < K; k++) c[k] -= highest;
    for (int i = 0; i < H; i++) {
        height[i] = zero;
        exponent[i] = (Ints){0};
        product[i] = zero + 1;
    }
    for (int start = 0; start < n; start += ROWS * LANES) {
        const int left = n - start, rows = left > ROWS * LANES ? ROWS : (left + LANES - 1) / LANES;
        const REAL *at = x + start;
        Vec e[K_LIMIT][ROWS * H], sum[ROWS * H];
        for (int k = 0; k < K; k++) {
            int j = 0;
            for (; j + GROUP <= rows * H; j += GROUP)
                OF(densities)(at + j * WIDTH, GROUP, mu[k], c[k], h[k], k, e[k] + j, sum + j);
            for (; j < rows * H; j++) OF(densities)(at + j * WIDTH, 1, mu[k], c[k], h[k], k, e[k] + j, sum + j);
        }
        for (int j = 0; j < rows * H; j += H)
            for (int i = 0; i < H; i++) {
                const Ints far = ~(sum[j + i] > LEAST_SUM);
                Vec top = zero, scale;
                if (__builtin_expect(OF(any)(far), 0)) {
                    Vec mus[K_LIMIT], cs[K_LIMIT], hs[K_LIMIT];
                    for (int k = 0; k < K; k++) {
                        mus[k] = zero + mu[k];
                        cs[k] = zero + c[k];
                        hs[k] = zero + h[k];
                    }
                    top = OF(again)(OF(values)(at + (j + i) * WIDTH), K, mus, cs, hs, far, e[0] + j + i, ROWS * H, &sum[j + i]);
                }
                scale = 1 / sum[j + i];
                if ((j + H) * WIDTH > left) { /* the last row is not full */
                    Ints used;
                    memcpy(&used, USED + LANES - left + (j + i) * WIDTH, sizeof used);
                    scale = (Vec)((Ints)scale & used);
                    top = (Vec)((Ints)top & used);
                    sum[j + i] = OF(pick)(used, sum[j + i], zero + 1);
                }
                height[i] += top;
                exponent[i] += EXPONENT(sum[j + i]);
                product[i] *= FRACTION(sum[j + i]);
                sum[j + i] = scale;
            }
        for (int i = 0; i < H; i++) {
            exponent[i] += EXPONENT(product[i]);
            product[i] = FRACTION(product[i]);
        }
#if SINGLE
        (void)curvature;
#else
        if (curvature) NAME(curve)(at, rows, K, m, e, sum, curvature);
#endif
        for (int k = 0; k < K; k++) {
            Vec t0[H] = {{0}}, t1[H] = {{0}}, t2[H] = {{0}};
            for (int j = 0; j < rows * H; j += H)
                for (int i = 0; i < H; i++) {
                    Vec d = mu[k] - OF(values)(at + (j + i) * WIDTH), r = e[k][j + i] * sum[j + i], rd = r * d;
                    t0[i] += r;
                    t1[i] += rd;
                    t2[i] = OF(fma)(rd, d, t2[i]);
                }
            for (int i = 0; i < H; i++) {
                s0[k][i] += t0[i];
                s1[k][i] += t1[i];
                s2[k][i] += t2[i];
            }
        }
    }
    for (int k = 0; k < K; k++) {
        sums->s0[k] = OF(total)(s0[k]);
        sums->s1[k] = -OF(total)(s1[k]); /* differences are the other way round, which spares loads */
        sums->s2[k] = OF(total)(s2[k]);
    }
    memcpy(whole, exponent, sizeof whole);
    int64_t exponents = 0;
    for (int l = 0; l < LANES; l++) exponents += whole[l];
    const double fractions = OF(product)(product);
    return LN_2 * (log2(fractions) + (double)exponents + OF(total)(height) + n * (double)highest) - 0.5 * n * LOG_2PI;
}

#if !SINGLE
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
