/* EM in double precision, whatever computes its E-step: steps and when they end. _em.c has the equations. */

#define K_LIMIT 32
#define BLOCK 16 /* observations that an E-step takes at once */
#define ROWS 16  /* of BLOCK so many at most: constants and sums stay in registers, densities in the cache */
#define ENDS(n) (((n) + ROWS * BLOCK - 1) / (ROWS * BLOCK) * ROWS)
#define EXACT 64 /* values, of which climbs to convergence cost less without Newton's steps */
#define NEWTON_K 16 /* components at most, and steps of EM between where it does not lead up */
#define NEWTON_APART 12
#define NEWTON_NEARLY 1e-7
#define NEWTON_LONGEST 0.5 /* its step, so that it stays on the hill */
#define MOST_STEPS 100000000 /* ten times as many, for what single precision leaves, fit an int */
#define HOPE 8.0 /* log-likelihood that a climb without gains may miss and still win */
#define INLINE static inline __attribute__((always_inline))
#define LOG_2PI 1.8378770664093453
#define LOG2_E 1.4426950408889634
#define LN_2 0.6931471805599453
#define SQRT_EPSILON 1.4901161193847656e-08
/* A component that holds no more than this of one observation is empty; mclust draws the line here. */
#define EMPTY SQRT_EPSILON

typedef struct {
    double w[K_LIMIT], mu[K_LIMIT], v[K_LIMIT];
} Mixture;

typedef struct {
    double s0[K_LIMIT], s1[K_LIMIT], s2[K_LIMIT];
} Sums;

/* Neighbours of a large sample that share their responsibilities: means, counts, mean squares about the mean, and one over
 * the root of the count. What EM climbs on them is the largest lower bound of the log-likelihood that there then is (J. J.
 * Verbeek, J. R. J. Nunnink, N. Vlassis, Data Mining and Knowledge Discovery 13, 2006). Padded to whole blocks, where a
 * count and one over its root are 0. */
typedef struct {
    const double *x, *count, *within, *root;
    int size;
} Cells;

typedef struct {
    double gain_relative; /* stop when the gain in log-likelihood <= gain_relative (1 + |loglik|) + ... */
    double gain_absolute; /* ... this */
    double min_variance;  /* a variance at or below it makes the model not estimable, or ... */
    int max_steps;
    int accelerate;
    int extra_step; /* keep one more M-step when it still moves the weights (mclust) */
    int clamp;      /* ... is raised to it */
    int give_up;    /* after so many steps end a climb that is far below what its model needs to win ... */
    double needed;  /* ... which is this log-likelihood ... */
    double hope;    /* ... by more than this, when it gains no more */
} Rules;

enum { MODEL_E = 0, MODEL_V = 1 };
enum { RUN_OK = 0, RUN_UNFINISHED = 1, RUN_SINGULAR = 2, RUN_NO_MEMORY = 3 };

typedef struct {
    double loglik;
    int steps;
    int state;
} Outcome;

static void copy_mixture(int K, const Mixture *from, Mixture *to) {
    const size_t size = (size_t)K * sizeof *from->w;
    memcpy(to->w, from->w, size);
    memcpy(to->mu, from->mu, size);
    memcpy(to->v, from->v, size);
}

/* The M-step; returns 0 when a component is empty or its variance vanished. */
static int m_step(int n, int K, int model, const Mixture *old, const Sums *s, const Rules *rules,
                  Mixture *out) {
    double within = 0.0;
    for (int k = 0; k < K; k++) {
        if (!(s->s0[k] > EMPTY)) return 0;
        double shift = s->s1[k] / s->s0[k];
        out->w[k] = s->s0[k] / n;
        out->mu[k] = old->mu[k] + shift;
        out->v[k] = s->s2[k] / s->s0[k] - shift * shift;
        within += s->s2[k] - shift * s->s1[k];
    }
    for (int k = 0; k < K; k++) {
        if (model == MODEL_E) out->v[k] = within / n;
        if (out->v[k] > rules->min_variance) continue;
        if (!rules->clamp) return 0;
        out->v[k] = rules->min_variance;
    }
    return 1;
}

/* The M-step from classes of the sorted data: class k is x[start[k] .. start[k + 1] - 1]. */
static int from_classes(const double *x, const int32_t *start, int n, int K, int model, const Rules *rules,
                        Mixture *out) {
    Mixture origin;
    Sums s;
    for (int k = 0; k < K; k++) {
        if (start[k + 1] <= start[k]) return 0;
        double centre = x[(start[k] + start[k + 1]) / 2];
        double s1 = 0.0, s2 = 0.0;
        for (int i = start[k]; i < start[k + 1]; i++) s1 += x[i] - centre;
        double mean = centre + s1 / (start[k + 1] - start[k]);
        for (int i = start[k]; i < start[k + 1]; i++) s2 += (x[i] - mean) * (x[i] - mean);
        origin.mu[k] = mean;
        s.s0[k] = start[k + 1] - start[k];
        s.s1[k] = 0.0;
        s.s2[k] = s2;
    }
    return m_step(n, K, model, &origin, &s, rules, out);
}

