/* The best mixture of one sample for every K and model: the steps of search.py, which says why. */

#define SMALL 256
#define MOST_SCOUTED 3000
#define FEW 128 /* points, of which scouts go side by side, and whose climbs miss nothing */
#define SCOUT_STEPS 20
#define BRIEF_STEPS 30
#define CELL_STEPS 12 /* of both kinds on cells */
#define LONG_STEPS 3000
#define FINE_STEPS 30000
#define MARGIN 10.0
#define TRIES 3
#define TOPS 8
#define SEVERAL 3
#define ROUNDS 3
#define REACH 30.0
#define UP 1
#define DOWN 2

typedef struct {
    int there, converged, finished, moved; /* moved: bits, UP and DOWN, of the neighbours in K that were scouted from it */
    double loglik, bic, scouted; /* scouted: the height from which it climbed on */
    Mixture mixture;
} Found;

/* A sorted sample, quantiles or cells of it. The first two are padded to whole blocks, and again in single precision, there
 * followed by the first value of each block and by the last. */
typedef struct {
    double *x;
    float *single; /* NULL: cells, in the memory of x */
    double four; /* the narrowest place of four of them */
    int size, values; /* values: that their log-likelihood is of */
    Cells cells;
} Points;

typedef struct {
    const Kernels *kernels;
    Points all, some, small; /* of cells, some are all */
    const Points *on;        /* of these, those to scout on */
    double *density;         /* room for one a point */
    int n, K_max;            /* n: values that the points stand for */
    double log_n, bar;       /* bar: a BIC that there is */
    int K, model;            /* where alone to scout; K = 0: everywhere */
    int give_up, steps;      /* rules of scouts */
    double floor, apart;     /* of a variance; how far four values lie apart */
    Run *waiting;            /* starts of short climbs, and where they ended */
    int climbed, count, room, failed; /* climbed: how many did; failed: out of memory */
    int highest[K_LIMIT + 1][2]; /* of those at a place that may climb on; lower ones come `next`; -1: none */
    Found found[K_LIMIT + 1][2];
} Table;

/* A sorted sample as so many quantiles, one in the middle of each equal part; itself when it is not larger. */
static void condense(const double *x, int n, int count, double *out) {
    for (int i = 0; i < count; i++) {
        const double place = n <= count ? i : (i + 0.5) / count * n - 0.5;
        const int low = (int)place;
        out[i] = x[low] + (place - low) * (x[low + 1 < n ? low + 1 : n - 1] - x[low]);
    }
}

/* Points to be freed, of a sample; 0 without memory. */
static int points_of(const double *x, int n, int count, Points *out) {
    const int size = n < count ? n : count, whole = (size + BLOCK - 1) / BLOCK * BLOCK, ends = ENDS(size);
    /* Lanes do not straddle lines of the cache; the size is to be a multiple of the alignment. */
    *out = (Points){.x = aligned_alloc(64, (size_t)whole * sizeof *out->x),
                    .single = aligned_alloc(64, ((size_t)(whole + 2 * ends) * sizeof *out->single + 63) / 64 * 64),
                    .four = INFINITY, .size = size, .values = size};
    if (!out->x || !out->single) return 0;
    condense(x, n, size, out->x);
    for (int i = 0; i < whole; i++) {
        if (i >= size) out->x[i] = out->x[size - 1];
        if (i >= 3 && i < size) out->four = fmin(out->four, out->x[i] - out->x[i - 3]);
        out->single[i] = (float)out->x[i];
    }
    for (int i = 0; i < ends; i++) {
        const int row = (i * BLOCK < whole ? i : whole / BLOCK - 1) * BLOCK;
        out->single[whole + i] = out->single[row];
        out->single[whole + ends + i] = out->single[row + BLOCK - 1];
    }
    return 1;
}

static double bic_on(const Table *t, const Points *on, double loglik, int K, int model) {
    return bic_of(loglik * t->n / on->values, t->log_n, K, model);
}

static double best_bic(const Table *t) {
    double best = t->found[1][MODEL_E].bic;
    for (int K = 2; K <= t->K_max; K++)
        for (int model = MODEL_E; model <= MODEL_V; model++)
            if (t->found[K][model].there && t->found[K][model].bic > best) best = t->found[K][model].bic;
    return best;
}

