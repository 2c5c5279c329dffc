/* The best mixture of one sample for every K and model: the steps of search.py and starts.py, which say why. */

#define SCOUT_STEPS 20
#define LONG_STEPS 3000
#define FINE_STEPS 30000
#define MARGIN 10.0
#define TRIES 3
#define ROUNDS 3
#define REACH 30.0
#define POINTS 48
#define CUTS (2 * SMALL + 2 * K_LIMIT)

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

/* ---- Starts ---------------------------------------------------------------------------------------- */

/* The moments of classes of the few points: class k is small[line[k] .. line[k + 1] - 1]; no class is empty. */
static void scout_classes(Table *t, const int *line, int K, int model) {
    const double *x = t->small, centre = x[t->small_size / 2];
    Mixture m;
    for (int k = 0; k < K; k++) {
        const int size = line[k + 1] - line[k];
        double first = 0.0, second = 0.0;
        for (int i = line[k]; i < line[k + 1]; i++) {
            first += x[i] - centre;
            second += (x[i] - centre) * (x[i] - centre);
        }
        const double mean = first / size;
        m.w[k] = (double)size / t->small_size;
        m.mu[k] = centre + mean;
        m.v[k] = fmax(second / size - mean * mean, 1e-6);
    }
    scout(t, &m, K, model);
}

static int ascends(const int *line, int K) {
    for (int k = 0; k < K; k++)
        if (line[k + 1] <= line[k]) return 0;
    return 1;
}

/* Classes cut at K + 1 quantiles (type 7); ties that leave fewer distinct ones ask for more, of which those that open
 * the narrowest intervals are dropped. Returns whether no class is empty. The points have at least K values. */
static int quantile_line(const double *x, int n, int K, int ties, int *line) {
    double cuts[CUTS];
    int dropped[CUTS] = {0}, count = 0;
    line[0] = 0;
    line[K] = n;
    for (int m = K; ties && count < K + 1; m++) {
        if (m > 2 * n + K) return 0; /* not of numbers: twice as many cuts as values lie at all of them and between */
        count = 0;
        for (int j = 0; j <= m; j++) {
            const int64_t place = (int64_t)j * (n - 1);
            const int low = (int)(place / m), high = low + 1 < n ? low + 1 : n - 1;
            const double share = (double)(place % m) / m;
            const int even = place % m == 0 || x[low] == x[high];
            const double cut = even ? x[low] : (1.0 - share) * x[low] + share * x[high];
            if (count && !(cut > cuts[count - 1])) continue;
            cuts[count++] = cut;
        }
    }
    for (int drop = count - K - 1; drop > 0; drop--) {
        int narrowest = -1;
        for (int i = 0; i < count - 1; i++)
            if (!dropped[i] && (narrowest < 0 || cuts[i + 1] - cuts[i] < cuts[narrowest + 1] - cuts[narrowest]))
                narrowest = i;
        dropped[narrowest] = 1;
    }
    int at = -1; /* of the cuts that stay, the first and the last are the ends */
    for (int i = 0; i < count - 1; i++) {
        if (dropped[i]) continue;
        if (at++ < 0) continue;
        int first = 0;
        while (first < n && x[first] < cuts[i]) first++;
        line[at] = first;
    }
    for (int j = 1; !ties && j < K; j++) line[j] = (int)(((int64_t)j * (n - 1) + K - 1) / K);
    return ascends(line, K);
}

/* The best classes of m points for each K (Fisher 1958): costs[i][j] is that of points i .. j - 1. Scouts them. */
static void scout_partitions(Table *t, int m, double costs[POINTS + 1][POINTS + 1]) {
    double best[POINTS + 1], total[POINTS + 1];
    signed char back[K_LIMIT + 1][POINTS + 1];
    memcpy(best, costs[0], sizeof best);
    for (int K = 2; K <= t->K_max; K++) {
        for (int j = 0; j <= m; j++) {
            int from = 0;
            for (int i = 1; i <= m; i++)
                if (best[i] + costs[i][j] < best[from] + costs[from][j]) from = i;
            total[j] = best[from] + costs[from][j];
            back[K][j] = (signed char)from;
        }
        memcpy(best, total, sizeof best);
        if (!isfinite(best[m])) continue;
        int line[K_LIMIT + 1];
        for (int k = K, at = m; k >= 0; k--) {
            line[k] = (at * t->small_size + m - 1) / m;
            at = k >= 2 ? back[k][at] : 0;
        }
        if (!ascends(line, K)) continue;
        for (int model = MODEL_E; model <= MODEL_V; model++) scout_classes(t, line, K, model);
    }
}