/* Squared extrapolation of t0 -> t1 -> t2, which moves t0 (Varadhan & Roland 2008, equations 5 and 9, step length S3);
 * ends at t2 where that leads out of the mixtures. The step is at most *longest, which grows fourfold when
 * it was reached, so that the first steps, which settle on the local maximum to climb, are short. */
static void extrapolate(int K, Mixture *t0, const Mixture *t1, const Mixture *t2, double min_variance, double *longest) {
    double rr = 0.0, vv = 0.0;
#define ADD(field)                                                \
    do {                                                          \
        double r = t1->field[k] - t0->field[k];                   \
        double q = (t2->field[k] - t1->field[k]) - r;             \
        rr += r * r;                                              \
        vv += q * q;                                              \
    } while (0)
    for (int k = 0; k < K; k++) {
        ADD(w);
        ADD(mu);
        ADD(v);
    }
#undef ADD
    double a = vv > 0.0 ? sqrt(rr / vv) : 1.0;
    if (a >= *longest) {
        a = *longest;
        *longest *= 4.0;
    }
    int sound = a > 1.0;
#define MOVE(field)                                                                             \
    (t0->field[k] += 2.0 * a * (t1->field[k] - t0->field[k]) +                                  \
                     a * a * ((t2->field[k] - t1->field[k]) - (t1->field[k] - t0->field[k])))
    for (int k = 0; sound && k < K; k++) {
        MOVE(mu);
        sound = MOVE(w) > 0.0 && MOVE(v) >= min_variance;
    }
#undef MOVE
    if (!sound) copy_mixture(K, t2, t0);
}

/* Responsibilities and their moments, and the curvature where it is not NULL; returns the log-likelihood. Below `least`
 * moments may be missing. */
typedef double (*EStep)(const void *x, int n, int K, const Mixture *m, double least, Sums *sums, double *curvature);

/* A copy that ends in whole blocks; NULL without memory. */
static double *padded(const double *x, int n) {
    size_t size = ((size_t)n + BLOCK - 1) / BLOCK * BLOCK;
    double *copy = malloc(size * sizeof *copy);
    for (size_t i = 0; copy && i < size; i++) copy[i] = x[i < (size_t)n ? i : (size_t)n - 1];
    return copy;
}

/* Cells of so many means, after which counts and squares are given, and the memory that they are in; NULL without any. */
static double *padded_cells(const double *given, int size, Cells *out) {
    const size_t whole = ((size_t)size + BLOCK - 1) / BLOCK * BLOCK;
    double *room = aligned_alloc(64, 4 * whole * sizeof *room);
    *out = (Cells){room, room + whole, room + 2 * whole, room + 3 * whole, size};
    for (size_t i = 0; room && i < whole; i++) {
        const int there = i < (size_t)size;
        for (int row = 0; row < 3; row++) room[row * whole + i] = given[(size_t)(row + 1) * size - 1];
        for (int row = 0; there && row < 3; row++) room[row * whole + i] = given[(size_t)row * size + i];
        if (!there) room[whole + i] = 0.0;
        room[3 * whole + i] = there ? 1.0 / sqrt(room[whole + i]) : 0.0;
    }
    return room;
}

/* Plain EM, as mclust stops it. */
static Outcome em_plain(EStep e_step, const void *x, int n, int K, int model, const Rules *rules, Mixture *m) {
    Outcome o = {0.0, 0, RUN_UNFINISHED};
    Sums sums;
    Mixture next;
    double last = NAN;
    while (o.steps < rules->max_steps) {
        o.loglik = e_step(x, n, K, m, -INFINITY, &sums, NULL);
        o.steps++;
        int sound = m_step(n, K, model, m, &sums, rules, &next);
        double gain = fabs(o.loglik - last);
        if (gain <= rules->gain_relative * (1.0 + fabs(o.loglik)) + rules->gain_absolute) {
            double moved = 0.0;
            for (int k = 0; k < K; k++) moved += (next.w[k] - m->w[k]) * (next.w[k] - m->w[k]);
            if (rules->extra_step && sound && moved > SQRT_EPSILON) copy_mixture(K, &next, m);
            o.state = RUN_OK;
            return o;
        }
        if (!sound) {
            o.state = RUN_SINGULAR;
            return o;
        }
        last = o.loglik;
        copy_mixture(K, &next, m);
    }
    return o;
}