/* Rules of a climb on points, that ends after `give_up` steps where its model cannot win. What values miss points miss by
 * their share; those of a large sample pass over what few of its values say. */
static Rules table_rules(const Table *t, const Points *on, int K, int model, double relative, double absolute, int steps,
                         int give_up) {
    const double share = (double)on->values / t->n;
    return (Rules){.gain_relative = relative, .gain_absolute = absolute, .min_variance = t->floor, .max_steps = steps,
                   .accelerate = 1, .clamp = 1, .give_up = t->give_up ? give_up : 0,
                   .needed = 0.5 * (best_bic(t) - bic_of(0.0, t->log_n, K, model)) * share,
                   .hope = !t->all.single ? HOPE * t->n / 1000 : t->n > MOST_SCOUTED ? HOPE : HOPE * share};
}

static int table_sound(const Table *t, int K, const Mixture *m) {
    for (int k = 0; k < K; k++)
        if (m->w[k] < 3.5 / t->n && m->v[k] < t->apart * t->apart && m->w[k] > 0.0) return 0;
    return 1;
}

/* Whether a component of such a deviation rests on three values or fewer. */
static int unsound_below(const Table *t, const Points *on, int model, double deviation) {
    return model == MODEL_V && on->size == t->n && on->four > 4.0 * deviation;
}

static Outcome climb_in_double(const Table *t, const Points *on, int K, int model, const Rules *rules, Mixture *m) {
    return on->single ? em_padded(t->kernels->e_step, on->x, on->size, K, model, rules, m)
                      : em_padded(t->kernels->e_cells, &on->cells, on->values, K, model, rules, m);
}

/* A climb in single precision; in double (exact) on cells, and where a component gets too narrow for it. */
static Outcome climb_in_single(const Table *t, const Points *on, int K, int model, const Mixture *from, const Rules *rules,
                               Mixture *m, int *exact) {
    const double narrowest = NARROWEST * (on->x[on->size - 1] - on->x[0]);
    Rules own = *rules;
    own.min_variance = fmax(t->floor, narrowest * narrowest);
    copy_mixture(K, from, m);
    *exact = !on->single;
    if (*exact) return climb_in_double(t, on, K, model, rules, m);
    const Outcome o = em_padded(t->kernels->e_scout, on->single, on->size, K, model, &own, m);
    int narrow = 0;
    for (int k = 0; o.state != RUN_SINGULAR && k < K; k++) narrow |= !(m->v[k] > own.min_variance);
    *exact = narrow && own.min_variance > t->floor && !unsound_below(t, on, model, narrowest);
    if (!*exact) return o;
    copy_mixture(K, from, m);
    return climb_in_double(t, on, K, model, rules, m);
}

/* Points that classes and crowds are looked for on. */
static const Points *starts_of(const Table *t) { return t->on->single ? t->on : &t->small; }

static void forget_scouts(Table *t) {
    t->count = t->climbed = 0;
    memset(t->highest, 0xff, sizeof t->highest); /* -1 */
}

/* A start of a short climb. */
static void scout(Table *t, const Mixture *from, int K, int model) {
    if (t->K && (K != t->K || model != t->model)) return;
    if (t->count == t->room) {
        const int room = 2 * t->room + 128;
        Run *more = realloc(t->waiting, (size_t)room * sizeof *more);
        if (!more) t->failed = 1;
        if (t->failed) return;
        t->waiting = more;
        t->room = room;
    }
    Run *one = &t->waiting[t->count++];
    one->row = 0;
    one->K = K;
    one->model = model;
    one->active = 1;
    one->undecided = 0;
    one->outcome = (Outcome){0.0, 0, RUN_SINGULAR};
    copy_mixture(K, from, &one->mixture);
}

/* How far below what classes of one width reach a start may be: with ties some of 8,000 samples lost 84 otherwise. */
#define WITHIN 20.0

/* The short climbs from all new starts; where they end waits. On few points one climb keeps vector lanes busy with sums over
 * them more than with densities, so that a lane takes a climb of its own. */
