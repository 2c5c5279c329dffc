/* Expectation-maximisation for Gaussian mixtures of one variable.
 *
 * Model: f(x) = sum_k w_k N(x; mu_k, v_k); "E" has one common variance, "V" one variance a component.
 * One EM step (Dempster, Laird & Rubin 1977; McLachlan & Peel 2000, section 3.2):
 *   E:  r_ik = w_k N(x_i; mu_k, v_k) / f(x_i)
 *   M:  w_k = S0_k / n,  mu_k = mu_k + S1_k / S0_k,  v_k = S2_k / S0_k - (S1_k / S0_k)^2       (V)
 *                                                    v   = sum_k (S2_k - S1_k^2 / S0_k) / n    (E)
 *   with S0, S1, S2 = sum_i r_ik (1, d, d^2), d = x_i - mu_k: moments about the old mean lose no digits.
 * Steps are accelerated by squared extrapolation (Varadhan & Roland 2008, scheme SqS3).
 *
 * Three kernels: _em_data.h runs one EM in double precision with its vector lanes over the data, _em_scout.h in single;
 * _em_runs.h runs many at once in single precision, one a lane. Both do the same operations in the same
 * order whatever the width of the machine's vectors, so the instruction sets with fused multiply-add give
 * the same bits; "plain" has none, rounds once more, and differs in the last digits. (The compiler must not
 * fuse multiply and add by itself: -ffp-contract=off.)
 */
#define PY_SSIZE_T_CLEAN
#ifndef Py_LIMITED_API
#define Py_LIMITED_API 0x030B0000
#endif
#include <Python.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define K_LIMIT 32
#define BLOCK 16 /* observations that an E-step takes at once */
#define SMALL 256 /* observations on which single precision scouts */
#define MOST_STEPS 100000000 /* ten times as many, for what single precision leaves, fit an int */
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

