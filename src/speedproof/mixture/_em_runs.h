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
    int undecided; /* single precision does not do: go on in double from the mixture */
    double needed; /* to win; see Rules */
    Mixture mixture;
    Outcome outcome;
} Run;

typedef struct {
    Run *runs;
    int count;
} RunQueue;

/* A standard deviation below this share of the range leaves too few digits. */
#define NARROWEST 1e-4
/* Where a lane stands in em_accelerated(): about to look at an extrapolated start, at a start that is taken
 * unseen (the first, or t2 in place of a bad one), or at t1. */
enum { AT_FAR, AT_START, AT_SECOND };

#define OBSERVATIONS_A_LOG 64 /* mantissas below 2: a product of at most 2^64 */
#endif

#define LaneMixture JOIN(LaneMixture, ISA)
#define Lanes JOIN(Lanes, ISA)
typedef struct {
    Vec w[K_LIMIT], mu[K_LIMIT], v[K_LIMIT];
} LaneMixture;

typedef struct {
    Vec s0[K_LIMIT], s1[K_LIMIT], s2[K_LIMIT];
    double loglik[WIDTH];
} NAME(LaneSums);
#define LaneSums NAME(LaneSums)

TARGET INLINE void NAME(pick_mixture)(int K, Ints where, const LaneMixture *yes, const LaneMixture *no,
                                      LaneMixture *out) {
    for (int k = 0; k < K; k++) {
        out->w[k] = OF(pick)(where, yes->w[k], no->w[k]);
        out->mu[k] = OF(pick)(where, yes->mu[k], no->mu[k]);
        out->v[k] = OF(pick)(where, yes->v[k], no->v[k]);
    }
}

/* Responsibilities of `count` observations (a constant) and their moments; see e_block. */
TARGET INLINE void NAME(e_group)(const float *x, const int count, int K, const Vec *mu, const Vec *c,
                                 const Vec *h, LaneSums *sums, Vec *height, Ints *exponent, Vec *product) {
    const Vec zero = {0.0f};
    Vec obs[GROUP], e[K_LIMIT][GROUP], sum[GROUP];
    for (int j = 0; j < count; j++) {
        memcpy(&obs[j], x + (size_t)j * WIDTH, sizeof obs[j]);
        sum[j] = zero;
    }
    for (int k = 0; k < K; k++)
        for (int j = 0; j < count; j++) {
            Vec d = obs[j] - mu[k];
            e[k][j] = OF(exp2)(OF(max)(OF(fma)(d * d, h[k], c[k]), zero + LOWEST));
            sum[j] += e[k][j];
        }
    for (int j = 0; j < count; j++) {
        const Ints far = ~(sum[j] > LEAST_SUM);
        if (__builtin_expect(OF(bits)(far) != 0, 0))
            *height += OF(again)(obs[j], K, mu, c, h, far, &e[0][j], GROUP, &sum[j]);
        *exponent += (Ints)sum[j] >> 23;
        *product *= (Vec)(((Ints)sum[j] & 0x7fffff) | 0x3f800000);
        sum[j] = 1.0f / sum[j];
    }
    for (int k = 0; k < K; k++) {
        Vec t0 = zero, t1 = zero, t2 = zero;
        for (int j = 0; j < count; j++) {
            Vec d = obs[j] - mu[k];
            Vec r = e[k][j] * sum[j];
            Vec rd = r * d;
            t0 += r;
            t1 += rd;
            t2 = OF(fma)(rd, d, t2);
        }
        sums->s0[k] += t0;
        sums->s1[k] += t1;
        sums->s2[k] += t2;
    }
}

TARGET static void NAME(e_runs)(const float *x, int n, int K, const LaneMixture *m, LaneSums *sums) {
    const Vec zero = {0.0f};
    Vec c[K_LIMIT], h[K_LIMIT], highest = zero - INFINITY;
    for (int k = 0; k < K; k++) {
        const Vec inverse = 1.0f / m->v[k];
        c[k] = 0.5f * OF(log2)(m->w[k] * m->w[k] * inverse);
        h[k] = (float)(-0.5 * LOG2_E) * inverse;
        highest = OF(max)(c[k], highest);
        sums->s0[k] = sums->s1[k] = sums->s2[k] = zero;
    }
    highest -= TALLEST;
    for (int k = 0; k < K; k++) c[k] -= highest;
    for (int l = 0; l < WIDTH; l++) sums->loglik[l] = 0.0;
    for (int start = 0; start < n;) {
        const int from = start, end = start + OBSERVATIONS_A_LOG < n ? start + OBSERVATIONS_A_LOG : n;
        Vec height = zero, product = zero + 1.0f;
        Ints exponent = {0};
        for (; start + GROUP <= end; start += GROUP)
            NAME(e_group)(x + (size_t)start * WIDTH, GROUP, K, m->mu, c, h, sums, &height, &exponent, &product);
        for (; start < end; start++)
            NAME(e_group)(x + (size_t)start * WIDTH, 1, K, m->mu, c, h, sums, &height, &exponent, &product);
        exponent -= 127 * (end - from);
        height += OF(log2)(product);
        for (int l = 0; l < WIDTH; l++)
            sums->loglik[l] += (double)exponent[l] + (double)height[l] + (end - from) * (double)highest[l];
    }
    for (int l = 0; l < WIDTH; l++) sums->loglik[l] = LN_2 * sums->loglik[l] - 0.5 * n * LOG_2PI;
}