/* The log-likelihood that a cycle of a climb has to exceed to go on. */
static double converged_below(const Rules *rules, double start) {
    const double bar = start + rules->gain_relative + rules->gain_absolute;
    return bar / (1.0 + copysign(rules->gain_relative, -bar));
}

/* One that is too far below what the climb needs to win. The square root of a gain is about the slope: what is left to
 * climb grows with it, and with E, whose climbs rest on ledges, farther. So needed - loglik > hope + reach sqrt(gain). */
static double hopeless_below(const Rules *rules, int model, int steps, double start, double needed) {
    const double missing = needed - rules->hope - start;
    if (!rules->give_up || steps < rules->give_up || !(missing > 0.0)) return -INFINITY;
    const double half = (model == MODEL_E ? 30.0 : 15.0) * sqrt(rules->hope / HOPE);
    const double root = missing / (sqrt(half * half + missing) + half);
    return start + root * root;
}

/* EM accelerated: at each start t0 two steps t0 -> t1 -> t2, then an extrapolation as the next start; a start
 * that is less likely than the t1 before it is replaced by that t2. */
static Outcome em_accelerated(EStep e_step, const void *x, int n, int K, int model, const Rules *rules,
                              Mixture *m) {
    Outcome o = {-INFINITY, 0, RUN_UNFINISHED};
    Sums sums;
    Mixture t1, t2;
    double longest = 1.0;
    while (o.steps < rules->max_steps) {
        double start = e_step(x, n, K, m, o.loglik, &sums, NULL);
        o.steps++;
        int sound = start >= o.loglik && m_step(n, K, model, m, &sums, rules, &t1);
        if (o.steps > 1 && !sound) {
            copy_mixture(K, &t2, m);
            longest = 1.0 > longest / 16 ? 1.0 : longest / 16;
            start = e_step(x, n, K, m, -INFINITY, &sums, NULL);
            o.steps++;
            sound = m_step(n, K, model, m, &sums, rules, &t1);
        }
        if (sound) {
            const double done = converged_below(rules, start);
            const double lost = hopeless_below(rules, model, ++o.steps, start, rules->needed), least = fmax(done, lost);
            o.loglik = e_step(x, n, K, &t1, least, &sums, NULL);
            if (!(o.loglik > least)) {
                copy_mixture(K, &t1, m);
                if (o.loglik <= done) o.state = RUN_OK;
                return o;
            }
            sound = m_step(n, K, model, &t1, &sums, rules, &t2);
        }
        if (!sound) {
            o.state = RUN_SINGULAR;
            return o;
        }
        extrapolate(K, m, &t1, &t2, rules->min_variance, &longest);
    }
    return o;
}

/* Newton's step from a mixture: in logarithms of weights (that of the last component stands) and variances, and in means
 * over deviations. The raw curvature has three places a component, (1, z, (z^2 - 1) / 2) r, z = (x - mu) / sd. Returns
 * twice the gain to be expected; a negative number where the likelihood is not concave, or no such step leads up. */
