/* Two ascending rows merged; merging.py has the same in NumPy. */
#define PY_SSIZE_T_CLEAN
#ifndef Py_LIMITED_API
#define Py_LIMITED_API 0x030B0000
#endif
#include <Python.h>

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    const double *x, *y;
    int64_t *of_x, *of_y;
    Py_ssize_t n, m;
    int x_first;
} Rows;

/* Whether the i-th x comes before the j-th y. */
static inline Py_ssize_t before(const Rows *all, Py_ssize_t i, Py_ssize_t j) {
    const double a = all->x[i], b = all->y[j];
    return (a < b) | (all->x_first & (a == b));
}

/* How many x are among the first so many of both. */
static Py_ssize_t among_first(const Rows *all, Py_ssize_t count) {
    Py_ssize_t low = count > all->m ? count - all->m : 0, high = count < all->n ? count : all->n;
    while (low < high) {
        const Py_ssize_t middle = low + (high - low) / 2;
        if (before(all, middle, count - middle - 1)) low = middle + 1;
        else high = middle;
    }
    return low;
}

/* A step from (i, j); what is written of the other one is written again. */
#define STEP(i, j)                                \
    do {                                          \
        const Py_ssize_t is_x = before(all, i, j); \
        all->of_x[i] = j;                         \
        all->of_y[j] = i;                         \
        i += is_x;                                \
        j += 1 - is_x;                            \
    } while (0)

static void finish(const Rows *all, Py_ssize_t i, Py_ssize_t j, Py_ssize_t n, Py_ssize_t m) {
    while (i < n && j < m) STEP(i, j);
    for (; i < n; i++) all->of_x[i] = m;
    for (; j < m; j++) all->of_y[j] = n;
}

/* Without branches, which of values in no order are mispredicted half of the time; both halves at once, as each step
 * waits for the one before it. */
static void places(const Rows *all) {
    const Py_ssize_t half = (all->n + all->m) / 2, n = among_first(all, half), m = half - n;
    Py_ssize_t i = 0, j = 0, k = n, l = m;
    while (i < n && j < m && k < all->n && l < all->m) {
        STEP(i, j);
        STEP(k, l);
    }
    finish(all, i, j, n, m);
    finish(all, k, l, all->n, all->m);
}

#define FEW 32 /* ratios that are sorted */

/* How many ratios x / y are up to gamma; upto: of each y, how many x. */
static Py_ssize_t ratios_upto(const double *x, Py_ssize_t n, const double *y, Py_ssize_t m, double gamma,
                              Py_ssize_t *upto) {
    Py_ssize_t i = 0, count = 0;
    for (Py_ssize_t j = 0; j < m; j++) {
        const double reach = gamma * y[j];
        while (i < n && x[i] <= reach) i++;
        upto[j] = i;
        count += i;
    }
    return count;
}

static int compared(const void *one, const void *other) {
    const double a = *(const double *)one, b = *(const double *)other;
    return (a > b) - (a < b);
}

/* The k-th smallest ratio of positive ascending values, from 0; ratios: room for all, places: for 2 m.
 *
 * As in pair_ratios.py an interval is narrowed by interpolating the counts at its ends, and by halving it. */
static double order_statistic(const double *x, Py_ssize_t n, const double *y, Py_ssize_t m, Py_ssize_t k,
                              double *ratios, Py_ssize_t *places) {
    const double slack = 8 * DBL_EPSILON;
    double low = x[0] / y[m - 1] * (1 - slack), high = x[n - 1] / y[0] * (1 + slack);
    Py_ssize_t below = 0, upto = n * m;
    for (int step = 0; step < 64 && upto - below > FEW; step++) {
        const double share = ((double)k + 0.5 - (double)below) / (double)(upto - below);
        const double middle = step % 3 < 2 ? low + (high - low) * share : sqrt(low) * sqrt(high);
        if (!(low < middle && middle < high)) continue;
        const Py_ssize_t reached = ratios_upto(x, n, y, m, middle, places);
        if (reached > k) high = middle, upto = reached;
        else low = middle, below = reached;
    }
    /* Products are rounded: ratios this close to the ends are kept inside. */
    below = ratios_upto(x, n, y, m, low * (1 - slack), places);
    ratios_upto(x, n, y, m, high * (1 + slack), places + m);
    Py_ssize_t count = 0;
    for (Py_ssize_t j = 0; j < m; j++)
        for (Py_ssize_t i = places[j]; i < places[m + j]; i++) ratios[count++] = x[i] / y[j];
    if (k < below || k - below >= count) { /* ratios so small that slack vanishes in their rounding: all of them */
        below = count = 0;
        for (Py_ssize_t j = 0; j < m; j++)
            for (Py_ssize_t i = 0; i < n; i++) ratios[count++] = x[i] / y[j];
    }
    qsort(ratios, (size_t)count, sizeof *ratios, compared);
    return ratios[k - below];
}