typedef struct {
    Run *run[WIDTH]; /* NULL: idle */
    int stage[WIDTH];
    double start[WIDTH], best[WIDTH]; /* log-likelihoods of t0 and of the last t1 */
    Ints common;                        /* all bits set where the model is E */
    Vec floor;                         /* variances at or below this are left to double precision */
    Vec longest;                       /* of the next extrapolation */
    LaneMixture now, t0, t2;
    float *x; /* observation i of lane l at i WIDTH + l */
} Lanes;

/* The M-step of all lanes. Bits are set in *empty where a component is empty, and in *narrow where a variance
 * has become too small for single precision; such lanes keep the old mixture. */
TARGET static void NAME(m_runs)(int n, int K, const Lanes *lanes, const LaneSums *s, Ints *empty, Ints *narrow,
                                LaneMixture *out) {
    const LaneMixture *old = &lanes->now;
    Vec within = {0.0f};
    *empty = *narrow = (Ints){0};
    for (int k = 0; k < K; k++) {
        Vec shift = s->s1[k] / s->s0[k];
        *empty |= ~(s->s0[k] > (float)EMPTY);
        out->w[k] = s->s0[k] / (float)n;
        out->mu[k] = old->mu[k] + shift;
        out->v[k] = s->s2[k] / s->s0[k] - shift * shift;
        within += s->s2[k] - shift * s->s1[k];
    }
    for (int k = 0; k < K; k++) {
        out->v[k] = OF(pick)(lanes->common, within / (float)n, out->v[k]);
        *narrow |= ~(out->v[k] > lanes->floor);
    }
    NAME(pick_mixture)(K, *empty | *narrow, old, out, out);
}

/* extrapolate() for the lanes `where`. */
TARGET static void NAME(extrapolate_runs)(int K, Ints where, Lanes *lanes, const LaneMixture *t2,
                                          LaneMixture *out) {
    const LaneMixture *t0 = &lanes->t0, *t1 = &lanes->now;
    const Vec zero = {0.0f};
    Vec rr = zero, qq = zero, a = zero + 1.0f;
#define ADD(field)                                                \
    do {                                                          \
        Vec r = t1->field[k] - t0->field[k];                     \
        Vec q = (t2->field[k] - t1->field[k]) - r;               \
        rr += r * r;                                              \
        qq += q * q;                                              \
    } while (0)
    for (int k = 0; k < K; k++) {
        ADD(w);
        ADD(mu);
        ADD(v);
    }
#undef ADD
    a = OF(pick)(qq > 0.0f, OF(root)(rr / qq), a);
    const Ints reached = where & (a >= lanes->longest);
    a = OF(pick)(reached, lanes->longest, a);
    lanes->longest = OF(pick)(reached, 4.0f * lanes->longest, lanes->longest);
    Ints stay = ~(a > 1.0f);
#define MOVE(field)                                                                                         \
    far.field[k] = t0->field[k] + 2.0f * a * (t1->field[k] - t0->field[k]) +                                \
                   a * a * ((t2->field[k] - t1->field[k]) - (t1->field[k] - t0->field[k]))
    LaneMixture far;
    for (int k = 0; k < K; k++) {
        MOVE(w);
        MOVE(mu);
        MOVE(v);
        stay |= ~(far.w[k] > 0.0f) | ~(far.v[k] > lanes->floor);
    }
#undef MOVE
    NAME(pick_mixture)(K, where & ~stay, &far, t2, &far);
    NAME(pick_mixture)(K, where, &far, out, out);
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
        for (int i = 0; i < n; i++) lanes->x[(size_t)i * WIDTH + l] = row[i];
        for (int k = 0; k < K; k++) {
            lanes->now.w[k][l] = (float)run->mixture.w[k];
            lanes->now.mu[k][l] = (float)run->mixture.mu[k];
            lanes->now.v[k][l] = (float)run->mixture.v[k];
        }
        lanes->common[l] = run->model == MODEL_E ? -1 : 0;
        lanes->floor[l] = narrowest * narrowest;
        lanes->longest[l] = 1.0f;
        lanes->stage[l] = AT_START;
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
    const Vec zero = {0.0f};
    memset(lanes->x, 0, (size_t)n * WIDTH * sizeof *lanes->x);
    for (int k = 0; k < K; k++) {
        lanes->now.w[k] = zero + 1.0f / (float)K;
        lanes->now.mu[k] = zero;
        lanes->now.v[k] = zero + 1.0f;
    }
    lanes->t0 = lanes->t2 = lanes->now;
    lanes->common = (Ints){0};
    lanes->floor = zero;
    lanes->longest = zero + 1.0f;
}

