/* The best mixture of one sample for every K and model: the steps of search.py, which says why. */

#define SCOUT_STEPS 20
#define LONG_STEPS 3000
#define FINE_STEPS 30000
#define MARGIN 10.0
#define TRIES 3
#define ROUNDS 3
#define REACH 30.0

/* Where a short climb ended; it waits to climb on. */
typedef struct {
    int K, model, gone;
    double loglik;
    Mixture mixture;
} Waiting;

typedef struct {
    int there, converged;
    double loglik, bic;
    Mixture mixture;
} Found;

typedef struct {
    const Kernels *kernels;
    const double *x, *small; /* sorted, padded to whole blocks */
    int size, small_size, n, K_max; /* n: values that the points of x stand for */
    float few[SMALL];               /* the small ones again */
    double floor, apart;            /* of a variance; how far four values lie apart */
    double narrowest;               /* deviation that single precision can tell */
    Waiting *waiting;
    int count, room, failed; /* failed: out of memory */
    Found found[K_LIMIT + 1][2];
} Table;

static Rules table_rules(const Table *t, double relative, double absolute, int steps) {
    return (Rules){.gain_relative = relative, .gain_absolute = absolute, .min_variance = t->floor, .max_steps = steps,
                   .accelerate = 1, .clamp = 1, .needed = -INFINITY};
}

static int table_sound(const Table *t, int K, const Mixture *m) {
    for (int k = 0; k < K; k++)
        if (m->w[k] < 3.5 / t->n && m->v[k] < t->apart * t->apart && m->w[k] > 0.0) return 0;
    return 1;
}

/* A short climb on the few points, where it ends waits: in single precision, unless a component gets too narrow. */
static void scout(Table *t, const Mixture *from, int K, int model) {
    if (t->count == t->room) {
        const int room = 2 * t->room + 128;
        Waiting *more = realloc(t->waiting, (size_t)room * sizeof *more);
        if (!more) t->failed = 1;
        if (t->failed) return;
        t->waiting = more;
        t->room = room;
    }
    Waiting *one = &t->waiting[t->count];
    Mixture *m = &one->mixture;
    Rules rules = table_rules(t, 1e-5, 0.0, SCOUT_STEPS);
    rules.min_variance = fmax(t->floor, t->narrowest * t->narrowest);
    copy_mixture(K, from, m);
    Outcome o = em_padded(t->kernels->e_scout, t->few, t->small_size, K, model, &rules, m);
    int narrow = o.state == RUN_SINGULAR;
    for (int k = 0; k < K; k++) narrow |= !(m->v[k] > rules.min_variance);
    if (narrow && rules.min_variance > t->floor) {
        rules.min_variance = t->floor;
        copy_mixture(K, from, m);
        o = em_padded(t->kernels->e_step, t->small, t->small_size, K, model, &rules, m);
    }
    if (o.state == RUN_SINGULAR || !(o.loglik > -INFINITY)) return;
    if (model == MODEL_V && !table_sound(t, K, &one->mixture)) return;
    one->K = K;
    one->model = model;
    one->gone = 0;
    one->loglik = o.loglik;
    t->count++;
}

/* A climb on the sample itself; it is kept if it ends higher than the one before. */
static void climb_on(Table *t, int K, int model, const Mixture *from, const Rules *rules) {
    Mixture m;
    copy_mixture(K, from, &m);
    const Outcome o = em_padded(t->kernels->e_step, t->x, t->size, K, model, rules, &m);
    Found *old = &t->found[K][model];
    if (o.state == RUN_SINGULAR || !(o.loglik > (old->there ? old->loglik : -INFINITY))) return;
    if (model == MODEL_V && !table_sound(t, K, &m)) return;
    old->there = 1;
    old->converged = o.state == RUN_OK;
    old->loglik = o.loglik;
    old->bic = bic_of(o.loglik * t->n / t->size, t->n, K, model);
    copy_mixture(K, &m, &old->mixture);
}

static double best_bic(const Table *t) {
    double best = t->found[1][MODEL_E].bic;
    for (int K = 2; K <= t->K_max; K++)
        for (int model = MODEL_E; model <= MODEL_V; model++)
            if (t->found[K][model].there) best = fmax(best, t->found[K][model].bic);
    return best;
}

/* Long climbs of the highest `count` that wait at a place, those of one height once, none more than
 * `reach` of BIC below the best. */
static void follow(Table *t, int K, int model, int count, double reach) {
    const Rules rules = table_rules(t, 1e-5, 0.0, LONG_STEPS);
    double last = INFINITY;
    for (int taken = 0; taken < count;) {
        Waiting *top = NULL;
        for (Waiting *w = t->waiting; w < t->waiting + t->count; w++)
            if (!w->gone && w->K == K && w->model == model && (!top || w->loglik > top->loglik)) top = w;
        if (!top || bic_of(top->loglik * t->n / t->small_size, t->n, K, model) < best_bic(t) - reach) return;
        top->gone = 1;
        if (!(last - top->loglik > 1e-3)) continue;
        last = top->loglik;
        taken++;
        climb_on(t, K, model, &top->mixture, &rules);
    }
}