typedef struct {
    double gain_relative; /* stop when the gain in log-likelihood <= gain_relative (1 + |loglik|) + ... */
    double gain_absolute; /* ... this */
    double min_variance;  /* a variance at or below it makes the model not estimable, or ... */
    int clamp;            /* ... is raised to it */
    int max_steps;
    int accelerate;
    int extra_step;      /* keep one more M-step when it still moves the weights (mclust) */
    double finish_gain;  /* then take the models that may still win on to this gain (0: do not) */
    double finish_margin; /* they are those whose BIC is within this of the best */
    int give_up;          /* end a climb that is far below what its model needs to win ... */
    double needed;        /* ... which is this log-likelihood */
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

/* Squared extrapolation of t0 -> t1 -> t2 (Varadhan & Roland 2008, equations 5 and 9, step length S3);
 * stays at t2 where that leads out of the mixtures. The step is at most *longest, which grows fourfold when
 * it was reached, so that the first steps, which settle on the local maximum to climb, are short. */
static void extrapolate(int K, const Mixture *t0, const Mixture *t1, const Mixture *t2, double min_variance,
                        double *longest, Mixture *out) {
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
    copy_mixture(K, t2, out);
    double a = vv > 0.0 ? sqrt(rr / vv) : 1.0;
    if (a >= *longest) {
        a = *longest;
        *longest *= 4.0;
    }
    if (!(a > 1.0)) return;
    Mixture t;
#define MOVE(field)                                                                             \
    (t0->field[k] + 2.0 * a * (t1->field[k] - t0->field[k]) +                                   \
     a * a * ((t2->field[k] - t1->field[k]) - (t1->field[k] - t0->field[k])))
    for (int k = 0; k < K; k++) {
        t.w[k] = MOVE(w);
        t.mu[k] = MOVE(mu);
        t.v[k] = MOVE(v);
        if (!(t.w[k] > 0.0) || !(t.v[k] >= min_variance)) return;
    }
#undef MOVE
    copy_mixture(K, &t, out);
}

/* Responsibilities and their moments; returns the log-likelihood. */
typedef double (*EStep)(const void *x, int n, int K, const Mixture *m, Sums *sums);

/* A copy that ends in whole blocks; NULL without memory. */
static double *padded(const double *x, int n) {
    size_t size = ((size_t)n + BLOCK - 1) / BLOCK * BLOCK;
    double *copy = malloc(size * sizeof *copy);
    for (size_t i = 0; copy && i < size; i++) copy[i] = x[i < (size_t)n ? i : (size_t)n - 1];
    return copy;
}

/* Plain EM, as mclust stops it. */
static Outcome em_plain(EStep e_step, const void *x, int n, int K, int model, const Rules *rules, Mixture *m) {
    Outcome o = {0.0, 0, RUN_UNFINISHED};
    Sums sums;
    Mixture next;
    double last = NAN;
    while (o.steps < rules->max_steps) {
        o.loglik = e_step(x, n, K, m, &sums);
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

/* Whether a climb that is `gain` a step steep is too far below what it needs. The square root of the gain is about
 * the slope: what is left to climb grows with it, and with E, whose climbs rest on ledges, farther. */
static int hopeless(const Rules *rules, int model, int steps, double loglik, double gain, double needed) {
    const double reach = model == MODEL_E ? 60.0 : 30.0;
    return rules->give_up && steps >= 6 && needed - loglik > 8.0 + reach * sqrt(fmax(gain, 0.0));
}

/* EM accelerated: at each start t0 two steps t0 -> t1 -> t2, then an extrapolation as the next start; a start
 * that is less likely than the t1 before it is replaced by that t2. */
static Outcome em_accelerated(EStep e_step, const void *x, int n, int K, int model, const Rules *rules,
                              Mixture *m) {
    Outcome o = {-INFINITY, 0, RUN_UNFINISHED};
    Sums sums;
    Mixture t0, t1, t2;
    double longest = 1.0;
    while (o.steps < rules->max_steps) {
        double start = e_step(x, n, K, m, &sums);
        int sound = m_step(n, K, model, m, &sums, rules, &t1);
        o.steps++;
        if (o.steps > 1 && (!sound || start < o.loglik)) {
            copy_mixture(K, &t2, m);
            longest = 1.0 > longest / 16 ? 1.0 : longest / 16;
            start = e_step(x, n, K, m, &sums);
            sound = m_step(n, K, model, m, &sums, rules, &t1);
            o.steps++;
        }
        if (sound) {
            o.loglik = e_step(x, n, K, &t1, &sums);
            sound = m_step(n, K, model, &t1, &sums, rules, &t2);
            o.steps++;
        }
        if (!sound) {
            o.state = RUN_SINGULAR;
            return o;
        }
        if (o.loglik - start <= rules->gain_relative * (1.0 + fabs(o.loglik)) + rules->gain_absolute) {
            copy_mixture(K, &t1, m);
            o.state = RUN_OK;
            return o;
        }
        if (hopeless(rules, model, o.steps, o.loglik, o.loglik - start, rules->needed)) return o;
        copy_mixture(K, m, &t0);
        extrapolate(K, &t0, &t1, &t2, rules->min_variance, &longest, m);
    }
    return o;
}

/* EM on data that is padded as its E-step asks. */
static Outcome em_padded(EStep e_step, const void *x, int n, int K, int model, const Rules *rules, Mixture *m) {
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

static double bic_of(double loglik, int n, int K, int model) {
    int parameters = K == 1 ? 2 : model == MODEL_E ? 2 * K : 3 * K - 1;
    return 2.0 * loglik - parameters * log((double)n);
}

#define JOIN_(a, b) a##_##b
#define JOIN(a, b) JOIN_(a, b)
#define NAME(x) JOIN(x, ISA)

#if defined(__x86_64__)
#define ISA avx512
#define TARGET __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl")))
#define DOUBLES 8
#define FLOATS 16
#define MAX_D(a, b) ((VecD_avx512)_mm512_max_pd((__m512d)(a), (__m512d)(b)))
#define MAX_F(a, b) ((VecF_avx512)_mm512_max_ps((__m512)(a), (__m512)(b)))
#define SQRT_F(a) ((VecF_avx512)_mm512_sqrt_ps((__m512)(a)))
#define ANY_F(a) (_mm512_movepi32_mask((__m512i)(a)) != 0)
#define FMA_D(a, b, c) ((VecD_avx512)_mm512_fmadd_pd((__m512d)(a), (__m512d)(b), (__m512d)(c)))
#define FMA_F(a, b, c) ((VecF_avx512)_mm512_fmadd_ps((__m512)(a), (__m512)(b), (__m512)(c)))
#include "_em_data.h"
#include "_em_runs.h"
#include "_em_scout.h"
#undef ISA
#undef TARGET
#undef DOUBLES
#undef FLOATS
#undef MAX_D
#undef MAX_F
#undef FMA_D
#undef FMA_F
#undef ANY_F
#undef SQRT_F
#define ISA avx2
#define TARGET __attribute__((target("avx2,fma")))
#define DOUBLES 4
#define FLOATS 8
#define MAX_D(a, b) ((VecD_avx2)_mm256_max_pd((__m256d)(a), (__m256d)(b)))
#define MAX_F(a, b) ((VecF_avx2)_mm256_max_ps((__m256)(a), (__m256)(b)))
#define SQRT_F(a) ((VecF_avx2)_mm256_sqrt_ps((__m256)(a)))
#define ANY_F(a) (_mm256_movemask_ps((__m256)(a)) != 0)
#define FMA_D(a, b, c) ((VecD_avx2)_mm256_fmadd_pd((__m256d)(a), (__m256d)(b), (__m256d)(c)))
#define FMA_F(a, b, c) ((VecF_avx2)_mm256_fmadd_ps((__m256)(a), (__m256)(b), (__m256)(c)))
#include "_em_data.h"
#include "_em_runs.h"
#include "_em_scout.h"
#undef ISA
#undef TARGET
#undef DOUBLES
#undef FLOATS
#undef MAX_D
#undef MAX_F
#undef FMA_D
#undef FMA_F
#undef ANY_F
#undef SQRT_F
#endif
#define ISA plain
#define TARGET
#define DOUBLES 2
#define FLOATS 4
#include "_em_data.h"
#include "_em_runs.h"
#include "_em_scout.h"
#undef ISA
#undef TARGET
#undef DOUBLES
#undef FLOATS

typedef void (*Density)(const double *, int, int, const Mixture *, double *);
typedef int (*EmRuns)(const float *, int, int, const RunQueue *, const Rules *);

typedef struct {
    const char *name;
    EStep e_step, e_scout;
    EmRuns runs;
    Density density;
} Kernels;

static const Kernels KERNELS[] = {
#if defined(__x86_64__)
    {"avx512", e_step_avx512, e_scout_avx512, em_runs_avx512, density_avx512},
    {"avx2", e_step_avx2, e_scout_avx2, em_runs_avx2, density_avx2},
#endif
    {"plain", e_step_plain, e_scout_plain, em_runs_plain, density_plain},
};
#define KERNEL_COUNT ((int)(sizeof KERNELS / sizeof KERNELS[0]))

static int usable(int kernel) {
#if defined(__x86_64__)
    if (kernel == 0)
        return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
               __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
    if (kernel == 1) return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#endif
    (void)kernel;
    return 1;
}

#include "_em_search.h"
#include "_em_table.h"

/* ---- Python ---------------------------------------------------------------------------------------- */

static int sized(const Py_buffer *b, size_t count, size_t item, const char *what) {
    if ((size_t)b->len == count * item) return 1;
    PyErr_Format(PyExc_ValueError, "%s: %zd bytes, expected %zu", what, b->len, count * item);
    return 0;
}

/* Every line of starts indexes the sample: classes begin at 0, do not descend, and end at n. */
static int sound_starts(const int32_t *starts, int rows, int n, int K_max) {
    for (int row = 0; row < rows; row++)
        for (int K = 2; K <= K_max; starts += K + 1, K++) {
            if (starts[0] != 0 || starts[K] != n) return 0;
            for (int k = 0; k < K; k++)
                if (starts[k + 1] < starts[k]) return 0;
        }
    return 1;
}

PyDoc_STRVAR(search_doc,
             "search(x, starts, loglik, parameters, best, steps, rows, n, K_max, rules, single, K_always,"
             " patience, kernel)\n\nFit every K and model to each sorted row of x; see em.py.");

static PyObject *search(PyObject *self, PyObject *args) {
    Py_buffer x, starts, loglik, parameters, best, steps;
    Search s;
    Rules rules;
    int single, kernel, done = 1;
    (void)self;
    rules.needed = -INFINITY;
    if (!PyArg_ParseTuple(args, "y*y*w*w*w*w*iii(dddiiiiddi)iiii", &x, &starts, &loglik, &parameters, &best,
                          &steps, &s.rows, &s.n, &s.K_max, &rules.gain_relative, &rules.gain_absolute,
                          &rules.min_variance, &rules.clamp, &rules.max_steps, &rules.accelerate, &rules.extra_step,
                          &rules.finish_gain, &rules.finish_margin, &rules.give_up, &single, &s.K_always, &s.patience, &kernel))
        return NULL;
    int valid = s.rows >= 0 && s.n >= 1 && s.K_max >= 1 && s.K_max <= K_LIMIT && kernel >= 0 &&
                kernel < KERNEL_COUNT && usable(kernel) && rules.max_steps <= MOST_STEPS;
    if (!valid) PyErr_SetString(PyExc_ValueError, "rows, n, K_max, max_steps or kernel out of range");
    if (valid) {
        size_t rows = (size_t)s.rows, cells = rows * (size_t)s.K_max * 2;
        size_t width = (size_t)start_offset(s.K_max + 1);
        s.shared_starts = (size_t)starts.len == width * sizeof(int32_t);
        valid = sized(&x, rows * (size_t)s.n, sizeof(double), "x") &&
                sized(&starts, s.shared_starts ? width : rows * width, sizeof(int32_t), "starts") &&
                sized(&loglik, cells, sizeof(double), "loglik") &&
                sized(&parameters, rows * 3 * (size_t)s.K_max, sizeof(double), "parameters") &&
                sized(&best, rows * 2, sizeof(int32_t), "best") &&
                sized(&steps, cells, sizeof(int32_t), "steps");
    }
    if (valid) {
        valid = sound_starts(starts.buf, s.shared_starts ? 1 : s.rows, s.n, s.K_max);
        if (!valid) PyErr_SetString(PyExc_ValueError, "starts: classes must begin at 0, ascend and end at n");
    }
    if (valid) {
        s.x = x.buf;
        s.starts = starts.buf;
        s.loglik = loglik.buf;
        s.best_parameters = parameters.buf;
        s.best = best.buf;
        s.steps = steps.buf;
        Py_BEGIN_ALLOW_THREADS
        if (single) {
            Rules redo = rules;
            redo.max_steps = 10 * rules.max_steps;
            done = search_in_single(&s, &rules, &redo, &KERNELS[kernel]);
        } else {
            done = search_in_double(&s, &rules, &KERNELS[kernel]);
        }
        Py_END_ALLOW_THREADS
        if (!done) PyErr_NoMemory();
    }
    PyBuffer_Release(&x);
    PyBuffer_Release(&starts);
    PyBuffer_Release(&loglik);
    PyBuffer_Release(&parameters);
    PyBuffer_Release(&best);
    PyBuffer_Release(&steps);
    if (!valid || !done) return NULL;
    Py_RETURN_NONE;
}

PyDoc_STRVAR(climb_doc, "climb(x, mixtures, places, loglik, steps, jobs, n, width, rules, kernel)\n\nEM on one sorted"
                        " sample from many mixtures; see em.py.");

static PyObject *climb(PyObject *self, PyObject *args) {
    Py_buffer x, mixtures, places, loglik, steps;
    Rules rules;
    int jobs, n, width, kernel, valid;
    (void)self;
    rules.needed = -INFINITY;
    if (!PyArg_ParseTuple(args, "y*w*y*w*w*iii(dddiiiiddi)i", &x, &mixtures, &places, &loglik, &steps, &jobs, &n, &width,
                          &rules.gain_relative, &rules.gain_absolute, &rules.min_variance, &rules.clamp,
                          &rules.max_steps, &rules.accelerate, &rules.extra_step, &rules.finish_gain,
                          &rules.finish_margin, &rules.give_up, &kernel))
        return NULL;
    valid = jobs >= 0 && n >= 1 && width >= 1 && width <= K_LIMIT && kernel >= 0 && kernel < KERNEL_COUNT && usable(kernel) &&
            rules.max_steps <= MOST_STEPS;
    if (!valid) PyErr_SetString(PyExc_ValueError, "jobs, n, width, max_steps or kernel out of range");
    valid = valid && sized(&x, (size_t)n, sizeof(double), "x") &&
            sized(&mixtures, (size_t)jobs * 3 * (size_t)width, sizeof(double), "mixtures") &&
            sized(&places, (size_t)jobs * 2, sizeof(int32_t), "places") &&
            sized(&loglik, (size_t)jobs, sizeof(double), "loglik") &&
            sized(&steps, (size_t)jobs, sizeof(int32_t), "steps");
    int done = 1;
    if (valid) {
        double *to = mixtures.buf, *values = loglik.buf;
        const int32_t *place = places.buf;
        int32_t *made = steps.buf;
        Py_BEGIN_ALLOW_THREADS
        for (int j = 0; done && j < jobs; j++, to += 3 * width, place += 2) {
            const int K = place[0] < 1 ? 1 : place[0] > width ? width : place[0];
            Mixture m = {0};
            memcpy(m.w, to, (size_t)K * sizeof *to);
            memcpy(m.mu, to + width, (size_t)K * sizeof *to);
            memcpy(m.v, to + 2 * width, (size_t)K * sizeof *to);
            Outcome o = em_run(KERNELS[kernel].e_step, x.buf, n, K, place[1] == MODEL_V ? MODEL_V : MODEL_E, &rules, &m);
            memcpy(to, m.w, (size_t)K * sizeof *to);
            memcpy(to + width, m.mu, (size_t)K * sizeof *to);
            memcpy(to + 2 * width, m.v, (size_t)K * sizeof *to);
            values[j] = o.state == RUN_SINGULAR ? NAN : o.loglik;
            made[j] = o.state == RUN_UNFINISHED ? -o.steps : o.steps;
            done = o.state != RUN_NO_MEMORY;
        }
        Py_END_ALLOW_THREADS
        if (!done) PyErr_NoMemory();
    }
    PyBuffer_Release(&x);
    PyBuffer_Release(&mixtures);
    PyBuffer_Release(&places);
    PyBuffer_Release(&loglik);
    PyBuffer_Release(&steps);
    if (!valid || !done) return NULL;
    Py_RETURN_NONE;
}

PyDoc_STRVAR(table_doc, "table(x, small, loglik, mixtures, converged, n, K_max, floor, apart, kernel)\n\nThe best mixture of"
                        " one sorted sample for every K and model; see search.py.");

static PyObject *table(PyObject *self, PyObject *args) {
    Py_buffer x, small, loglik, mixtures, converged;
    int n, K_max, kernel, done = 1;
    double floor, apart;
    (void)self;
    if (!PyArg_ParseTuple(args, "y*y*w*w*w*iiddi", &x, &small, &loglik, &mixtures, &converged, &n, &K_max, &floor,
                          &apart, &kernel))
        return NULL;
    const Py_ssize_t size = x.len / (Py_ssize_t)sizeof(double), few = small.len / (Py_ssize_t)sizeof(double);
    int valid = size >= 2 && size <= n && few >= 2 && few <= SMALL && few <= size && K_max >= 1 && K_max <= K_LIMIT &&
                K_max <= size && floor > 0.0 && kernel >= 0 && kernel < KERNEL_COUNT && usable(kernel);
    if (!valid) PyErr_SetString(PyExc_ValueError, "sizes, K_max, floor or kernel out of range");
    valid = valid && sized(&x, (size_t)size, sizeof(double), "x") &&
            sized(&small, (size_t)few, sizeof(double), "small") &&
            sized(&loglik, (size_t)K_max * 2, sizeof(double), "loglik") &&
            sized(&mixtures, (size_t)K_max * 6 * (size_t)K_max, sizeof(double), "mixtures") &&
            sized(&converged, (size_t)K_max * 2, sizeof(int32_t), "converged");
    if (valid) {
        Py_BEGIN_ALLOW_THREADS
        Table *t = calloc(1, sizeof *t);
        double *points = padded(x.buf, (int)size), *some = padded(small.buf, (int)few);
        done = t && points && some;
        if (done) {
            *t = (Table){.kernels = &KERNELS[kernel], .x = points, .small = some, .size = (int)size,
                         .small_size = (int)few, .n = n, .K_max = K_max, .floor = floor, .apart = apart};
            done = search_table(t);
            hand_out(t, loglik.buf, mixtures.buf, converged.buf);
        }
        free(points);
        free(some);
        free(t);
        Py_END_ALLOW_THREADS
        if (!done) PyErr_NoMemory();
    }
    PyBuffer_Release(&x);
    PyBuffer_Release(&small);
    PyBuffer_Release(&loglik);
    PyBuffer_Release(&mixtures);
    PyBuffer_Release(&converged);
    if (!valid || !done) return NULL;
    Py_RETURN_NONE;
}

PyDoc_STRVAR(ks_doc, "ks(x, parameters, best, out, rows, n, K_max)\n\nDistance of each sorted row to its mixture.");

static PyObject *ks(PyObject *self, PyObject *args) {
    Py_buffer x, parameters, best, out;
    int rows, n, K_max;
    (void)self;
    if (!PyArg_ParseTuple(args, "y*y*y*w*iii", &x, &parameters, &best, &out, &rows, &n, &K_max)) return NULL;
    int valid = rows >= 0 && n >= 1 && K_max >= 1 && K_max <= K_LIMIT;
    if (!valid) PyErr_SetString(PyExc_ValueError, "rows, n or K_max out of range");
    valid = valid && sized(&x, (size_t)rows * (size_t)n, sizeof(double), "x") &&
            sized(&parameters, (size_t)rows * 3 * (size_t)K_max, sizeof(double), "parameters") &&
            sized(&best, (size_t)rows * 2, sizeof(int32_t), "best") &&
            sized(&out, (size_t)rows, sizeof(double), "out");
    if (valid) {
        const double *data = x.buf, *p = parameters.buf;
        const int32_t *chosen = best.buf;
        double *to = out.buf;
        Py_BEGIN_ALLOW_THREADS
        for (int row = 0; row < rows; row++, data += n, p += 3 * K_max) {
            int K = chosen[2 * row];
            to[row] = K < 1 || K > K_max ? NAN : ks_distance(data, n, K, p, p + K_max, p + 2 * K_max);
        }
        Py_END_ALLOW_THREADS
    }
    PyBuffer_Release(&x);
    PyBuffer_Release(&parameters);
    PyBuffer_Release(&best);
    PyBuffer_Release(&out);
    if (!valid) return NULL;
    Py_RETURN_NONE;
}

PyDoc_STRVAR(kernels_doc, "kernels()\n\nNames of all kernels, None for one that this machine cannot run; best first.");

static PyObject *kernels(PyObject *self, PyObject *args) {
    (void)self;
    (void)args;
    PyObject *names = PyTuple_New(KERNEL_COUNT);
    for (int i = 0; names && i < KERNEL_COUNT; i++) {
        PyObject *name = usable(i) ? PyUnicode_FromString(KERNELS[i].name) : Py_NewRef(Py_None);
        if (!name || PyTuple_SetItem(names, i, name) < 0) {
            Py_DECREF(names);
            return NULL;
        }
    }
    return names;
}

static PyMethodDef methods[] = {
    {"search", search, METH_VARARGS, search_doc},
    {"climb", climb, METH_VARARGS, climb_doc},
    {"table", table, METH_VARARGS, table_doc},
    {"ks", ks, METH_VARARGS, ks_doc},
    {"kernels", kernels, METH_NOARGS, kernels_doc},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef_Slot slots[] = {{0, NULL}};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT, "_em", "EM kernels; em.py is their face.", 0, methods, slots, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__em(void) { return PyModuleDef_Init(&module); }
