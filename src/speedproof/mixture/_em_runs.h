/* Many EM runs of one K in single precision, one a vector lane. Included once for each instruction set.
 *
 * A lane that has finished takes the next run of the queue. Lanes never mix, so a run's result depends on
 * neither its neighbours nor the number of lanes. What single precision cannot decide is marked.
 */
#ifndef EM_RUNS_TYPES
#define EM_RUNS_TYPES
typedef struct {
    int row, model;
    int active;    /* there is something to run */
    int undecided; /* single precision does not do: run it again in double */
    Mixture mixture;
    Outcome outcome;
} Run;

typedef struct {
    Run *runs;
    int count;
} RunQueue;

/* A standard deviation below this share of the range leaves too few digits. */
#define NARROWEST 1e-4
#define OBSERVATIONS_A_LOG 16 /* sums of at most 32 components: a product of at most 2^80 */
#endif

#define VecF JOIN(VecF, ISA)
#define VecI JOIN(VecI, ISA)
#define LaneMixture JOIN(LaneMixture, ISA)
#define Lanes JOIN(Lanes, ISA)
typedef float VecF __attribute__((vector_size(4 * FLOATS)));
typedef int32_t VecI __attribute__((vector_size(4 * FLOATS)));

typedef struct {
    VecF w[K_LIMIT], mu[K_LIMIT], v[K_LIMIT];
} LaneMixture;

typedef struct {
    VecF s0[K_LIMIT], s1[K_LIMIT], s2[K_LIMIT];
    double loglik[FLOATS];
} NAME(LaneSums);
#define LaneSums NAME(LaneSums)

TARGET INLINE VecF NAME(pick)(VecI where, VecF yes, VecF no) {
    return (VecF)((where & (VecI)yes) | (~where & (VecI)no));
}

TARGET INLINE VecF NAME(max_f)(VecF a, VecF b) {
#ifdef MAX_F
    return MAX_F(a, b);
#else
    return NAME(pick)(a > b, a, b);
#endif
}

/* 2^q for -126 <= q <= 0; polynomial of relative error 8e-8 on [-1/2, 1/2]. */
TARGET INLINE VecF NAME(exp2_f)(VecF q) {
    const float magic = 12582912.0f; /* 1.5 2^23: adding it rounds to an integer */
    VecF t = q + magic;
    VecF f = q - (t - magic);
    VecF p = f * 1.3276471519542438e-03f + 9.6755413306769591e-03f;
    p = p * f + 5.5507132749611124e-02f;
    p = p * f + 2.4022119723933996e-01f;
    p = p * f + 6.9314696706386469e-01f;
    p = p * f + 1.0f;
    return (VecF)((VecI)p + ((VecI)t << 23));
}

/* log2 of a positive normal number: exponent plus t P(t), t + 1 in [sqrt(1/2), sqrt(2)), error 3e-8. */
TARGET INLINE VecF NAME(log2_f)(VecF x) {
    const VecI half = (VecI){0} + 0x3f3504f3;
    VecI e = ((VecI)x - half) >> 23;
    VecF t = (VecF)((VecI)x - (e << 23)) - 1.0f;
    VecF p = t * 0.125836899f - 0.207269687f;
    p = p * t + 0.215715623f;
    p = p * t - 0.238944831f;
    p = p * t + 0.287916247f;
    p = p * t - 0.360703682f;
    p = p * t + 0.480910643f;
    p = p * t - 0.721347347f;
    p = p * t + 1.442695f;
    return __builtin_convertvector(e, VecF) + t * p;
}

