/* Two ascending rows merged; merging.py has the same in NumPy. */
#define PY_SSIZE_T_CLEAN
#ifndef Py_LIMITED_API
#define Py_LIMITED_API 0x030B0000
#endif
#include <Python.h>

#include <stdint.h>
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

static PyMethodDef methods[] = {
    {"merged", merged, METH_VARARGS, merged_doc},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef_Slot slots[] = {{0, NULL}};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT, "_merging", "Kernel of merging.py.", 0, methods, slots, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__merging(void) { return PyModuleDef_Init(&module); }