/* One EM step of all lanes, and each lane's next place. Returns a bit for every lane that has finished and
 * handed in its outcome. */
TARGET static unsigned NAME(advance)(Lanes *lanes, int n, int K, const Rules *rules) {
    LaneSums sums;
    LaneMixture next;
    Ints empty, narrow, back = {0}, forth = {0}, far = {0};
    unsigned finished = 0, extrapolating = 0;
    NAME(e_runs)(lanes->x, n, K, &lanes->now, &sums);
    NAME(m_runs)(n, K, lanes, &sums, &empty, &narrow, &next);
    for (int l = 0; l < WIDTH; l++) {
        Run *run = lanes->run[l];
        if (!run) continue;
        const double loglik = sums.loglik[l];
        const int lost = empty[l] || narrow[l];
        run->outcome.steps++;
        if (lanes->stage[l] == AT_FAR && (lost || loglik < lanes->best[l])) {
            back[l] = -1;
            lanes->stage[l] = AT_START;
            lanes->longest[l] = lanes->longest[l] > 16.0f ? lanes->longest[l] / 16.0f : 1.0f;
        } else if (lost || run->outcome.steps >= rules->max_steps) {
            run->undecided = !empty[l];
            NAME(store)(l, K, &lanes->now, &run->mixture);
            finished |= 1u << l;
        } else if (lanes->stage[l] != AT_SECOND) {
            forth[l] = -1;
            lanes->start[l] = loglik;
            lanes->stage[l] = AT_SECOND;
        } else if (loglik <= converged_below(rules, lanes->start[l])) {
            run->outcome.loglik = loglik;
            run->outcome.state = RUN_OK;
            NAME(store)(l, K, &lanes->now, &run->mixture);
            finished |= 1u << l;
        } else if (loglik <= hopeless_below(rules, run->model, run->outcome.steps, lanes->start[l], run->needed)) {
            run->outcome.loglik = loglik;
            run->outcome.state = RUN_UNFINISHED;
            finished |= 1u << l;
        } else {
            far[l] = -1;
            extrapolating = 1;
            lanes->best[l] = loglik;
            lanes->stage[l] = AT_FAR;
        }
    }
    NAME(pick_mixture)(K, forth, &lanes->now, &lanes->t0, &lanes->t0);
    NAME(pick_mixture)(K, back, &lanes->t2, &next, &next);
    if (extrapolating) {
        NAME(pick_mixture)(K, far, &next, &lanes->t2, &lanes->t2);
        NAME(extrapolate_runs)(K, far, lanes, &lanes->t2, &next);
    }
    for (int k = 0; k < K; k++) {
        lanes->now.w[k] = next.w[k];
        lanes->now.mu[k] = next.mu[k];
        lanes->now.v[k] = next.v[k];
    }
    return finished;
}

TARGET static int NAME(em_runs)(const float *x, int n, int K, const RunQueue *queue, const Rules *rules) {
    Lanes lanes;
    int next = 0, busy = 0;
    lanes.x = aligned_alloc(64, ((size_t)n * WIDTH * sizeof *lanes.x + 63) / 64 * 64);
    if (!lanes.x) return 0;
    NAME(fill)(&lanes, n, K);
    for (int l = 0; l < WIDTH; l++) busy += NAME(load)(&lanes, l, x, n, K, queue, &next);
    while (busy > 0) {
        const unsigned finished = NAME(advance)(&lanes, n, K, rules);
        for (int l = 0; l < WIDTH; l++)
            if (finished >> l & 1u) busy -= !NAME(load)(&lanes, l, x, n, K, queue, &next);
    }
    free(lanes.x);
    return 1;
}

#undef LaneMixture
#undef LaneSums
#undef Lanes