/* Responsibilities of `count` observations (a constant) and their moments; see e_block. */
TARGET INLINE void NAME(e_group)(const float *x, const int count, const int K, const VecF *mu, const VecF *c,
                                 const VecF *h, LaneSums *sums, VecF *height, VecF *product) {
    const VecF zero = {0.0f}, lowest = zero - 126.0f;
    VecF obs[4], e[K_LIMIT][4], top[4], sum[4];
    for (int j = 0; j < count; j++) {
        memcpy(&obs[j], x + (size_t)j * FLOATS, sizeof obs[j]);
        top[j] = zero - INFINITY;
        sum[j] = zero;
    }
    for (int k = 0; k < K; k++)
        for (int j = 0; j < count; j++) {
            VecF d = obs[j] - mu[k];
            e[k][j] = c[k] - h[k] * d * d;
            top[j] = NAME(max_f)(e[k][j], top[j]);
        }
    for (int k = 0; k < K; k++)
        for (int j = 0; j < count; j++) {
            e[k][j] = NAME(exp2_f)(NAME(max_f)(e[k][j] - top[j], lowest));
            sum[j] += e[k][j];
        }
    for (int j = 0; j < count; j++) {
        *height += top[j];
        *product *= sum[j];
        sum[j] = 1.0f / sum[j];
    }
    for (int k = 0; k < K; k++)
        for (int j = 0; j < count; j++) {
            VecF d = obs[j] - mu[k];
            VecF r = e[k][j] * sum[j];
            VecF rd = r * d;
            sums->s0[k] += r;
            sums->s1[k] += rd;
            sums->s2[k] += rd * d;
        }
}

TARGET INLINE void NAME(e_runs_of)(const float *x, int n, const int K, const LaneMixture *m, LaneSums *sums) {
    const VecF zero = {0.0f};
    VecF c[K_LIMIT], h[K_LIMIT];
    for (int k = 0; k < K; k++) {
        c[k] = NAME(log2_f)(m->w[k]) - 0.5f * NAME(log2_f)(m->v[k]);
        h[k] = (float)(0.5 * LOG2_E) / m->v[k];
        sums->s0[k] = sums->s1[k] = sums->s2[k] = zero;
    }
    for (int l = 0; l < FLOATS; l++) sums->loglik[l] = 0.0;
    for (int start = 0; start < n;) {
        const int end = start + OBSERVATIONS_A_LOG < n ? start + OBSERVATIONS_A_LOG : n;
        VecF height = zero, product = zero + 1.0f;
        for (; start + 4 <= end; start += 4)
            NAME(e_group)(x + (size_t)start * FLOATS, 4, K, m->mu, c, h, sums, &height, &product);
        for (; start < end; start++)
            NAME(e_group)(x + (size_t)start * FLOATS, 1, K, m->mu, c, h, sums, &height, &product);
        VecF chunk = height + NAME(log2_f)(product);
        for (int l = 0; l < FLOATS; l++) sums->loglik[l] += (double)chunk[l];
    }
    for (int l = 0; l < FLOATS; l++) sums->loglik[l] = LN_2 * sums->loglik[l] - 0.5 * n * LOG_2PI;
}

TARGET static void NAME(e_runs)(const float *x, int n, int K, const LaneMixture *m, LaneSums *sums) {
    switch (K) {
    case 2: NAME(e_runs_of)(x, n, 2, m, sums); return;
    case 3: NAME(e_runs_of)(x, n, 3, m, sums); return;
    case 4: NAME(e_runs_of)(x, n, 4, m, sums); return;
    case 5: NAME(e_runs_of)(x, n, 5, m, sums); return;
    case 6: NAME(e_runs_of)(x, n, 6, m, sums); return;
    case 7: NAME(e_runs_of)(x, n, 7, m, sums); return;
    case 8: NAME(e_runs_of)(x, n, 8, m, sums); return;
    case 9: NAME(e_runs_of)(x, n, 9, m, sums); return;
    default: NAME(e_runs_of)(x, n, K, m, sums); return;
    }
}

/* State of the lanes between cycles. */
typedef struct {
    Run *run[FLOATS]; /* NULL: idle */
    VecI common;      /* all bits set where the model is E */
    VecF floor;       /* variances at or below this are left to double precision */
    VecF longest;     /* of the next extrapolation */
    LaneMixture mixture;
    float *x; /* observation i of lane l at i FLOATS + l */
} Lanes;

/* The M-step of all lanes; returns all bits set where a component is empty, and in *narrow where a
 * variance has become too small for single precision. Such lanes keep the old mixture. */