#include "_em_starts.h"

/* ---- The search ------------------------------------------------------------------------------------ */

/* Scout from the best mixtures of each model that may win, and from their neighbours in K. */
static void move(Table *t, double margin) {
    const double bar = best_bic(t) - margin;
    double bics[2] = {t->found[1][MODEL_E].bic, t->found[1][MODEL_E].bic};
    int tops[2] = {1, 1};
    for (int K = 2; K <= t->K_max; K++)
        for (int model = MODEL_E; model <= MODEL_V; model++)
            if (t->found[K][model].there && t->found[K][model].bic >= bics[model]) {
                bics[model] = t->found[K][model].bic;
                tops[model] = K;
            }
    for (int K = 1; K <= t->K_max; K++)
        for (int model = MODEL_E; model <= MODEL_V; model++) {
            const Found *one = &t->found[K][model];
            int wanted = 0;
            for (int of = MODEL_E; of <= MODEL_V; of++)
                wanted |= bics[of] >= bar && abs(K - tops[of]) <= 1 && (of == model || K == 1);
            if (!one->there || !wanted) continue;
            for (int to = MODEL_E; K < t->K_max && to <= MODEL_V; to++) {
                if (K > 1 && to != model) continue;
                scout_splits(t, &one->mixture, K, to);
                scout_insertions(t, &one->mixture, K, to);
            }
            if (K > 2) scout_merges(t, &one->mixture, K, model);
        }
}

static void follow_all(Table *t, double bar, int count, double reach) {
    for (int K = 2; K <= t->K_max; K++)
        for (int model = MODEL_E; model <= MODEL_V; model++) {
            const Found *one = &t->found[K][model];
            if (bar == -INFINITY || (one->there && one->bic >= bar)) follow(t, K, model, count, reach);
        }
}

static void single(Table *t) {
    Found *one = &t->found[1][MODEL_E];
    double mean = 0.0, v = 0.0;
    for (int i = 0; i < t->size; i++) mean += t->x[i];
    mean /= t->size;
    for (int i = 0; i < t->size; i++) v += (t->x[i] - mean) * (t->x[i] - mean);
    v /= t->size;
    one->there = one->converged = 1;
    one->loglik = -0.5 * t->size * (LOG_2PI + log(v) + 1.0);
    one->bic = bic_of(one->loglik * t->n / t->size, t->n, 1, MODEL_E);
    one->mixture.w[0] = 1.0;
    one->mixture.mu[0] = mean;
    one->mixture.v[0] = v;
}

/* Fill `found`; returns 0 when memory runs out. */
static int search_table(Table *t) {
    for (int i = 0; i < SMALL; i++) t->few[i] = (float)t->small[i < t->small_size ? i : t->small_size - 1];
    t->narrowest = NARROWEST * (t->small[t->small_size - 1] - t->small[0]);
    single(t);
    if (t->K_max > 1) {
        int line[K_LIMIT + 1], values = 1;
        for (int i = 1; i < t->small_size; i++) values += t->small[i] > t->small[i - 1];
        for (int K = 2; K <= t->K_max && K <= values; K++)
            if (quantile_line(t->small, t->small_size, K, values < t->small_size, line))
                for (int model = MODEL_E; model <= MODEL_V; model++) scout_classes(t, line, K, model);
        scout_classifications(t);
        follow_all(t, -INFINITY, 1, INFINITY);
        for (int round = 0; round < ROUNDS; round++) {
            const double before = best_bic(t);
            move(t, round ? MARGIN : INFINITY);
            follow_all(t, -INFINITY, 1, REACH);
            follow_all(t, best_bic(t) - MARGIN, TRIES, REACH);
            if (best_bic(t) - before < 1e-3) break;
        }
        const Rules rules = table_rules(t, 0.0, 1e-11, FINE_STEPS);
        const double bar = best_bic(t) - MARGIN;
        for (int K = 2; K <= t->K_max; K++)
            for (int model = MODEL_E; model <= MODEL_V; model++)
                if (t->found[K][model].there && t->found[K][model].bic >= bar)
                    climb_on(t, K, model, &t->found[K][model].mixture, &rules);
    }
    free(t->waiting);
    return !t->failed;
}

/* What was found, K by K, E before V: log-likelihoods of the points (NaN: none) and parameters, zeros behind a K. */
static void hand_out(const Table *t, double *loglik, double *mixtures, int32_t *converged) {
    for (int K = 1; K <= t->K_max; K++)
        for (int model = MODEL_E; model <= MODEL_V; model++, mixtures += 3 * t->K_max) {
            const Found *one = &t->found[K][model];
            *loglik++ = one->there ? one->loglik : NAN;
            *converged++ = one->converged;
            memset(mixtures, 0, 3 * (size_t)t->K_max * sizeof *mixtures);
            for (int k = 0; one->there && k < K; k++) {
                mixtures[k] = one->mixture.w[k];
                mixtures[t->K_max + k] = one->mixture.mu[k];
                mixtures[2 * t->K_max + k] = one->mixture.v[k];
            }
        }
}