typedef struct {
    Py_buffer x, y, of_x, of_y;
} Buffers;

static void release(Buffers *all) {
    Py_buffer *const each = (Py_buffer *)all;
    for (size_t i = 0; i < sizeof *all / sizeof *each; i++)
        if (each[i].obj != NULL) PyBuffer_Release(&each[i]);
}

static const char merged_doc[] =
    "merged(x, n, y, m, x_first, of_x, of_y): how many y come before each x and x before each y.";

static PyObject *merged(PyObject *self, PyObject *arguments) {
    Buffers all;
    Py_ssize_t n, m;
    int x_first;
    (void)self;
    memset(&all, 0, sizeof all);
    if (!PyArg_ParseTuple(arguments, "y*ny*npw*w*:merged", &all.x, &n, &all.y, &m, &x_first, &all.of_x, &all.of_y))
        return NULL;
    const Py_ssize_t size = (Py_ssize_t)sizeof(double), n_all = all.x.len / size, m_all = all.y.len / size;
    PyObject *answer = NULL;
    if (n < 1 || m < 1 || n_all % n || m_all % m || n_all / n != m_all / m || all.of_x.len != n_all * size ||
        all.of_y.len != m_all * size)
        PyErr_SetString(PyExc_ValueError, "sizes differ");
    else {
        Rows one = {all.x.buf, all.y.buf, all.of_x.buf, all.of_y.buf, n, m, x_first};
        for (Py_ssize_t at = 0; at < n_all; at += n) {
            places(&one);
            one.x += n, one.of_x += n, one.y += m, one.of_y += m;
        }
        answer = Py_NewRef(Py_None);
    }
    release(&all);
    return answer;
}

static const char ratios_doc[] =
    "ratios(x, n, y, m, ranks, found): order statistics of the ratios of positive ascending values, two a row.";

static PyObject *ratios(PyObject *self, PyObject *arguments) {
    Buffers all;
    Py_ssize_t n, m;
    (void)self;
    memset(&all, 0, sizeof all);
    if (!PyArg_ParseTuple(arguments, "y*ny*ny*w*:ratios", &all.x, &n, &all.y, &m, &all.of_x, &all.of_y)) return NULL;
    const Py_ssize_t size = (Py_ssize_t)sizeof(double), rows = all.of_x.len / (2 * size);
    const int64_t *const ranks = all.of_x.buf;
    PyObject *answer = NULL;
    void *room = NULL;
    int right = n > 0 && m > 0 && n <= PY_SSIZE_T_MAX / 16 / m && all.x.len == rows * n * size &&
                all.y.len == rows * m * size && all.of_x.len == 2 * rows * size && all.of_y.len == all.of_x.len;
    for (Py_ssize_t i = 0; right && i < 2 * rows; i++) right = ranks[i] >= 0 && ranks[i] < n * m;
    if (!right)
        PyErr_SetString(PyExc_ValueError, "sizes differ");
    else if ((room = malloc((size_t)(n * m + 2 * m) * sizeof(double))) == NULL)
        PyErr_NoMemory();
    else {
        const double *x = all.x.buf, *y = all.y.buf;
        double *found = all.of_y.buf, *some = room;
        for (Py_ssize_t row = 0; row < rows; row++, x += n, y += m)
            for (Py_ssize_t i = 2 * row; i < 2 * row + 2; i++)
                found[i] = order_statistic(x, n, y, m, (Py_ssize_t)ranks[i], some, (Py_ssize_t *)(some + n * m));
        answer = Py_NewRef(Py_None);
    }
    free(room);
    release(&all);
    return answer;
}

static PyMethodDef methods[] = {
    {"merged", merged, METH_VARARGS, merged_doc},
    {"ratios", ratios, METH_VARARGS, ratios_doc},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef_Slot slots[] = {{0, NULL}};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT, "_merging", "Kernel of merging.py.", 0, methods, slots, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__merging(void) { return PyModuleDef_Init(&module); }
