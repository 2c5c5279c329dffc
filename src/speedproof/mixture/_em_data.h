/* One EM in double precision, vector lanes over the data. Included once for each instruction set.
 *
 * Always eight lanes: a machine with narrower vectors splits them, and the order of every sum stays.
 */
#ifndef EM_DATA_LANES
#define EM_DATA_LANES 8
static const double EXP2_D[12] = {
    4.4359413579063079e-10, 7.0741055795244508e-09, 1.0178193291787892e-07, 1.3215433086106491e-06,
    1.5252733502429299e-05, 1.5403530462533731e-04, 1.3333558146775423e-03, 9.6181291075883024e-03,
    5.5504108664819994e-02, 2.4022650695910155e-01, 6.9314718055994529e-01, 1.0,
};
static const int64_t EM_DATA_LANE[BLOCK] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
#endif

#define VecD JOIN(VecD, ISA)
#define VecL JOIN(VecL, ISA)
typedef double VecD __attribute__((vector_size(8 * DOUBLES)));
typedef int64_t VecL __attribute__((vector_size(8 * DOUBLES)));

/* The eight lanes are H vectors of this machine's width. */
#define H (EM_DATA_LANES / DOUBLES)
#define PARTS (BLOCK / DOUBLES)

/* The larger of each pair. C has no vector ?:, so machines without an instruction of ours mix bits. */
TARGET INLINE VecD NAME(max_d)(VecD a, VecD b) {
#ifdef MAX_D
    return MAX_D(a, b);
#else
    VecL greater = a > b;
    return (VecD)(((VecL)a & greater) | ((VecL)b & ~greater));
#endif
}

/* a b + c, rounded once where the machine can. */
TARGET INLINE VecD NAME(fma_d)(VecD a, VecD b, VecD c) {
#ifdef FMA_D
    return FMA_D(a, b, c);
#else
    return a * b + c;
#endif
}

/* 2^q for -1000 <= q <= 0; polynomial of relative error 3e-18 on [-1/2, 1/2] and a shift of the exponent. */
TARGET INLINE VecD NAME(exp2_d)(VecD q) {
    const double magic = 6755399441055744.0; /* 1.5 2^52: adding it rounds to an integer */
    VecD t = q + magic;
    VecD f = q - (t - magic);
    VecD p = {0.0};
    p += EXP2_D[0];
    for (int i = 1; i < 12; i++) p = NAME(fma_d)(p, f, (VecD){0.0} + EXP2_D[i]);
    return (VecD)((VecL)p + ((VecL)t << 52));
}

/* Sum over the eight lanes in an order that does not depend on H. */
TARGET INLINE double NAME(total)(const VecD *v) {
    double lane[EM_DATA_LANES];
    memcpy(lane, v, sizeof lane);
    return ((lane[0] + lane[4]) + (lane[2] + lane[6])) + ((lane[1] + lane[5]) + (lane[3] + lane[7]));
}

typedef struct {
    VecD s0[K_LIMIT][H], s1[K_LIMIT][H], s2[K_LIMIT][H], height[H], product[H];
} NAME(Partial);

/* The E-step on one block of observations, of which `used` count.
 * c and h: log2 of w_k N(x; mu_k, v_k) without sqrt(2 pi) is c - h d^2. */