static void climb_briefly(Table *t) {
    const Points *on = t->on;
    const double narrowest = NARROWEST * (on->x[on->size - 1] - on->x[0]), best = fmax(best_bic(t), t->bar - WITHIN);
    const Rules rules = table_rules(t, on, 1, MODEL_E, 1e-5, 0.0, t->steps, 4);
    const int beside = on->single && on->size <= FEW;
    for (int j = t->climbed; j < t->count; j++) {
        Run *run = &t->waiting[j];
        run->floor = fmax(t->floor, narrowest * narrowest);
        run->clamp = run->floor <= t->floor || unsound_below(t, on, run->model, narrowest);
        run->needed = 0.5 * (best - bic_of(0.0, t->log_n, run->K, run->model)) * on->values / t->n;
    }
    const RunQueue queue = {t->waiting + t->climbed, t->count - t->climbed, on->size, t->K_max, 0};
    if (beside && !t->kernels->runs(on->single, queue, &rules)) t->failed = 1;
    for (; t->climbed < t->count; t->climbed++) {
        Run *run = &t->waiting[t->climbed];
        Rules own = rules;
        own.needed = run->needed;
        if (!beside) {
            const Mixture from = run->mixture;
            run->outcome = climb_in_single(t, on, run->K, run->model, &from, &own, &run->mixture, &run->undecided);
        } else if (run->undecided) {
            run->outcome = em_padded(t->kernels->e_step, on->x, on->size, run->K, run->model, &own, &run->mixture);
        }
        if (run->outcome.state == RUN_SINGULAR || !(run->outcome.loglik > -INFINITY)) continue;
        if (run->model == MODEL_V && !table_sound(t, run->K, &run->mixture)) continue;
        int *at = &t->highest[run->K][run->model];
        while (*at >= 0 && t->waiting[*at].outcome.loglik >= run->outcome.loglik) at = &t->waiting[*at].next;
        run->next = *at;
        *at = t->climbed;
    }
}

/* A climb on the sample itself, in double precision where it is to converge; it is kept if it ends higher than the one
 * before, which only double precision tells. What was given up on the sample itself stays where it is. */
static void climb_on(Table *t, int K, int model, const Mixture *from, double scouted, int hopeless, const Rules *rules) {
    Mixture m;
    Outcome o;
    Found *old = &t->found[K][model];
    const double before = old->there ? old->loglik : -INFINITY;
    int exact = rules->gain_relative == 0.0;
    copy_mixture(K, from, &m);
    if (hopeless && t->on->values == t->all.values) {
        o = (Outcome){scouted, 0, RUN_UNFINISHED};
        exact = 0;
    } else if (exact) {
        o = climb_in_double(t, &t->all, K, model, rules, &m);
    } else {
        o = climb_in_single(t, &t->all, K, model, from, rules, &m, &exact);
    }
    if (!exact && t->all.single && o.state != RUN_SINGULAR && o.loglik > before - 1e-3) {
        double whole = 0.0; /* about one: of weights in single precision */
        for (int k = 0; k < K; k++) whole += m.w[k];
        for (int k = 0; k < K; k++) m.w[k] /= whole;
        if (bic_on(t, &t->all, o.loglik, K, model) > best_bic(t) - MARGIN - 1.0) /* else it is near enough */
            o.loglik = t->kernels->e_step(t->all.x, t->all.size, K, &m, INFINITY, NULL, NULL);
    }
    if (o.state == RUN_SINGULAR || !(o.loglik > before)) return;
    if (model == MODEL_V && !table_sound(t, K, &m)) return;
    old->there = 1;
    old->finished = 0;
    if (o.loglik > before + 1e-3) old->moved = 0;
    old->converged = o.state == RUN_OK;
    old->loglik = o.loglik;
    old->scouted = t->on->values == t->all.values ? o.loglik : scouted;
    old->bic = bic_on(t, &t->all, o.loglik, K, model);
    copy_mixture(K, &m, &old->mixture);
}

/* Long climbs of the highest `count` that wait at a place, those of one height once, none more than
 * `reach` of BIC below the best. */