TARGET INLINE VecI NAME(m_runs)(int n, int K, const Lanes *lanes, const LaneMixture *old, const LaneSums *s,
                                VecI *narrow, LaneMixture *out) {
    const VecF zero = {0.0f};
    VecF within = zero;
    VecI empty = {0};
    for (int k = 0; k < K; k++) {
        VecF shift = s->s1[k] / s->s0[k];
        empty |= ~(s->s0[k] > (float)EMPTY);
        out->w[k] = s->s0[k] / (float)n;
        out->mu[k] = old->mu[k] + shift;
        out->v[k] = s->s2[k] / s->s0[k] - shift * shift;
        within += s->s2[k] - shift * s->s1[k];
    }
    *narrow = (VecI){0};
    for (int k = 0; k < K; k++) {
        out->v[k] = NAME(pick)(lanes->common, within / (float)n, out->v[k]);
        *narrow |= ~(out->v[k] > lanes->floor);
    }
    for (int k = 0; k < K; k++) {
        VecI keep = empty | *narrow;
        out->w[k] = NAME(pick)(keep, old->w[k], out->w[k]);
        out->mu[k] = NAME(pick)(keep, old->mu[k], out->mu[k]);
        out->v[k] = NAME(pick)(keep, old->v[k], out->v[k]);
    }
    return empty;
}

/* extrapolate() for all lanes. */
TARGET static void NAME(extrapolate_runs)(int K, Lanes *lanes, const LaneMixture *t1, const LaneMixture *t2,
                                          LaneMixture *out) {
    const LaneMixture *t0 = &lanes->mixture;
    const VecF zero = {0.0f};
    VecF rr = zero, qq = zero, a = zero + 1.0f;
#define ADD(field)                                                \
    do {                                                          \
        VecF r = t1->field[k] - t0->field[k];                     \
        VecF q = (t2->field[k] - t1->field[k]) - r;               \
        rr += r * r;                                              \
        qq += q * q;                                              \
    } while (0)
    for (int k = 0; k < K; k++) {
        ADD(w);
        ADD(mu);
        ADD(v);
    }
#undef ADD
    for (int l = 0; l < FLOATS; l++) {
        if (qq[l] > 0.0f) a[l] = sqrtf(rr[l] / qq[l]);
        if (a[l] >= lanes->longest[l]) {
            a[l] = lanes->longest[l];
            lanes->longest[l] *= 4.0f;
        }
    }
    VecI stay = ~(a > 1.0f);
#define MOVE(field)                                                                                         \
    out->field[k] = t0->field[k] + 2.0f * a * (t1->field[k] - t0->field[k]) +                               \
                    a * a * ((t2->field[k] - t1->field[k]) - (t1->field[k] - t0->field[k]))
    for (int k = 0; k < K; k++) {
        MOVE(w);
        MOVE(mu);
        MOVE(v);
        stay |= ~(out->w[k] > 0.0f) | ~(out->v[k] > lanes->floor);
    }
#undef MOVE
    for (int k = 0; k < K; k++) {
        out->w[k] = NAME(pick)(stay, t2->w[k], out->w[k]);
        out->mu[k] = NAME(pick)(stay, t2->mu[k], out->mu[k]);
        out->v[k] = NAME(pick)(stay, t2->v[k], out->v[k]);
    }
}

/* Give lane l the next run of the queue that single precision can start; returns 0 when there is none. */
TARGET static int NAME(load)(Lanes *lanes, int l, const float *x, int n, int K, const RunQueue *queue,
                             int *next) {
    lanes->run[l] = NULL;
    while (*next < queue->count) {
        Run *run = &queue->runs[(*next)++];
        const float *row = x + (size_t)run->row * n;
        const float narrowest = (float)NARROWEST * (row[n - 1] - row[0]);
        if (!run->active) continue;
        for (int k = 0; k < K; k++)
            if (!((float)run->mixture.v[k] > narrowest * narrowest)) run->undecided = 1;
        if (run->undecided) continue;
        for (int i = 0; i < n; i++) lanes->x[(size_t)i * FLOATS + l] = row[i];
        for (int k = 0; k < K; k++) {
            lanes->mixture.w[k][l] = (float)run->mixture.w[k];
            lanes->mixture.mu[k][l] = (float)run->mixture.mu[k];
            lanes->mixture.v[k][l] = (float)run->mixture.v[k];
        }
        lanes->common[l] = run->model == MODEL_E ? -1 : 0;
        lanes->floor[l] = narrowest * narrowest;
        lanes->longest[l] = 1.0f;
        lanes->run[l] = run;
        return 1;
    }
    return 0;
}