/* Classes of k-means, and those of the largest classification likelihood (Symons 1981), of two points or more. */
static void scout_classifications(Table *t) {
    double points[POINTS] = {0.0}, first[POINTS + 1] = {0.0}, second[POINTS + 1] = {0.0};
    double means[POINTS + 1][POINTS + 1], likelihood[POINTS + 1][POINTS + 1];
    const int n = t->small_size, m = n < POINTS ? n : POINTS;
    for (int i = 0; i < m; i++) {
        const double place = n == m ? i : (i + 0.5) / m * n - 0.5;
        const int low = (int)place;
        points[i] = t->small[low] + (place - low) * (t->small[low + 1 < n ? low + 1 : n - 1] - t->small[low]);
        first[i + 1] = first[i] + points[i];
        second[i + 1] = second[i] + points[i] * points[i];
    }
    const double spacing = (points[3 * m / 4] - points[m / 4]) / (m / 2 > 1 ? m / 2 : 1);
    const double least = fmax(0.1 * spacing, 1e-4);
    for (int i = 0; i <= m; i++)
        for (int j = 0; j <= m; j++) {
            const int size = j - i;
            means[i][j] = likelihood[i][j] = INFINITY;
            if (size < 1) continue;
            const double sum = first[j] - first[i];
            means[i][j] = fmax(second[j] - second[i] - sum * sum / size, 0.0);
            if (size >= 2)
                likelihood[i][j] =
                    0.5 * size * log(means[i][j] / size + least * least) - size * log((double)size);
        }
    scout_partitions(t, m, means);
    scout_partitions(t, m, likelihood);
}

/* One more component: each of K in its turn split in two, and one wide one added. */
static void scout_splits(Table *t, const Mixture *old, int K, int model) {
    Mixture m;
    double mean = 0.0, spread = 0.0;
    for (int j = 0; j < K; j++) {
        const double sd = 0.8 * sqrt(old->v[j]);
        copy_mixture(K, old, &m);
        m.w[j] = m.w[K] = 0.5 * old->w[j];
        m.mu[j] = old->mu[j] - sd;
        m.mu[K] = old->mu[j] + sd;
        m.v[j] = m.v[K] = 0.36 * old->v[j];
        scout(t, &m, K + 1, model);
        mean += old->w[j] * old->mu[j];
    }
    copy_mixture(K, old, &m);
    for (int j = 0; j < K; j++) {
        spread += old->w[j] * (old->v[j] + (old->mu[j] - mean) * (old->mu[j] - mean));
        m.w[j] *= 0.85;
    }
    m.w[K] = 0.15;
    m.mu[K] = mean;
    m.v[K] = 4.0 * spread;
    scout(t, &m, K + 1, model);
}

static void scout_window(Table *t, const Mixture *old, int K, int model, int at, int size) {
    const int n = t->small_size;
    if (size >= n || at < 0) return;
    const double low = t->small[at], high = t->small[at + size - 1], sd = fmax(0.3 * (high - low), 1e-4);
    Mixture m;
    copy_mixture(K, old, &m);
    for (int k = 0; k < K; k++) m.w[k] *= 1.0 - (double)size / n;
    m.w[K] = (double)size / n;
    m.mu[K] = 0.5 * (low + high);
    m.v[K] = sd * sd;
    scout(t, &m, K + 1, model);
}

/* One more component: at the ends, and where the values crowd beyond what the K explain. */
static void scout_insertions(Table *t, const Mixture *old, int K, int model) {
    static const double SHARES[] = {0.0, 0.06, 0.12, 0.25};
    const int n = t->small_size;
    double density[SMALL];
    scout_window(t, old, K, model, 0, 2);
    scout_window(t, old, K, model, 0, 3);
    scout_window(t, old, K, model, n - 2, 2);
    scout_window(t, old, K, model, n - 3, 3);
    if (n <= 4) return;
    t->kernels->density(t->small, n, K, old, density);
    for (int s = 0, last = 0; s < 4; s++) {
        const int share = (int)nearbyint(SHARES[s] * n), size = share > 4 ? share : 4;
        if (size == last) continue;
        last = size;
        int at = 0;
        double least = INFINITY;
        for (int i = 0; i + size <= n; i++) {
            const double crowd = fmax(t->small[i + size - 1] - t->small[i], 1e-6) * density[i + size / 2];
            if (crowd < least) {
                least = crowd;
                at = i;
            }
        }
        scout_window(t, old, K, model, at, size);
    }
}

/* One component fewer: each two made one of their moments. */
static void scout_merges(Table *t, const Mixture *old, int K, int model) {
    for (int a = 0; a < K; a++)
        for (int b = a + 1; b < K; b++) {
            Mixture m;
            int to = 0;
            for (int k = 0; k < K; k++) {
                if (k == a || k == b) continue;
                m.w[to] = old->w[k];
                m.mu[to] = old->mu[k];
                m.v[to++] = old->v[k];
            }
            const double w = old->w[a] + old->w[b], mean = (old->w[a] * old->mu[a] + old->w[b] * old->mu[b]) / w;
            const double da = old->mu[a] - mean, db = old->mu[b] - mean;
            m.w[to] = w;
            m.mu[to] = mean;
            m.v[to] = (old->w[a] * (old->v[a] + da * da) + old->w[b] * (old->v[b] + db * db)) / w;
            scout(t, &m, K - 1, model);
        }
}

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
