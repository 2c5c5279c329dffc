/* The E-step in single precision, for climbs that only scout. Included once for each instruction set. Always sixteen
 * lanes over the data, so that every machine sums in the same order.
 */
#ifndef EM_SCOUT_TYPES
#define EM_SCOUT_TYPES
typedef float Quarter __attribute__((vector_size(BLOCK)));
static const int32_t LANE[BLOCK] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
#endif

#define VecF JOIN(VecF, ISA)
#define VecI JOIN(VecI, ISA)
#define H (BLOCK / FLOATS)

TARGET INLINE double NAME(lanes_total)(const VecF *v) {
    Quarter part[4];
    memcpy(part, v, sizeof part);
    part[0] = (part[0] + part[2]) + (part[1] + part[3]);
    return (double)((part[0][0] + part[0][2]) + (part[0][1] + part[0][3]));
}

TARGET static double NAME(e_scout)(const void *data, int n, int K, const Mixture *m, Sums *sums) {
    const float *x = data;
    const VecF zero = {0.0f};
    VecF s0[K_LIMIT][H], s1[K_LIMIT][H], s2[K_LIMIT][H], height[H], product[H];
    VecI exponent[H];
    float c[K_LIMIT], h[K_LIMIT], mu[K_LIMIT], lane[BLOCK], highest = -INFINITY;
    for (int k = 0; k < K; k++) {
        c[k] = (float)(m->w[k] * m->w[k] / m->v[k]);
        h[k] = (float)(-0.5 * LOG2_E / m->v[k]);
        mu[k] = (float)m->mu[k];
    }
    for (int k = K; k % FLOATS; k++) c[k] = 1.0f;
    for (int k = 0; k < K; k += FLOATS) {
        VecF some;
        memcpy(&some, c + k, sizeof some);
        some = 0.5f * NAME(log2_f)(some);
        memcpy(c + k, &some, sizeof some);
    }
    for (int k = 0; k < K; k++) {
        highest = c[k] > highest ? c[k] : highest;
        for (int j = 0; j < H; j++) s0[k][j] = s1[k][j] = s2[k][j] = zero;
    }
    highest -= TALLEST;
    for (int k = 0; k < K; k++) c[k] -= highest;
    for (int j = 0; j < H; j++) {
        height[j] = zero;
        exponent[j] = (VecI){0};
        product[j] = zero + 1.0f;
    }
    for (int start = 0; start < n; start += BLOCK) {
        VecF obs[H], sum[H], scale[H], e[K_LIMIT][H];
        for (int j = 0; j < H; j++) {
            memcpy(&obs[j], x + start + j * FLOATS, sizeof obs[j]);
            sum[j] = zero;
        }
        for (int k = 0; k < K; k++)
            for (int j = 0; j < H; j++) {
                VecF d = obs[j] - mu[k];
                e[k][j] = NAME(exp2_f)(NAME(max_f)(NAME(fma_f)(d * d, zero + h[k], zero + c[k]), zero + LOWEST));
                sum[j] += e[k][j];
            }
        for (int j = 0; j < H; j++) {
            VecF top = zero;
            const VecI far = ~(sum[j] > LEAST_SUM);
            if (__builtin_expect(NAME(any)(far), 0)) {
                VecF mus[K_LIMIT], cs[K_LIMIT], hs[K_LIMIT];
                for (int k = 0; k < K; k++) {
                    mus[k] = zero + mu[k];
                    cs[k] = zero + c[k];
                    hs[k] = zero + h[k];
                }
                top = NAME(e_again)(obs[j], K, mus, cs, hs, far, &e[0][j], H, &sum[j]);
            }
            scale[j] = 1.0f / sum[j];
            if (start + BLOCK > n) {
                VecI unused;
                memcpy(&unused, LANE + j * FLOATS, sizeof unused);
                unused = unused >= n - start;
                scale[j] = NAME(pick)(unused, zero, scale[j]);
                top = NAME(pick)(unused, zero, top);
                sum[j] = NAME(pick)(unused, zero + 1.0f, sum[j]);
            }
            height[j] += top;
            exponent[j] += ((VecI)sum[j] >> 23) - 127;
            product[j] *= (VecF)(((VecI)sum[j] & 0x7fffff) | 0x3f800000);
        }
        if ((start + BLOCK) % (16 * BLOCK) == 0) /* of at most 16 mantissas and what is left of those before */
            for (int j = 0; j < H; j++) {
                exponent[j] += ((VecI)product[j] >> 23) - 127;
                product[j] = (VecF)(((VecI)product[j] & 0x7fffff) | 0x3f800000);
            }
        for (int k = 0; k < K; k++)
            for (int j = 0; j < H; j++) {
                VecF d = obs[j] - mu[k], r = e[k][j] * scale[j], rd = r * d;
                s0[k][j] += r;
                s1[k][j] += rd;
                s2[k][j] = NAME(fma_f)(rd, d, s2[k][j]);
            }
    }
    for (int k = 0; k < K; k++) {
        sums->s0[k] = NAME(lanes_total)(s0[k]);
        sums->s1[k] = NAME(lanes_total)(s1[k]);
        sums->s2[k] = NAME(lanes_total)(s2[k]);
    }
    memcpy(lane, product, sizeof lane);
    double all = 1.0; /* of at most 272 mantissas */
    for (int l = 0; l < BLOCK; l++) all *= (double)lane[l];
    for (int j = 0; j < H; j++) height[j] += __builtin_convertvector(exponent[j], VecF);
    return LN_2 * (log2(all) + NAME(lanes_total)(height) + n * (double)highest) - 0.5 * n * LOG_2PI;
}

#undef VecF
#undef VecI
#undef H