TARGET INLINE void NAME(e_block)(const double *x, int K, const double *mu, const double *c,
                                 const double *h, int used, NAME(Partial) *p) {
    const VecD zero = {0.0}, lowest = zero - 1000.0;
    VecD obs[PARTS], e[K_LIMIT][PARTS], sum[PARTS], top[PARTS];
    for (int j = 0; j < PARTS; j++) {
        memcpy(&obs[j], x + j * DOUBLES, sizeof obs[j]);
        top[j] = zero - INFINITY;
        sum[j] = zero;
    }
    for (int k = 0; k < K; k++)
        for (int j = 0; j < PARTS; j++) {
            VecD d = obs[j] - mu[k];
            e[k][j] = NAME(fma_d)(d * d, zero - h[k], zero + c[k]);
            top[j] = NAME(max_d)(e[k][j], top[j]);
        }
    for (int k = 0; k < K; k++)
        for (int j = 0; j < PARTS; j++) {
            e[k][j] = NAME(exp2_d)(NAME(max_d)(e[k][j] - top[j], lowest));
            sum[j] += e[k][j];
        }
    VecD scale[PARTS];
    for (int j = 0; j < PARTS; j++) scale[j] = 1.0 / sum[j];
    if (used < BLOCK)
        for (int j = 0; j < PARTS; j++) {
            VecL unused;
            memcpy(&unused, EM_DATA_LANE + j * DOUBLES, sizeof unused);
            unused = unused >= used;
            scale[j] = (VecD)((VecL)scale[j] & ~unused);
            top[j] = (VecD)((VecL)top[j] & ~unused);
            sum[j] = (VecD)((unused & (VecL)(zero + 1.0)) | (~unused & (VecL)sum[j]));
        }
    for (int j = 0; j < PARTS; j++) {
        p->height[j % H] += top[j];
        p->product[j % H] *= sum[j];
    }
    for (int k = 0; k < K; k++)
        for (int i = 0; i < H; i++) {
            VecD t0 = zero, t1 = zero, t2 = zero;
            for (int j = i; j < PARTS; j += H) {
                VecD d = obs[j] - mu[k];
                VecD r = e[k][j] * scale[j];
                VecD rd = r * d;
                t0 += r;
                t1 += rd;
                t2 = NAME(fma_d)(rd, d, t2);
            }
            p->s0[k][i] += t0;
            p->s1[k][i] += t1;
            p->s2[k][i] += t2;
        }
}

/* Responsibilities and their moments; returns the log-likelihood. x is padded to whole blocks. */
TARGET static double NAME(e_step)(const void *data, int n, int K, const Mixture *m, Sums *sums) {
    const double *x = data;
    const VecD zero = {0.0};
    NAME(Partial) p;
    double c[K_LIMIT], h[K_LIMIT], logs = 0.0;
    for (int k = 0; k < K; k++) {
        c[k] = 0.5 * log2(m->w[k] * m->w[k] / m->v[k]);
        h[k] = 0.5 * LOG2_E / m->v[k];
        for (int j = 0; j < H; j++) p.s0[k][j] = p.s1[k][j] = p.s2[k][j] = zero;
    }
    for (int j = 0; j < H; j++) p.height[j] = zero;
    for (int start = 0; start < n;) {
        const int end = start + 32 * BLOCK < n ? start + 32 * BLOCK : n;
        const int few = end - start <= 12 * BLOCK; /* a sum is at most 32: 192 of them make 2^960 */
        double lane[EM_DATA_LANES];
        for (int j = 0; j < H; j++) p.product[j] = zero + 1.0; /* grows to at most 32^64 = 2^320 */
        for (; start + BLOCK <= end; start += BLOCK) NAME(e_block)(x + start, K, m->mu, c, h, BLOCK, &p);
        if (start < end) NAME(e_block)(x + start, K, m->mu, c, h, end - start, &p);
        start = end;
        memcpy(lane, p.product, sizeof lane);
        for (int l = 0; l < EM_DATA_LANES / 2; l++) lane[l] *= lane[l + EM_DATA_LANES / 2];
        if (few)
            logs += log2((lane[0] * lane[2]) * (lane[1] * lane[3]));
        else
            for (int l = 0; l < EM_DATA_LANES / 2; l++) logs += log2(lane[l]);
    }
    for (int k = 0; k < K; k++) {
        sums->s0[k] = NAME(total)(p.s0[k]);
        sums->s1[k] = NAME(total)(p.s1[k]);
        sums->s2[k] = NAME(total)(p.s2[k]);
    }
    return LN_2 * (logs + NAME(total)(p.height)) - 0.5 * n * LOG_2PI;
}

/* The density of a mixture at padded values, up to a factor; room in `out` for whole blocks. */
TARGET static void NAME(density)(const double *x, int n, int K, const Mixture *m, double *out) {
    const VecD zero = {0.0}, lowest = zero - 1000.0;
    for (int i = 0; i < n; i += DOUBLES) {
        VecD obs, sum = zero + 1e-300;
        memcpy(&obs, x + i, sizeof obs);
        for (int k = 0; k < K; k++) {
            VecD d = obs - m->mu[k];
            VecD q = NAME(max_d)(d * d * (-0.5 * LOG2_E / m->v[k]), lowest);
            sum += NAME(exp2_d)(q) * (m->w[k] / sqrt(m->v[k]));
        }
        memcpy(out + i, &sum, sizeof sum);
    }
}

#undef VecD
#undef VecL
#undef H
#undef PARTS