static double newton_step(int n, int K, int model, double floor, const Mixture *m, const Sums *s, const double *curvature,
                          Mixture *out) {
    const int size = 3 * K, count = model == MODEL_E ? 2 * K : 3 * K - 1;
    double A[3 * NEWTON_K][3 * NEWTON_K] = {{0.0}}, g[3 * NEWTON_K] = {0.0}, longest = 0.0, gain = 0.0;
    int place[3 * NEWTON_K];
    for (int k = 0; k < K; k++) {
        const double sd = sqrt(m->v[k]), z = s->s1[k] / sd, square = s->s2[k] / m->v[k];
        const double own[] = {s->s0[k], z, 0.5 * (square - s->s0[k])};
        place[3 * k] = k < K - 1 ? k : -1;
        place[3 * k + 1] = K - 1 + k;
        place[3 * k + 2] = 2 * K - 1 + (model == MODEL_V ? k : 0);
        for (int c = k < K - 1 ? 0 : 1; c < 3; c++) g[place[3 * k + c]] += own[c];
        A[place[3 * k + 1]][place[3 * k + 1]] += s->s0[k];
        A[place[3 * k + 2]][place[3 * k + 1]] += z;
        A[place[3 * k + 2]][place[3 * k + 2]] += 0.5 * square;
    }
    for (int p = 0; p < size; p++)
        for (int q = p; q < size; q++) {
            const int i = place[p] > place[q] ? place[p] : place[q], j = place[p] + place[q] - i;
            if (j >= 0) A[i][j] -= (1 + (i == j && p != q)) * curvature[p * size + q];
        }
    for (int i = 0; i < K - 1; i++) {
        g[i] -= n * m->w[i];
        for (int j = 0; j <= i; j++) A[i][j] += n * m->w[i] * ((i == j) - m->w[j]);
    }
    for (int i = 2 * K - 1; i < count; i++) /* at the lowest variance, to be left alone */
        if (m->v[i - 2 * K + 1] <= floor && g[i] <= 0.0) {
            for (int j = 0; j < count; j++) A[i > j ? i : j][i > j ? j : i] = i == j;
            g[i] = 0.0;
        }
    for (int i = 0; i < count; i++) { /* Cholesky; g becomes the solution of its first triangle */
        const double whole = A[i][i];
        for (int j = 0; j <= i; j++) {
            for (int l = 0; l < j; l++) A[i][j] -= A[i][l] * A[j][l];
            if (j < i) A[i][j] /= A[j][j];
        }
        if (!(A[i][i] > 1e-10 * whole)) return -1.0;
        A[i][i] = sqrt(A[i][i]);
        for (int l = 0; l < i; l++) g[i] -= A[i][l] * g[l];
        g[i] /= A[i][i];
        gain += g[i] * g[i];
    }
    for (int i = count - 1; i >= 0; i--) {
        for (int l = i + 1; l < count; l++) g[i] -= A[l][i] * g[l];
        g[i] /= A[i][i];
        longest = fmax(longest, fabs(g[i]));
    }
    const double share = longest > NEWTON_LONGEST ? NEWTON_LONGEST / longest : 1.0;
    double sum = 0.0;
    for (int k = 0; k < K; k++) {
        sum += out->w[k] = m->w[k] * (k < K - 1 ? exp(share * g[k]) : 1.0);
        out->mu[k] = m->mu[k] + share * g[K - 1 + k] * sqrt(m->v[k]);
        out->v[k] = fmax(m->v[k] * exp(share * g[place[3 * k + 2]]), floor);
    }
    for (int k = 0; k < K; k++) out->w[k] /= sum;
    return gain;
}

/* To convergence: Newton's steps where they lead up, else some of accelerated EM. */
static Outcome em_newton(EStep e_step, const void *x, int n, int K, int model, const Rules *rules, Mixture *m) {
    double curvature[9 * NEWTON_K * NEWTON_K];
    Outcome o = {-INFINITY, 0, RUN_UNFINISHED};
    Mixture next;
    Sums sums;
    for (int steps = 0; steps < rules->max_steps; steps += o.steps) {
        double last = -INFINITY, gain = INFINITY;
        copy_mixture(K, m, &next);
        while (gain >= 0.0) {
            const int nearly = gain <= NEWTON_NEARLY; /* the next step would be the square of that */
            memset(curvature, 0, (size_t)(9 * K * K) * sizeof *curvature);
            const double loglik = e_step(x, n, K, &next, nearly ? INFINITY : -INFINITY, &sums, nearly ? NULL : curvature);
            steps++;
            if (loglik >= last) copy_mixture(K, &next, m);
            else if (!nearly) break;
            if (nearly) return (Outcome){fmax(loglik, last), steps, RUN_OK};
            last = loglik;
            gain = newton_step(n, K, model, rules->min_variance, m, &sums, curvature, &next);
        }
        Rules some = *rules;
        some.max_steps = NEWTON_APART;
        o = em_accelerated(e_step, x, n, K, model, &some, m);
        if (o.state != RUN_UNFINISHED) {
            o.steps += steps;
            return o;
        }
        if (steps + o.steps >= rules->max_steps) o.steps += steps;
    }
    return o;
}

/* EM on data that is padded as its E-step asks; to convergence where no share of the likelihood is too small. */
static Outcome em_padded(EStep e_step, const void *x, int n, int K, int model, const Rules *rules, Mixture *m) {
    if (rules->accelerate && rules->clamp && rules->gain_relative == 0.0 && n > EXACT && K <= NEWTON_K)
        return em_newton(e_step, x, n, K, model, rules, m);
    return rules->accelerate ? em_accelerated(e_step, x, n, K, model, rules, m)
                             : em_plain(e_step, x, n, K, model, rules, m);
}

static Outcome em_run(EStep e_step, const double *x, int n, int K, int model, const Rules *rules, Mixture *m) {
    Outcome failed = {0.0, 0, RUN_NO_MEMORY};
    double *copy = padded(x, n);
    if (!copy) return failed;
    Outcome o = em_padded(e_step, copy, n, K, model, rules, m);
    free(copy);
    return o;
}

static double bic_of(double loglik, double log_n, int K, int model) {
    int parameters = K == 1 ? 2 : model == MODEL_E ? 2 * K : 3 * K - 1;
    return 2.0 * loglik - parameters * log_n;
}