static void follow(Table *t, int K, int model, int count, double reach) {
    const double gain = !t->all.single ? 1e-6 : t->K ? 2e-6 : t->all.size > FEW ? 5e-6 : 1e-5;
    const Rules rules = table_rules(t, &t->all, K, model, gain, 0.0, LONG_STEPS, 6);
    double last = INFINITY;
    for (int taken = 0; taken < count && t->highest[K][model] >= 0;) {
        const Run *top = &t->waiting[t->highest[K][model]];
        if (bic_on(t, t->on, top->outcome.loglik, K, model) < best_bic(t) - reach) return;
        t->highest[K][model] = top->next;
        if (!(last - top->outcome.loglik > 1e-3)) continue;
        const Found *old = &t->found[K][model];
        const int hopeless = top->outcome.state != RUN_OK && top->outcome.steps < t->steps;
        last = top->outcome.loglik;
        taken++;
        if (!old->there || fabs(old->scouted - last) > 1e-3) climb_on(t, K, model, &top->mixture, last, hopeless, &rules);
    }
}

#include "_em_starts.h"

/* ---- The search ------------------------------------------------------------------------------------ */

/* Scout from a mixture its neighbours in K, once. */
static void scout_neighbours(Table *t, int K, int model, int ways) {
    Found *one = &t->found[K][model];
    if (!one->there) return;
    ways &= ~one->moved;
    one->moved |= ways;
    for (int to = MODEL_E; ways & UP && K < t->K_max && to <= MODEL_V; to++) {
        if (K > 1 && to != model) continue;
        scout_splits(t, &one->mixture, K, to);
        scout_insertions(t, &one->mixture, K, to);
    }
    if (ways & DOWN && K > 2) scout_merges(t, &one->mixture, K, model);
}

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
        for (int model = MODEL_E; model <= MODEL_V; model++)
            for (int of = MODEL_E; of <= MODEL_V; of++)
                if (bics[of] >= bar && abs(K - tops[of]) <= 1 && (of == model || K == 1))
                    scout_neighbours(t, K, model, UP | DOWN);
    climb_briefly(t);
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
    const double *x = t->all.x, *count = t->all.cells.count;
    const int size = t->all.values;
    double mean = 0.0, v = 0.0;
    for (int i = 0; i < t->all.size; i++) mean += count ? count[i] * x[i] : x[i];
    mean /= size;
    for (int i = 0; i < t->all.size; i++)
        v += count ? count[i] * ((x[i] - mean) * (x[i] - mean) + t->all.cells.within[i]) : (x[i] - mean) * (x[i] - mean);
    v /= size;
    one->there = one->converged = 1;
    one->loglik = -0.5 * size * (LOG_2PI + log(v) + 1.0);
    one->bic = bic_on(t, &t->all, one->loglik, 1, MODEL_E);
    one->mixture.w[0] = 1.0;
    one->mixture.mu[0] = mean;
    one->mixture.v[0] = v;
}

/* To convergence, if it is one of those that may win. */
static void finish(Table *t, int K, int model) {
    Found *one = &t->found[K][model];
    const Rules rules = table_rules(t, &t->all, K, model, 0.0, 1e-11, FINE_STEPS, 0);
    if (!one->there || one->finished || one->bic < best_bic(t) - MARGIN) return;
    climb_on(t, K, model, &one->mixture, one->scouted, 0, &rules);
    one->finished = 1;
}

/* Climbs to one place from all values and from the mixtures of one component fewer and of one more. On cells, which are too
 * few to tell where values crowd, what an earlier move scouted there climbs on. */
static void climb_anew(Table *t, int K, int model) {
    Found *one = &t->found[K][model], *fewer = &t->found[K - 1][K > 2 ? model : MODEL_E];
    if (model == MODEL_V) finish(t, K, model); /* many tops of nearly one height: no choice before convergence */
    const Found old = *one;
    if (t->all.single) {
        t->K = K;
        t->model = model;
        forget_scouts(t);
        scout_values(t);
        fewer->moved = 0;
        if (K < t->K_max) one[2].moved = 0;
    }
    scout_neighbours(t, K - 1, K > 2 ? model : MODEL_E, UP);
    if (old.there && K < t->K_max) scout_neighbours(t, K + 1, model, DOWN);
    climb_briefly(t);
    one->there = 0;
    follow(t, K, model, t->all.single ? TOPS : TOPS + TRIES, INFINITY);
    if (old.finished && !(one->loglik <= old.loglik && one->loglik > old.loglik - 1e-3)) finish(t, K, model);
    if (old.there && !(one->there && one->loglik > old.loglik)) *one = old;
}

