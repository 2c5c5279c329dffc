/* The search over K and both models for many samples, and their distances to what was fitted. */

/* What a search works on and where its results go; all arrays are those of search() below. */
typedef struct {
    const double *x;
    const int32_t *starts;
    int rows, n, K_max, shared_starts, K_always, patience;
    double log_n;
    double *loglik, *best_parameters;
    int32_t *best, *steps;
} Search;

static int start_offset(int K) { return (K - 2) * (K + 3) / 2; } /* sum of (j + 1) for j = 2 .. K - 1 */

static const int32_t *start_of(const Search *s, int row, int K) {
    int width = start_offset(s->K_max + 1);
    return s->starts + (s->shared_starts ? 0 : (size_t)row * width) + start_offset(K);
}

/* Make (K, model) the row's best if its BIC is larger; the first of equals stays. */
static void consider(const Search *s, int row, int K, int model, const Mixture *m) {
    const double *loglik = s->loglik + (size_t)row * s->K_max * 2;
    int32_t *best = s->best + 2 * (size_t)row;
    double bic = bic_of(loglik[2 * (K - 1) + model], s->log_n, K, model); /* NaN: not estimable */
    if (isnan(bic) ||
        (best[0] > 0 && !(bic > bic_of(loglik[2 * (best[0] - 1) + best[1]], s->log_n, best[0], best[1]))))
        return;
    best[0] = K;
    best[1] = model;
    double *to = s->best_parameters + (size_t)row * 3 * s->K_max;
    memset(to, 0, 3 * (size_t)s->K_max * sizeof *to);
    for (int k = 0; k < K; k++) {
        to[k] = m->w[k];
        to[s->K_max + k] = m->mu[k];
        to[2 * s->K_max + k] = m->v[k];
    }
}

static void record(const Search *s, int row, int K, int model, const Outcome *o, const Mixture *m) {
    size_t cell = ((size_t)row * s->K_max + (K - 1)) * 2 + model;
    s->steps[cell] = o->state == RUN_UNFINISHED ? -o->steps : o->steps;
    s->loglik[cell] = o->state == RUN_SINGULAR ? NAN : o->loglik;
    consider(s, row, K, model, m);
}

/* K = 1: both models are one, recorded as E; V stays NaN. */
static void record_single_gaussian(const Search *s, int row, const Rules *rules, Mixture *m) {
    const int32_t start[2] = {0, s->n};
    Outcome o = {0.0, 1, RUN_SINGULAR};
    if (from_classes(s->x + (size_t)row * s->n, start, s->n, 1, MODEL_E, rules, m)) {
        o.state = RUN_OK;
        o.loglik = -0.5 * s->n * (LOG_2PI + log(m->v[0]) + 1.0);
    }
    record(s, row, 1, MODEL_E, &o, m);
}

/* The log-likelihood above which a model would win. */
static double needed(const Search *s, int row, int K, int model) {
    const int32_t *best = s->best + 2 * (size_t)row;
    if (best[0] == 0) return -INFINITY;
    const double loglik = s->loglik[((size_t)row * s->K_max + best[0] - 1) * 2 + best[1]];
    return 0.5 * (bic_of(loglik, s->log_n, best[0], best[1]) - bic_of(0.0, s->log_n, K, model));
}

/* Whether a row still wants more components: always up to K_always, then until `patience` of them in a row
 * brought nothing; patience 0 asks for the full search. */
static int wants(const Search *s, int row, int K) {
    if (s->patience == 0 || K <= s->K_always) return 1;
    return K - s->best[2 * (size_t)row] <= s->patience;
}

static int search_in_double(const Search *s, const Rules *rules, const Kernels *kernels) {
    Mixture m;
    int done = 1;
    for (int row = 0; done && row < s->rows; row++) {
        const double *x = s->x + (size_t)row * s->n;
        record_single_gaussian(s, row, rules, &m);
        for (int K = 2; done && K <= s->K_max && wants(s, row, K); K++) {
            Rules own[2] = {*rules, *rules}; /* E is no bar to V */
            for (int model = MODEL_E; model <= MODEL_V; model++) own[model].needed = needed(s, row, K, model);
            for (int model = MODEL_E; done && model <= MODEL_V; model++) {
                Outcome o = {0.0, 0, RUN_SINGULAR};
                if (from_classes(x, start_of(s, row, K), s->n, K, model, rules, &m))
                    o = em_run(kernels->e_step, x, s->n, K, model, &own[model], &m);
                done = o.state != RUN_NO_MEMORY;
                record(s, row, K, model, &o, &m);
            }
        }
    }
    return done;
}

