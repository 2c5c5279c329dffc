/* Expectation-maximisation for Gaussian mixtures of one variable.
 *
 * Model: f(x) = sum_k w_k N(x; mu_k, v_k); "E" has one common variance, "V" one variance a component.
 * One EM step (Dempster, Laird & Rubin 1977; McLachlan & Peel 2000, section 3.2):
 *   E:  r_ik = w_k N(x_i; mu_k, v_k) / f(x_i)
 *   M:  w_k = S0_k / n,  mu_k = mu_k + S1_k / S0_k,  v_k = S2_k / S0_k - (S1_k / S0_k)^2       (V)
 *                                                    v   = sum_k (S2_k - S1_k^2 / S0_k) / n    (E)
 *   with S0, S1, S2 = sum_i r_ik (1, d, d^2), d = x_i - mu_k: moments about the old mean lose no digits.
 * Steps are accelerated by squared extrapolation (Varadhan & Roland 2008, scheme SqS3); the last ones of a climb to
 * convergence are Newton's.
 *
 * Three kernels: _em_data.h runs one EM with its vector lanes over the data, in double or in single precision;
 * _em_runs.h runs many at once in single precision, one a lane. All do the same operations in the same
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
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "_em_steps.h"

#define JOIN_(a, b) a##_##b
#define JOIN(a, b) JOIN_(a, b)
#define NAME(x) JOIN(x, ISA)

#if defined(__x86_64__)
#define ISA avx512
#define TARGET __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl")))
#define BYTES 64
#define MM _mm512
#define BITS(a) (SINGLE ? _mm512_movepi32_mask((__m512i)(a)) : _mm512_movepi64_mask((__m512i)(a)))
#include "_em_isa.h"
#define ISA avx2
#define TARGET __attribute__((target("avx2,fma")))
#define BYTES 32
#define MM _mm256
#define BITS(a) (uint32_t)(SINGLE ? _mm256_movemask_ps((__m256)(a)) : _mm256_movemask_pd((__m256d)(a)))
#include "_em_isa.h"
#endif
#define ISA plain
#define TARGET
#define BYTES 16
#include "_em_isa.h"

typedef void (*Density)(const double *, int, int, const Mixture *, double *);
typedef int (*EmRuns)(const float *, RunQueue, const Rules *);

typedef struct {
    const char *name;
    EStep e_step, e_scout, e_cells;
    EmRuns runs;
    Density density;
} Kernels;

static const Kernels KERNELS[] = {
#if defined(__x86_64__)
    {"avx512", e_step_d_avx512, e_step_f_avx512, e_cells_avx512, em_runs_avx512, density_avx512},
    {"avx2", e_step_d_avx2, e_step_f_avx2, e_cells_avx2, em_runs_avx2, density_avx2},
#endif
    {"plain", e_step_d_plain, e_step_f_plain, e_cells_plain, em_runs_plain, density_plain},
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

/* Counts are products of two int and a few small factors, which 64 bits hold; times the item they may not. */
static int sized(const Py_buffer *b, uint64_t count, size_t item, const char *what) {
    const uint64_t bytes = (uint64_t)b->len;
    if (bytes % item == 0 && bytes / item == count) return 1;
    PyErr_Format(PyExc_ValueError, "%s: %zd bytes, expected %llu times %zu", what, b->len, (unsigned long long)count,
                 item);
    return 0;
}

/* StoppingRules of em.py, as a tuple: a converter for PyArg_ParseTuple. */
static int rules_from(PyObject *fields, void *to) {
    Rules *rules = to;
    rules->needed = -INFINITY;
    rules->hope = HOPE;
    if (!PyTuple_Check(fields)) {
        PyErr_SetString(PyExc_TypeError, "rules must be a tuple");
        return 0;
    }
    return PyArg_ParseTuple(fields, "dddiiiii:rules", &rules->gain_relative, &rules->gain_absolute, &rules->min_variance,
                            &rules->max_steps, &rules->accelerate, &rules->extra_step, &rules->clamp, &rules->give_up);
}

/* A kernel and a number of steps that there are; sets an error otherwise. */
static int possible(int others, int kernel, int max_steps) {
    if (others && kernel >= 0 && kernel < KERNEL_COUNT && usable(kernel) && max_steps <= MOST_STEPS) return 1;
    PyErr_SetString(PyExc_ValueError, "sizes, K_max, max_steps or kernel out of range");
    return 0;
}

/* What a function returns: None, or NULL with an error set; `done` is 0 when memory ran out. */
static PyObject *ended(void *buffers, size_t size, int valid, int done) {
    Py_buffer *const each = buffers;
    for (size_t i = 0; i < size / sizeof *each; i++) PyBuffer_Release(&each[i]);
    if (!valid) return NULL;
    if (!done) return PyErr_NoMemory();
    return Py_NewRef(Py_None); /* headers of 3.12 let Py_RETURN_NONE take no reference, which 3.11 needs */
}