/* Moves on all points: where several components win, and where one more of one width may. */
static void climb_on_all(Table *t) {
    const double best = best_bic(t);
    t->on = t->all.single ? &t->some : &t->all;
    t->steps = t->all.single ? BRIEF_STEPS : CELL_STEPS;
    for (int model = MODEL_E; model <= MODEL_V; model++) {
        int top = 1;
        double bic = model == MODEL_E ? t->found[1][model].bic : -INFINITY;
        for (int K = 2; K <= t->K_max; K++) {
            if (!t->found[K][model].there || t->found[K][model].bic <= bic) continue;
            bic = t->found[K][model].bic;
            top = K;
        }
        if (model == MODEL_E ? top < 2 || bic < best - MARGIN : top < SEVERAL || bic < best) continue;
        if (model == MODEL_V) climb_anew(t, top, model);
        if (model == MODEL_V && top > 2) climb_anew(t, top - 1, model);
        if (top < t->K_max) climb_anew(t, top + 1, model);
    }
}

static void search_places(Table *t) {
    double gain = INFINITY;
    forget_scouts(t);
    t->on = t->all.single ? &t->small : &t->all;
    t->steps = t->all.single ? SCOUT_STEPS : CELL_STEPS;
    single(t);
    if (t->K_max < 2) return;
    scout_values(t);
    for (int round = 0; round < ROUNDS && gain >= 1e-3; round++) {
        gain = -best_bic(t);
        move(t, round ? MARGIN : t->all.single ? INFINITY : 10.0 * REACH);
        follow_all(t, -INFINITY, 1, REACH);
        follow_all(t, best_bic(t) - MARGIN, TRIES, REACH);
        gain += best_bic(t);
    }
    do {
        gain = -best_bic(t);
        if (t->all.values > FEW) climb_on_all(t);
        gain += best_bic(t);
        for (int K = 2; K <= t->K_max; K++)
            for (int model = MODEL_E; model <= MODEL_V; model++) finish(t, K, model);
    } while (gain >= 1e-3);
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

/* The table of n values: x, or means, counts and squares of cells, with a few quantiles beside (else NULL); returns 0 when
 * memory runs out. */
static int search_table(const Kernels *kernels, const double *x, int size, const double *few, int few_size, int n, int K_max,
                        double floor, double apart, int give_up, double *loglik, double *mixtures, int32_t *converged) {
    Table *t = malloc(sizeof *t);
    if (!t) return 0;
    memset(t, 0, offsetof(Table, found) + ((size_t)K_max + 1) * sizeof *t->found);
    t->kernels = kernels;
    t->n = n;
    t->log_n = log((double)n);
    t->bar = -INFINITY;
    t->K_max = K_max;
    t->floor = floor;
    t->apart = apart;
    t->give_up = give_up;
    if (few) {
        t->all = (Points){.size = size, .values = n};
        t->all.x = padded_cells(x, size, &t->all.cells);
        t->failed = !(t->all.x && points_of(few, few_size, few_size, &t->small));
    } else {
        t->failed = !(points_of(x, size, size, &t->all) && points_of(x, size, MOST_SCOUTED, &t->some) &&
                      points_of(x, size, SMALL, &t->small));
    }
    t->density = malloc((MOST_SCOUTED + BLOCK) * sizeof *t->density);
    t->failed |= !t->density;
    if (!t->failed) {
        search_places(t);
        hand_out(t, loglik, mixtures, converged);
    }
    const int done = !t->failed;
    for (int i = 0; i < 3; i++) {
        Points *points = (Points *[]){&t->all, &t->some, &t->small}[i];
        free(points->x);
        free(points->single);
    }
    free(t->density);
    free(t->waiting);
    free(t);
    return done;
}