TARGET static void NAME(store)(int l, int K, const LaneMixture *m, Mixture *out) {
    for (int k = 0; k < K; k++) {
        out->w[k] = (double)m->w[k][l];
        out->mu[k] = (double)m->mu[k][l];
        out->v[k] = (double)m->v[k][l];
    }
}

/* A mixture that every lane can compute with, for lanes that never get a run. */
TARGET static void NAME(fill)(Lanes *lanes, int n, int K) {
    const VecF zero = {0.0f};
    memset(lanes->x, 0, (size_t)n * FLOATS * sizeof *lanes->x);
    for (int k = 0; k < K; k++) {
        lanes->mixture.w[k] = zero + 1.0f / (float)K;
        lanes->mixture.mu[k] = zero;
        lanes->mixture.v[k] = zero + 1.0f;
    }
    lanes->common = (VecI){0};
    lanes->floor = zero;
    lanes->longest = zero + 1.0f;
}

/* One cycle of all lanes: two EM steps, an extrapolation, a step from there; then lanes that have finished
 * hand in their outcome. Returns a bit for each of them. */
TARGET static unsigned NAME(cycle)(Lanes *lanes, int n, int K, const Rules *rules) {
    LaneSums first, second, third;
    LaneMixture t1, t2, far, landed;
    VecI narrow1, narrow2, narrow3;
    unsigned finished = 0;
    NAME(e_runs)(lanes->x, n, K, &lanes->mixture, &first);
    VecI empty = NAME(m_runs)(n, K, lanes, &lanes->mixture, &first, &narrow1, &t1);
    NAME(e_runs)(lanes->x, n, K, &t1, &second);
    empty |= NAME(m_runs)(n, K, lanes, &t1, &second, &narrow2, &t2);
    NAME(extrapolate_runs)(K, lanes, &t1, &t2, &far);
    NAME(e_runs)(lanes->x, n, K, &far, &third);
    VecI lost = NAME(m_runs)(n, K, lanes, &far, &third, &narrow3, &landed) | narrow3;
    for (int l = 0; l < FLOATS; l++) {
        Run *run = lanes->run[l];
        if (!run) continue;
        const int better = !lost[l] && third.loglik[l] >= second.loglik[l];
        const double loglik = better ? third.loglik[l] : second.loglik[l];
        run->outcome.steps += 3;
        run->outcome.loglik = loglik;
        if (narrow1[l] || narrow2[l]) {
            run->undecided = 1;
        } else if (empty[l]) {
            run->outcome.state = RUN_SINGULAR;
        } else if (loglik - first.loglik[l] <= rules->gain_relative * (1.0 + fabs(loglik)) + rules->gain_absolute) {
            run->outcome.state = RUN_OK;
            NAME(store)(l, K, better ? &far : &t1, &run->mixture);
        } else if (run->outcome.steps >= rules->max_steps) {
            run->undecided = 1;
        } else {
            const LaneMixture *from = better ? &landed : &t2;
            for (int k = 0; k < K; k++) {
                lanes->mixture.w[k][l] = from->w[k][l];
                lanes->mixture.mu[k][l] = from->mu[k][l];
                lanes->mixture.v[k][l] = from->v[k][l];
            }
            continue;
        }
        finished |= 1u << l;
    }
    return finished;
}

TARGET static int NAME(em_runs)(const float *x, int n, int K, const RunQueue *queue, const Rules *rules) {
    Lanes lanes;
    int next = 0, busy = 0;
    lanes.x = aligned_alloc(64, ((size_t)n * FLOATS * sizeof *lanes.x + 63) / 64 * 64);
    if (!lanes.x) return 0;
    NAME(fill)(&lanes, n, K);
    for (int l = 0; l < FLOATS; l++) busy += NAME(load)(&lanes, l, x, n, K, queue, &next);
    while (busy > 0) {
        const unsigned finished = NAME(cycle)(&lanes, n, K, rules);
        for (int l = 0; l < FLOATS; l++)
            if (finished >> l & 1u) busy -= !NAME(load)(&lanes, l, x, n, K, queue, &next);
    }
    free(lanes.x);
    return 1;
}

#undef VecF
#undef VecI
#undef LaneMixture
#undef LaneSums
#undef Lanes