/* The same with single-precision runs, many at once; what they cannot decide goes on in double. */
static int search_in_single(const Search *s, const Rules *rules, const Rules *redo, const Kernels *kernels) {
    size_t size = (size_t)s->rows * s->n;
    float *x = malloc(size * sizeof *x);
    Run *runs = malloc(2 * (size_t)s->rows * sizeof *runs);
    int done = x && runs;
    for (size_t i = 0; done && i < size; i++) x[i] = (float)s->x[i];
    for (int row = 0; done && row < s->rows; row++) record_single_gaussian(s, row, rules, &runs[0].mixture);
    for (int K = 2; done && K <= s->K_max; K++) {
        RunQueue queue = {runs, 0, s->n, K, 0};
        for (int row = 0; row < s->rows; row++) {
            if (!wants(s, row, K)) continue;
            const float *values = x + (size_t)row * s->n, narrowest = (float)NARROWEST * (values[s->n - 1] - values[0]);
            for (int model = MODEL_E; model <= MODEL_V; model++) {
                Run *run = &runs[queue.count++];
                run->row = row;
                run->K = K;
                run->model = model;
                run->outcome = (Outcome){0.0, 0, RUN_SINGULAR};
                run->undecided = run->clamp = 0;
                run->floor = (double)(narrowest * narrowest);
                run->needed = needed(s, row, K, model);
                run->active = from_classes(s->x + (size_t)row * s->n, start_of(s, row, K), s->n, K, model,
                                           rules, &run->mixture);
            }
        }
        done = kernels->runs(x, queue, rules);
        for (int j = 0; done && j < queue.count; j++) {
            Run *run = &runs[j];
            const double *row = s->x + (size_t)run->row * s->n;
            if (run->undecided || run->outcome.steps >= rules->max_steps) {
                Rules own = *redo;
                own.needed = run->needed;
                run->outcome = em_run(kernels->e_step, row, s->n, K, run->model, &own, &run->mixture);
            }
            done = run->outcome.state != RUN_NO_MEMORY;
            record(s, run->row, K, run->model, &run->outcome, &run->mixture);
        }
    }
    free(x);
    free(runs);
    return done;
}

/* erfc(z) / 2, without the work where it is 0 or 1 to the last bit. */
static double normal_share(double z) { return z > 6.0 ? 0.0 : z < -6.0 ? 1.0 : 0.5 * erfc(z); }

static double mixture_cdf(double x, int K, const double *w, const double *mu, const double *scale) {
    double F = 0.0;
    for (int k = 0; k < K; k++) F += w[k] * normal_share((x - mu[k]) * scale[k]);
    return F;
}

/* The larger distance of F to the empirical distribution on either side of its jump at x[i]. Among equal
 * values the steps in between lie inside the whole jump, so ties need no care. */
static double distance_at(int i, int n, double F) {
    return fmax(fabs((double)(i + 1) / n - F), fabs((double)i / n - F));
}

#define STRIDE 16

/* Supremum over all x of |F_n(x) - F(x)|, both sides of each jump; x sorted. Between two places F is bounded
 * by its values there, so most stretches are passed over: only those that could hold the supremum are
 * looked at value by value. */
static double ks_distance(const double *x, int n, int K, const double *w, const double *mu, const double *v) {
    double scale[K_LIMIT], worst = 0.0;
    for (int k = 0; k < K; k++) scale[k] = -1.0 / sqrt(2.0 * v[k]);
    for (int pass = 0; pass < 2; pass++) {
        double F_low = mixture_cdf(x[0], K, w, mu, scale);
        worst = fmax(worst, distance_at(0, n, F_low));
        for (int low = 0; low < n - 1;) {
            int high = low + STRIDE < n - 1 ? low + STRIDE : n - 1;
            double F_high = mixture_cdf(x[high], K, w, mu, scale);
            worst = fmax(worst, distance_at(high, n, F_high));
            double bound = fmax((double)high / n - F_low, F_high - (double)(low + 1) / n);
            if (pass == 1 && bound > worst)
                for (int i = low + 1; i < high; i++)
                    worst = fmax(worst, distance_at(i, n, mixture_cdf(x[i], K, w, mu, scale)));
            low = high;
            F_low = F_high;
        }
    }
    return worst;
}
