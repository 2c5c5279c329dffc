/* The best steps between levels whose noise is an autoregression, a row a series; levels.py has the same in NumPy. */
#define PY_SSIZE_T_CLEAN
#ifndef Py_LIMITED_API
#define Py_LIMITED_API 0x030B0000
#endif
#include <Python.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LANES 4

/* The least of so many costs; the first place that has it. */
static double least_of(const double *costs, Py_ssize_t many, Py_ssize_t *from) {
    double lanes[LANES];
    Py_ssize_t a = 0;
    for (int lane = 0; lane < LANES; lane++) lanes[lane] = INFINITY;
    for (; a + LANES <= many; a += LANES)
        for (int lane = 0; lane < LANES; lane++)
            lanes[lane] = costs[a + lane] < lanes[lane] ? costs[a + lane] : lanes[lane];
    double best = INFINITY;
    for (; a < many; a++) best = costs[a] < best ? costs[a] : best;
    for (int lane = 0; lane < LANES; lane++) best = lanes[lane] < best ? lanes[lane] : best;
    for (a = 0; a < many && costs[a] > best; a++) continue;
    *from = a < many ? a : 0;
    return best;
}

/* Least sums of squares of k = 0 .. most steps at given places, of an autoregression that begins anew with each level;
 * room: 2 (n + 1) + (most + 6) (count + 2) doubles, choice: (most + 1) (count + 2) places. */
static void partition(const double *x, Py_ssize_t n, const long long *places, Py_ssize_t count, double rho,
                      Py_ssize_t most, Py_ssize_t margin, double *room, Py_ssize_t *choice, double *sums,
                      long long *splits) {
    const Py_ssize_t width = count + 2;
    double *const total = room, *const square = total + n + 1, *const place = square + n + 1;
    double *const own = place + width, *const start = own + width, *const base = start + width;
    double *const costs = base + width, *const least = costs + width;
    const double more = 2.0 * rho / (1.0 - rho);
    double sum = 0.0, squares = 0.0;
    total[0] = square[0] = 0.0;
    for (Py_ssize_t i = 0; i < n; i++) {
        const double fresh = i ? x[i] - rho * x[i - 1] : 0.0;
        sum += fresh;
        squares += fresh * fresh;
        total[i + 1] = sum;
        square[i + 1] = squares;
    }
    for (Py_ssize_t a = 0; a <= count; a++) { /* of a level that starts at a place, but for what depends on its end */
        const Py_ssize_t i = a ? (Py_ssize_t)places[a - 1] : 0;
        own[a] = (1.0 - rho * rho) * x[i] * x[i] - square[i + 1];
        start[a] = (1.0 + rho) * x[i] - total[i + 1];
        place[a] = (double)i;
    }
    for (Py_ssize_t k = 0; k <= most; k++) {
        for (Py_ssize_t a = 1; k && a <= count; a++) base[a] = least[(k - 1) * width + a] + own[a];
        base[0] = k ? INFINITY : own[0];
        choice[k * width] = 0; /* where no steps fit */
        Py_ssize_t starts = 0;
        for (Py_ssize_t b = k < most ? 1 : count + 1; b <= count + 1; b++) {
            const Py_ssize_t end = b <= count ? (Py_ssize_t)places[b - 1] : n;
            const double upto = total[end], length = (double)end + more;
            while (starts < b && (double)end - place[starts] >= (double)margin) starts++;
            const Py_ssize_t many = k ? starts : starts > 0;
            for (Py_ssize_t a = 0; a < many; a++) {
                const double of_level = start[a] + upto;
                costs[a] = base[a] - of_level * of_level / (length - place[a]);
            }
            least[k * width + b] = least_of(costs, many, &choice[k * width + b]) + square[end];
        }
        sums[k] = least[k * width + count + 1];
        for (Py_ssize_t q = k, b = count + 1; q >= 1; q--) {
            b = choice[q * width + b];
            splits[k * most + q - 1] = b ? places[b - 1] : 0;
        }
    }
}

typedef struct {
    Py_buffer scores, places, grid, sums, splits;
} Buffers;

static void release(Buffers *all) {
    Py_buffer *const each = (Py_buffer *)all;
    for (size_t i = 0; i < sizeof *all / sizeof *each; i++)
        if (each[i].obj != NULL) PyBuffer_Release(&each[i]);
}

static const char levels_doc[] =
    "levels(scores, n, places, grid, most, margin, sums, splits): of every row and dependence the least sums of squares "
    "with 0 to most steps, and where those are.";

static PyObject *levels(PyObject *self, PyObject *arguments) {
    Buffers all;
    Py_ssize_t n, most, margin;
    (void)self;
    memset(&all, 0, sizeof all);
    if (!PyArg_ParseTuple(arguments, "y*ny*y*nnw*w*:levels", &all.scores, &n, &all.places, &all.grid, &most, &margin,
                          &all.sums, &all.splits))
        return NULL;
    const Py_ssize_t size = (Py_ssize_t)sizeof(double), total = all.scores.len / size;
    const Py_ssize_t rows = n > 0 ? total / n : 0, grid = all.grid.len / size;
    const Py_ssize_t count = rows > 0 ? all.places.len / (Py_ssize_t)sizeof(long long) / rows : 0;
    const long long *const places = all.places.buf;
    PyObject *answer = NULL;
    double *room = NULL;
    int inside = 1;
    for (Py_ssize_t i = 0; i < rows * count; i++)
        inside &= places[i] > 0 && places[i] < n && (i % count == 0 || places[i - 1] < places[i]);
    if (rows < 1 || total % n || margin < 1 || most < 1 || most > n || count >= n || !inside ||
        all.places.len != rows * count * (Py_ssize_t)sizeof(long long) ||
        all.sums.len != rows * grid * (most + 1) * size ||
        all.splits.len != rows * grid * (most + 1) * most * (Py_ssize_t)sizeof(long long))
        PyErr_SetString(PyExc_ValueError, "sizes differ");
    else {
        const size_t width = (size_t)count + 2, states = (size_t)(most + 1) * width;
        const size_t doubles = 2 * (size_t)(n + 1) + 5 * width + states;
        room = malloc(doubles * sizeof *room + states * sizeof(Py_ssize_t));
        if (room == NULL)
            PyErr_NoMemory();
        else {
            Py_ssize_t *const choice = (Py_ssize_t *)(room + doubles);
            for (Py_ssize_t row = 0; row < rows; row++)
                for (Py_ssize_t g = 0; g < grid; g++) {
                    const Py_ssize_t at = row * grid + g;
                    partition((const double *)all.scores.buf + row * n, n, places + row * count, count,
                              ((const double *)all.grid.buf)[g], most, margin, room, choice,
                              (double *)all.sums.buf + at * (most + 1),
                              (long long *)all.splits.buf + at * (most + 1) * most);
                }
            answer = Py_NewRef(Py_None);
        }
    }
    free(room);
    release(&all);
    return answer;
}

static PyMethodDef methods[] = {
    {"levels", levels, METH_VARARGS, levels_doc},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef_Slot slots[] = {{0, NULL}};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT, "_levels", "Kernel of levels.py.", 0, methods, slots, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__levels(void) { return PyModuleDef_Init(&module); }
