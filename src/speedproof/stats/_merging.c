/* Two ascending rows merged; merging.py has the same in NumPy. */
#define PY_SSIZE_T_CLEAN
#ifndef Py_LIMITED_API
#define Py_LIMITED_API 0x030B0000
#endif
#include <Python.h>

#include <stdint.h>
#include <string.h>

/* Without branches, which of values in no order are mispredicted half of the time. */
static void places(const double *x, Py_ssize_t n, const double *y, Py_ssize_t m, int x_first, int64_t *of_x,
                   int64_t *of_y) {
    Py_ssize_t i = 0, j = 0;
    while (i < n && j < m) {
        const double a = x[i], b = y[j];
        const Py_ssize_t from_x = (a < b) | (x_first & (a == b));
        of_x[i] = j;
        of_y[j] = i;
        i += from_x;
        j += 1 - from_x;
    }
    for (; i < n; i++) of_x[i] = m;
    for (; j < m; j++) of_y[j] = n;
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
    "merged(x, y, rows, x_first, of_x, of_y): how many y come before each x and x before each y.";

static PyObject *merged(PyObject *self, PyObject *arguments) {
    Buffers all;
    Py_ssize_t rows;
    int x_first;
    (void)self;
    memset(&all, 0, sizeof all);
    if (!PyArg_ParseTuple(arguments, "y*y*npw*w*:merged", &all.x, &all.y, &rows, &x_first, &all.of_x, &all.of_y))
        return NULL;
    const Py_ssize_t size = (Py_ssize_t)sizeof(double), n_all = all.x.len / size, m_all = all.y.len / size;
    PyObject *answer = NULL;
    if (rows < 1 || n_all % rows || m_all % rows || all.of_x.len != n_all * size || all.of_y.len != m_all * size)
        PyErr_SetString(PyExc_ValueError, "sizes differ");
    else {
        const Py_ssize_t n = n_all / rows, m = m_all / rows;
        for (Py_ssize_t row = 0; row < rows; row++)
            places((const double *)all.x.buf + row * n, n, (const double *)all.y.buf + row * m, m, x_first,
                   (int64_t *)all.of_x.buf + row * n, (int64_t *)all.of_y.buf + row * m);
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