/* Every line of starts indexes the sample: classes begin at 0, do not descend, and end at n. */
static int sound_starts(const int32_t *starts, int rows, int n, int K_max) {
    for (int row = 0; row < rows; row++)
        for (int K = 2; K <= K_max; starts += K + 1, K++) {
            int sound = starts[0] == 0 && starts[K] == n;
            for (int k = 0; k < K; k++) sound &= starts[k + 1] >= starts[k];
            if (sound) continue;
            PyErr_SetString(PyExc_ValueError, "starts: classes must begin at 0, ascend and end at n");
            return 0;
        }
    return 1;
}

PyDoc_STRVAR(search_doc,
             "search(x, starts, loglik, parameters, best, steps, rows, n, K_max, rules, single, K_always,"
             " patience, kernel)\n\nFit every K and model to each sorted row of x; see em.py.");

static PyObject *search(PyObject *self, PyObject *args) {
    struct {
        Py_buffer x, starts, loglik, parameters, best, steps;
    } b;
    Search s;
    Rules rules;
    int single, kernel, done = 1;
    (void)self;
    if (!PyArg_ParseTuple(args, "y*y*w*w*w*w*iiiO&iiii", &b.x, &b.starts, &b.loglik, &b.parameters, &b.best, &b.steps,
                          &s.rows, &s.n, &s.K_max, rules_from, &rules, &single, &s.K_always, &s.patience, &kernel))
        return NULL;
    int valid = possible(s.rows >= 0 && s.n >= 1 && s.K_max >= 1 && s.K_max <= K_LIMIT, kernel, rules.max_steps);
    if (valid) {
        const uint64_t rows = (uint64_t)s.rows, cells = rows * (uint64_t)s.K_max * 2;
        const uint64_t width = (uint64_t)start_offset(s.K_max + 1);
        s.shared_starts = (uint64_t)b.starts.len == width * sizeof(int32_t);
        valid = sized(&b.x, rows * (uint64_t)s.n, sizeof(double), "x") &&
                sized(&b.starts, s.shared_starts ? width : rows * width, sizeof(int32_t), "starts") &&
                sized(&b.loglik, cells, sizeof(double), "loglik") &&
                sized(&b.parameters, rows * 3 * (uint64_t)s.K_max, sizeof(double), "parameters") &&
                sized(&b.best, rows * 2, sizeof(int32_t), "best") &&
                sized(&b.steps, cells, sizeof(int32_t), "steps") &&
                sound_starts(b.starts.buf, s.shared_starts ? 1 : s.rows, s.n, s.K_max);
    }
    if (valid) {
        s.x = b.x.buf;
        s.log_n = log((double)s.n);
        s.starts = b.starts.buf;
        s.loglik = b.loglik.buf;
        s.best_parameters = b.parameters.buf;
        s.best = b.best.buf;
        s.steps = b.steps.buf;
        Py_BEGIN_ALLOW_THREADS
        if (single) {
            Rules redo = rules;
            redo.max_steps = 10 * rules.max_steps;
            done = search_in_single(&s, &rules, &redo, &KERNELS[kernel]);
        } else {
            done = search_in_double(&s, &rules, &KERNELS[kernel]);
        }
        Py_END_ALLOW_THREADS
    }
    return ended(&b, sizeof b, valid, done);
}

PyDoc_STRVAR(climb_doc, "climb(x, mixtures, places, loglik, steps, jobs, size, n, width, rules, kernel)\n\nEM on one sorted"
                        " sample from many mixtures; x: n values, or size means, counts and squares of cells; see em.py.");

static PyObject *climb(PyObject *self, PyObject *args) {
    struct {
        Py_buffer x, mixtures, places, loglik, steps;
    } b;
    Rules rules;
    int jobs, size, n, width, kernel, done = 1;
    (void)self;
    if (!PyArg_ParseTuple(args, "y*w*y*w*w*iiiiO&i", &b.x, &b.mixtures, &b.places, &b.loglik, &b.steps, &jobs, &size, &n,
                          &width, rules_from, &rules, &kernel))
        return NULL;
    const int valid = possible(jobs >= 0 && size >= 1 && size <= n && width >= 1 && width <= K_LIMIT, kernel,
                               rules.max_steps) &&
                      sized(&b.x, (uint64_t)size * (size < n ? 3 : 1), sizeof(double), "x") &&
                      sized(&b.mixtures, (uint64_t)jobs * 3 * (uint64_t)width, sizeof(double), "mixtures") &&
                      sized(&b.places, (uint64_t)jobs * 2, sizeof(int32_t), "places") &&
                      sized(&b.loglik, (uint64_t)jobs, sizeof(double), "loglik") &&
                      sized(&b.steps, (uint64_t)jobs, sizeof(int32_t), "steps");
    if (valid) {
        double *to = b.mixtures.buf, *values = b.loglik.buf;
        const int32_t *place = b.places.buf;
        int32_t *made = b.steps.buf;
        Py_BEGIN_ALLOW_THREADS
        Cells cells;
        const EStep e_step = size < n ? KERNELS[kernel].e_cells : KERNELS[kernel].e_step;
        double *const x = size < n ? padded_cells(b.x.buf, size, &cells) : padded(b.x.buf, n);
        done = x != NULL;
        for (int j = 0; done && j < jobs; j++, to += 3 * width, place += 2) {
            const int K = place[0] < 1 ? 1 : place[0] > width ? width : place[0];
            const size_t bytes = (size_t)K * sizeof *to;
            Mixture m = {0};
            memcpy(m.w, to, bytes);
            memcpy(m.mu, to + width, bytes);
            memcpy(m.v, to + 2 * width, bytes);
            const Outcome o = em_padded(e_step, size < n ? (const void *)&cells : x, n, K,
                                        place[1] == MODEL_V ? MODEL_V : MODEL_E, &rules, &m);
            memcpy(to, m.w, bytes);
            memcpy(to + width, m.mu, bytes);
            memcpy(to + 2 * width, m.v, bytes);
            values[j] = o.state == RUN_SINGULAR ? NAN : o.loglik;
            made[j] = o.state == RUN_UNFINISHED ? -o.steps : o.steps;
        }
        free(x);
        Py_END_ALLOW_THREADS
    }
    return ended(&b, sizeof b, valid, done);
}

