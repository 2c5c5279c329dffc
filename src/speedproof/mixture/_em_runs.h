/* Many EM runs in single precision, one a vector lane. Included once for each instruction set.
 *
 * A lane that has finished takes the next run of the queue, those of many components first: lanes of fewer make idle
 * steps beside them. Lanes never mix, so a run's result depends on neither its neighbours nor the number of lanes. What
 * single precision cannot decide is marked.
 */
#ifndef EM_RUNS_TYPES
#define EM_RUNS_TYPES
typedef struct {
    int row, K, model, next; /* next: of a list that the caller may keep */
    int active;    /* there is something to run */
    int undecided; /* single precision does not do: go on in double from the mixture */
    int clamp;     /* variances are raised to this one; else those at or below it are left to double precision: */
    double floor;
    double needed; /* to win; see Rules */
    Outcome outcome;
    Mixture mixture;
} Run;

/* Runs on rows of n values, whose K is at most this one. */
typedef struct {
    Run *runs;
    int count, n, K;
    int next; /* of those of K components */
} RunQueue;

/* The next of the largest K; NULL when there is none. */
static Run *next_run(RunQueue *queue) {
    for (; queue->K > 1; queue->K--, queue->next = 0)
        while (queue->next < queue->count) {
            Run *run = &queue->runs[queue->next++];
            if (run->active && run->K == queue->K) return run;
        }
    return NULL;
}

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
    Vec e[K_LIMIT][GROUP], sum[GROUP];
    for (int j = 0; j < count; j++) sum[j] = zero;
    for (int k = 0; k < K; k++) OF(densities)(x, NULL, count, mu[k], c[k], h[k], e[k], sum);
    for (int j = 0; j < count; j++) {
        const Ints far = ~(sum[j] > LEAST_SUM);
        if (__builtin_expect(OF(bits)(far) != 0, 0))
            *height += OF(again)(OF(values)(x + j * WIDTH), zero, K, mu, c, h, far, &e[0][j], GROUP, &sum[j]);
        *exponent += (Ints)sum[j] >> 23;
        *product *= (Vec)(((Ints)sum[j] & 0x7fffff) | 0x3f800000);
        sum[j] = 1.0f / sum[j];
    }
    for (int k = 0; k < K; k++) {
        Vec t0 = zero, t1 = zero, t2 = zero;
        for (int j = 0; j < count; j++) {
            Vec d = OF(values)(x + j * WIDTH) - mu[k];
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

/* Components from that of its size on are not a lane's, and nothing to its values. */
TARGET static void NAME(e_runs)(const float *x, int n, int K, Ints sizes, const LaneMixture *m, LaneSums *sums) {
    const Vec zero = {0.0f};
    Vec c[K_LIMIT], h[K_LIMIT], highest = zero - INFINITY;
    for (int k = 0; k < K; k++) {
        const Vec inverse = 1.0f / m->v[k];
        c[k] = 0.5f * OF(log2)(m->w[k] * m->w[k] * inverse);
        h[k] = (float)(-0.5 * LOG2_E) * inverse;
        c[k] = OF(pick)(sizes > k, c[k], zero - INFINITY);
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
    Ints sizes;                        /* K */
    Ints common, clamp;                /* all bits set where the model is E, where variances are raised to */
    Vec floor;                         /* this; others at or below it are left to double precision */
    Vec longest;                       /* of the next extrapolation */
    LaneMixture now, t0, t2;
    float *x; /* observation i of lane l at i WIDTH + l */
    int row[WIDTH]; /* of which they are; -1: none */
} Lanes;

/* The M-step of all lanes. Bits are set in *empty where a component is empty, and in *narrow where a variance
 * has become too small for single precision; such lanes keep the old mixture. */
TARGET static void NAME(m_runs)(int n, int K, const Lanes *lanes, const LaneSums *s, Ints *empty, Ints *narrow,
                                LaneMixture *out) {
    const LaneMixture *old = &lanes->now;
    Vec within = {0.0f};
    *empty = *narrow = (Ints){0};
    for (int k = 0; k < K; k++) {
        const Ints own = lanes->sizes > k;
        Vec shift = s->s1[k] / s->s0[k];
        *empty |= own & ~(s->s0[k] > (float)EMPTY);
        out->w[k] = s->s0[k] / (float)n;
        out->mu[k] = old->mu[k] + shift;
        out->v[k] = s->s2[k] / s->s0[k] - shift * shift;
        within += (Vec)(own & (Ints)(s->s2[k] - shift * s->s1[k]));
    }
    for (int k = 0; k < K; k++) {
        out->v[k] = OF(pick)(lanes->common, within / (float)n, out->v[k]);
        const Ints low = ~(out->v[k] > lanes->floor);
        out->v[k] = OF(pick)(low, lanes->floor, out->v[k]);
        *narrow |= low & ~lanes->clamp & (lanes->sizes > k);
    }
    for (int k = 0; k < K; k++) {
        const Ints stay = *empty | *narrow | ~(lanes->sizes > k);
        out->w[k] = OF(pick)(stay, old->w[k], out->w[k]);
        out->mu[k] = OF(pick)(stay, old->mu[k], out->mu[k]);
        out->v[k] = OF(pick)(stay, old->v[k], out->v[k]);
    }
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
        stay |= ~(far.w[k] > 0.0f) | ~(far.v[k] >= lanes->floor);
    }
#undef MOVE
    NAME(pick_mixture)(K, where & ~stay, &far, t2, &far);
    NAME(pick_mixture)(K, where, &far, out, out);
}

/* One wide component for all values, and no more. */
TARGET static void NAME(idle)(Lanes *lanes, int l, int K) {
    lanes->run[l] = NULL;
    lanes->sizes[l] = 1;
    for (int k = 0; k < K; k++) {
        lanes->now.w[k][l] = 1.0f;
        lanes->now.mu[k][l] = 0.0f;
        lanes->now.v[k][l] = 1e6f;
    }
}

/* Give lane l, which is idle, the next run of the queue that single precision can start; returns 0 when there is none. */
TARGET static int NAME(load)(Lanes *lanes, int l, const float *x, RunQueue *queue) {
    for (Run *run; (run = next_run(queue));) {
        const float *row = x + (size_t)run->row * queue->n, floor = (float)run->floor;
        for (int k = 0; k < run->K; k++) run->undecided |= !run->clamp && !((float)run->mixture.v[k] > floor);
        if (run->undecided) continue;
        for (int i = 0; lanes->row[l] != run->row && i < queue->n; i++) lanes->x[(size_t)i * WIDTH + l] = row[i];
        for (int k = 0; k < run->K; k++) {
            lanes->now.w[k][l] = (float)run->mixture.w[k];
            lanes->now.mu[k][l] = (float)run->mixture.mu[k];
            lanes->now.v[k][l] = (float)run->mixture.v[k];
        }
        lanes->row[l] = run->row;
        lanes->sizes[l] = run->K;
        lanes->common[l] = -(run->model == MODEL_E);
        lanes->clamp[l] = -(run->clamp != 0);
        lanes->floor[l] = floor;
        lanes->longest[l] = 1.0f;
        lanes->stage[l] = AT_START;
        lanes->run[l] = run;
        return 1;
    }
    return 0;
}

TARGET static void NAME(store)(int l, const LaneMixture *m, Run *run) {
    for (int k = 0; k < run->K; k++) {
        run->mixture.w[k] = (double)m->w[k][l];
        run->mixture.mu[k] = (double)m->mu[k][l];
        run->mixture.v[k] = (double)m->v[k][l];
    }
}

/* One EM step of all lanes, and each lane's next place. Returns a bit for every lane that has finished and
 * handed in its outcome. */
TARGET static unsigned NAME(advance)(Lanes *lanes, int n, int K, const Rules *rules) {
    LaneSums sums;
    LaneMixture next;
    Ints empty, narrow, back = {0}, forth = {0}, far = {0};
    unsigned finished = 0, extrapolating = 0;
    NAME(e_runs)(lanes->x, n, K, lanes->sizes, &lanes->now, &sums);
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
        } else if (lost) {
            run->undecided = !empty[l];
            finished |= 1u << l;
        } else if (lanes->stage[l] != AT_SECOND) {
            forth[l] = -1;
            lanes->start[l] = loglik;
            lanes->stage[l] = AT_SECOND;
        } else if (loglik <= converged_below(rules, lanes->start[l])) {
            run->outcome.state = RUN_OK;
            finished |= 1u << l;
        } else if (run->outcome.steps >= rules->max_steps ||
                   loglik <= hopeless_below(rules, run->model, run->outcome.steps, lanes->start[l], run->needed)) {
            run->outcome.state = RUN_UNFINISHED;
            finished |= 1u << l;
        } else {
            far[l] = -1;
            extrapolating = 1;
            lanes->best[l] = loglik;
            lanes->stage[l] = AT_FAR;
        }
        if (!(finished >> l & 1u)) continue;
        run->outcome.loglik = loglik;
        NAME(store)(l, &lanes->now, run);
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

TARGET static int NAME(em_runs)(const float *x, RunQueue queue, const Rules *rules) {
    Lanes lanes;
    const int most_K = queue.K;
    int K = 1, busy = 0;
    const size_t size = (size_t)queue.n * WIDTH * sizeof *lanes.x;
    lanes.x = aligned_alloc(64, (size + 63) / 64 * 64);
    if (!lanes.x) return 0;
    memset(lanes.x, 0, size);
    lanes.common = lanes.clamp = (Ints){0};
    lanes.floor = lanes.longest = (Vec){0} + 1.0f;
    for (int l = 0; l < WIDTH; l++) {
        lanes.row[l] = -1;
        NAME(idle)(&lanes, l, most_K);
        busy += NAME(load)(&lanes, l, x, &queue);
        if (lanes.sizes[l] > K) K = (int)lanes.sizes[l];
    }
    lanes.t0 = lanes.t2 = lanes.now;
    while (busy > 0) {
        const unsigned finished = NAME(advance)(&lanes, queue.n, K, rules);
        if (!finished) continue;
        int most = 1;
        for (int l = 0; l < WIDTH; l++) {
            if (finished >> l & 1u) {
                NAME(idle)(&lanes, l, K);
                busy -= !NAME(load)(&lanes, l, x, &queue);
            }
            if (lanes.sizes[l] > most) most = (int)lanes.sizes[l];
        }
        K = most;
    }
    free(lanes.x);
    return 1;
}

#undef LaneMixture
#undef LaneSums
#undef Lanes