PyDoc_STRVAR(table_doc, "table(x, few, loglik, mixtures, converged, n, K_max, floor, apart, give_up, kernel)\n\nThe best"
                        " mixture of one sorted sample for every K and model; x: values, or means, counts and squares of"
                        " cells, with a few quantiles beside; see search.py.");

static PyObject *table(PyObject *self, PyObject *args) {
    struct {
        Py_buffer x, few, loglik, mixtures, converged;
    } b;
    int n, K_max, give_up, kernel, done = 1;
    double floor, apart;
    (void)self;
    if (!PyArg_ParseTuple(args, "y*y*w*w*w*iiddii", &b.x, &b.few, &b.loglik, &b.mixtures, &b.converged, &n, &K_max, &floor, &apart,
                          &give_up, &kernel))
        return NULL;
    const Py_ssize_t few = b.few.len / (Py_ssize_t)sizeof(double);
    const Py_ssize_t size = b.x.len / (Py_ssize_t)sizeof(double) / (few ? 3 : 1), least = few ? few : size;
    const int valid = possible(size >= 2 && size <= n && few <= SMALL && K_max >= 1 && K_max <= K_LIMIT && K_max <= least &&
                                   floor > 0.0, kernel, 0) &&
                      sized(&b.x, (uint64_t)size * (few ? 3 : 1), sizeof(double), "x") &&
                      sized(&b.few, (uint64_t)few, sizeof(double), "few") &&
                      sized(&b.loglik, (uint64_t)K_max * 2, sizeof(double), "loglik") &&
                      sized(&b.mixtures, (uint64_t)K_max * 6 * (uint64_t)K_max, sizeof(double), "mixtures") &&
                      sized(&b.converged, (uint64_t)K_max * 2, sizeof(int32_t), "converged");
    if (valid) {
        Py_BEGIN_ALLOW_THREADS
        done = search_table(&KERNELS[kernel], b.x.buf, (int)size, few ? b.few.buf : NULL, (int)few, n, K_max, floor, apart,
                            give_up, b.loglik.buf, b.mixtures.buf, b.converged.buf);
        Py_END_ALLOW_THREADS
    }
    return ended(&b, sizeof b, valid, done);
}

PyDoc_STRVAR(ks_doc, "ks(x, parameters, best, out, rows, n, K_max)\n\nDistance of each sorted row to its mixture.");

static PyObject *ks(PyObject *self, PyObject *args) {
    struct {
        Py_buffer x, parameters, best, out;
    } b;
    int rows, n, K_max;
    (void)self;
    if (!PyArg_ParseTuple(args, "y*y*y*w*iii", &b.x, &b.parameters, &b.best, &b.out, &rows, &n, &K_max)) return NULL;
    const int valid = possible(rows >= 0 && n >= 1 && K_max >= 1 && K_max <= K_LIMIT, KERNEL_COUNT - 1, 0) &&
                      sized(&b.x, (uint64_t)rows * (uint64_t)n, sizeof(double), "x") &&
                      sized(&b.parameters, (uint64_t)rows * 3 * (uint64_t)K_max, sizeof(double), "parameters") &&
                      sized(&b.best, (uint64_t)rows * 2, sizeof(int32_t), "best") &&
                      sized(&b.out, (uint64_t)rows, sizeof(double), "out");
    if (valid) {
        const double *data = b.x.buf, *p = b.parameters.buf;
        const int32_t *chosen = b.best.buf;
        double *to = b.out.buf;
        Py_BEGIN_ALLOW_THREADS
        for (int row = 0; row < rows; row++, data += n, p += 3 * K_max) {
            const int K = chosen[2 * (size_t)row];
            to[row] = K < 1 || K > K_max ? NAN : ks_distance(data, n, K, p, p + K_max, p + 2 * K_max);
        }
        Py_END_ALLOW_THREADS
    }
    return ended(&b, sizeof b, valid, 1);
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
