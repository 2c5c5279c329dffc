/* Normal scores and sequential ranks, a row a series, and a continued fraction; normal_scores.py, alarms.py and
 * special.py have the same in Python. Sums run in NumPy's order. */
#define PY_SSIZE_T_CLEAN
#ifndef Py_LIMITED_API
#define Py_LIMITED_API 0x030B0000
#endif
#include <Python.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* For processors that do four operations at once: the same ones in the same order. */
#if defined __x86_64__ && defined __GLIBC__ && __GNUC__ >= 11
#define WIDE __attribute__((target_clones("avx2", "default")))
#else
#define WIDE
#endif
#define AT_ONCE 512 /* values */

/* How many of so many ascending values are less, by halves, without a branch that nobody could foretell. */
static Py_ssize_t below(const double *known, Py_ssize_t many, double x) {
    Py_ssize_t left = 0;
    while (many > 0) {
        const Py_ssize_t half = (many + 1) / 2;
        left += known[left + half - 1] < x ? half : 0;
        many -= half;
    }
    return left;
}

/* The same of four values, side by side. */
static void below_each(const double *known, Py_ssize_t many, const double *x, Py_ssize_t *left) {
    for (int k = 0; k < 4; k++) left[k] = 0;
    while (many > 0) {
        const Py_ssize_t half = (many + 1) / 2;
        for (int k = 0; k < 4; k++) left[k] += known[left[k] + half - 1] < x[k] ? half : 0;
        many -= half;
    }
}

/* Normal scores of n values, equal ones sharing the mean of theirs; table: of the ranks 1, 1.5, ... n. Room: 2 n. */
static void scores_of(const double *x, Py_ssize_t n, const double *table, double *room, double *scores) {
    double *const ordered = room, *const of_place = room + n;
    double sum = 0.0;
    memcpy(ordered, scores, (size_t)n * sizeof *ordered);
    for (Py_ssize_t first = 0, next; first < n; first = next) {
        const double before = sum;
        sum += table[2 * first];
        for (next = first + 1; next < n && ordered[next] == ordered[first]; next++) sum += table[2 * next];
        of_place[first] = next - first > 1 ? (sum - before) / (double)(next - first) : table[2 * first];
    }
    Py_ssize_t i = 0, left[4];
    for (; i + 4 <= n; i += 4) {
        below_each(ordered, n - 1, x + i, left);
        for (int k = 0; k < 4; k++) scores[i + k] = of_place[left[k]];
    }
    for (; i < n; i++) scores[i] = of_place[below(ordered, n - 1, x[i])];
}

typedef struct {
    Py_buffer values, table, found;
} Buffers;

static void release(Buffers *all) {
    Py_buffer *const each = (Py_buffer *)all;
    for (size_t i = 0; i < sizeof *all / sizeof *each; i++)
        if (each[i].obj != NULL) PyBuffer_Release(&each[i]);
}

static const char scores_doc[] =
    "scores(values, n, table, found): normal scores of every row of n values, in the place of the rows in order.";

static PyObject *scores(PyObject *self, PyObject *arguments) {
    Buffers all;
    Py_ssize_t n;
    (void)self;
    memset(&all, 0, sizeof all);
    if (!PyArg_ParseTuple(arguments, "y*ny*w*:scores", &all.values, &n, &all.table, &all.found)) return NULL;
    const Py_ssize_t size = (Py_ssize_t)sizeof(double), count = all.values.len / size;
    PyObject *answer = NULL;
    double *room = NULL;
    if (n < 1 || n > count || count % n || all.table.len != (2 * n - 1) * size || all.found.len != all.values.len)
        PyErr_SetString(PyExc_ValueError, "sizes differ");
    else if ((room = malloc(2 * (size_t)n * sizeof *room)) == NULL)
        PyErr_NoMemory();
    else {
        for (Py_ssize_t at = 0; at < count; at += n)
            scores_of((const double *)all.values.buf + at, n, all.table.buf, room, (double *)all.found.buf + at);
        answer = Py_NewRef(Py_None);
    }
    free(room);
    release(&all);
    return answer;
}

/* How many of the values before are less, and how many equal to it or less, added up: the last ones are all looked at,
 * which is quicker than to keep them in order, as those before are. */
WIDE static void places_of(const double *x, Py_ssize_t n, double *known, long long *found) {
    for (Py_ssize_t start = 0, end; start < n; start = end) {
        end = n - start < AT_ONCE ? n : start + AT_ONCE;
        for (Py_ssize_t i = start; i < end; i++) {
            const double own = x[i];
            long long less = 0, upto = 0;
            for (Py_ssize_t k = start; k < i; k++) {
                less += x[k] < own ? 1LL : 0LL;
                upto += x[k] <= own ? 1LL : 0LL;
            }
            const Py_ssize_t left = below(known, start, own);
            Py_ssize_t right = left;
            for (; right < start && known[right] == own; right++) continue;
            found[i] = less + left + upto + right;
        }
        for (Py_ssize_t i = start; i < end && end < n; i++) {
            const Py_ssize_t place = below(known, i, x[i]);
            memmove(known + place + 1, known + place, (size_t)(i - place) * sizeof *known);
            known[place] = x[i];
        }
    }
}

static const char places_doc[] =
    "places(values, n, found): of every value of a row how many before it are less, twice, and how many are equal.";

static PyObject *places(PyObject *self, PyObject *arguments) {
    Py_buffer values, found;
    Py_ssize_t n;
    (void)self;
    if (!PyArg_ParseTuple(arguments, "y*nw*:places", &values, &n, &found)) return NULL;
    const Py_ssize_t count = values.len / (Py_ssize_t)sizeof(double);
    PyObject *answer = NULL;
    double *known = NULL;
    if (n < 1 || count % n || found.len != count * (Py_ssize_t)sizeof(long long))
        PyErr_SetString(PyExc_ValueError, "sizes differ");
    else if ((known = malloc((size_t)n * sizeof *known)) == NULL)
        PyErr_NoMemory();
    else {
        for (Py_ssize_t at = 0; at < count; at += n)
            places_of((const double *)values.buf + at, n, known, (long long *)found.buf + at);
        answer = Py_NewRef(Py_None);
    }
    free(known);
    PyBuffer_Release(&values);
    PyBuffer_Release(&found);
    return answer;
}

/* Whether so many values from each on lie beyond all but a few of those before it; left: how many, by their count. */
static void beyond_of(const double *x, Py_ssize_t n, Py_ssize_t new, const long long *left, Py_ssize_t before,
                      unsigned char *found) {
    for (Py_ssize_t since = 0; since + new <= n; since++) {
        const Py_ssize_t count = since < before ? since : before;
        const long long most = left[count];
        double low = x[since], high = x[since];
        long long more = 0, less = 0;
        for (Py_ssize_t i = since + 1; i < since + new; i++) {
            low = x[i] < low ? x[i] : low; /* a call of fmin takes longer than all else here */
            high = x[i] > high ? x[i] : high;
        }
        for (Py_ssize_t i = since; i > since - count && (more <= most || less <= most); i--) {
            more += x[i - 1] >= low;
            less += x[i - 1] <= high;
        }
        found[since] = more <= most || less <= most;
    }
}

static const char beyond_doc[] =
    "beyond(values, n, new, left, found): of every value of a row whether so many from it on lie beyond all but a few "
    "before it.";

static PyObject *beyond(PyObject *self, PyObject *arguments) {
    Py_buffer values, left, found;
    Py_ssize_t n, new;
    (void)self;
    if (!PyArg_ParseTuple(arguments, "y*nny*w*:beyond", &values, &n, &new, &left, &found)) return NULL;
    const Py_ssize_t count = values.len / (Py_ssize_t)sizeof(double);
    const Py_ssize_t before = left.len / (Py_ssize_t)sizeof(long long) - 1;
    PyObject *answer = NULL;
    if (n < 1 || new < 1 || before < 0 || count % n || found.len != count)
        PyErr_SetString(PyExc_ValueError, "sizes differ");
    else {
        for (Py_ssize_t at = 0; at < count; at += n)
            beyond_of((const double *)values.buf + at, n, new, left.buf, before, (unsigned char *)found.buf + at);
        answer = Py_NewRef(Py_None);
    }
    PyBuffer_Release(&values);
    PyBuffer_Release(&left);
    PyBuffer_Release(&found);
    return answer;
}

/* The first alarm of a row of scores: the value that raises it, the first one of the new level, whether it is up. */
static void first_alarm_of(const double *score, Py_ssize_t n, Py_ssize_t first, double slack, double dependent,
                           double limit, long long *found) {
    double products = 0.0, squares = 0.0, walk[2] = {0.0, 0.0}, least[2] = {0.0, 0.0};
    Py_ssize_t since[2] = {first, first};
    found[0] = -1;
    for (Py_ssize_t i = 0; i < n; i++) {
        const double before = i ? score[i - 1] : 0.0, product = before * score[i], square = before * before;
        products += product;
        squares += square;
        if (i < first) continue;
        const double power = squares - square, likeness = power > 0.0 ? (products - product) / power : 0.0;
        const double raised = likeness + 2.0 / (double)(i + 1), rho = raised < 0.0 ? 0.0 : raised < dependent ? raised : dependent;
        const double fresh = (score[i] - rho * before) / sqrt(1.0 - rho * rho);
        for (int down = 0; down < 2; down++) {
            walk[down] += (down ? -fresh : fresh) - slack;
            if (walk[down] < least[down]) least[down] = walk[down];
            if (walk[down] - least[down] > limit) {
                found[0] = i;
                found[1] = since[down];
                found[2] = !down;
                return;
            }
            if (walk[down] == least[down]) since[down] = i + 1;
        }
    }
}

static const char walks_doc[] =
    "walks(scores, n, first, slack, dependent, limit, found): of every row what raises the first alarm or -1, the "
    "first value of the new level, whether it is up; see cusum.first_alarms.";

static PyObject *walks(PyObject *self, PyObject *arguments) {
    Py_buffer values, found;
    Py_ssize_t n, first;
    double slack, dependent, limit;
    (void)self;
    if (!PyArg_ParseTuple(arguments, "y*nndddw*:walks", &values, &n, &first, &slack, &dependent, &limit, &found))
        return NULL;
    const Py_ssize_t rows = n > 0 ? values.len / (Py_ssize_t)sizeof(double) / n : 0;
    PyObject *answer = NULL;
    if (rows < 1 || values.len != rows * n * (Py_ssize_t)sizeof(double) ||
        found.len != 3 * rows * (Py_ssize_t)sizeof(long long))
        PyErr_SetString(PyExc_ValueError, "sizes differ");
    else {
        for (Py_ssize_t row = 0; row < rows; row++)
            first_alarm_of((const double *)values.buf + row * n, n, first, slack, dependent, limit,
                           (long long *)found.buf + 3 * row);
        answer = Py_NewRef(Py_None);
    }
    PyBuffer_Release(&values);
    PyBuffer_Release(&found);
    return answer;
}

/* The level m of n continued fractions by Lentz's method; whether one of them moved by more than eps. */
static int level(double m, Py_ssize_t n, double eps, const double *restrict a, const double *restrict b,
                 const double *restrict x, const double *restrict y, const double *restrict start,
                 double *restrict value, double *restrict c, double *restrict d) {
    int moved = 0;
    for (Py_ssize_t i = 0; i < n; i++) {
        const double am = a[i] + m, ratio = x[i] / (am + (m - 1.0)), cross = m * (b[i] - m) * ratio;
        const double numerator = (am - 1.0) * (a[i] + b[i] + (m - 1.0)) * ratio * cross;
        const double term = m + cross + am * (start[i] + m * (1.0 + y[i])) / (am + (m + 1.0));
        d[i] = 1.0 / (term + numerator * d[i]);
        c[i] = term + numerator / c[i];
        const double step = c[i] * d[i];
        value[i] *= step;
        moved |= fabs(step - 1.0) > eps;
    }
    return moved;
}

static const char fraction_doc[] =
    "fraction(table, levels, eps): go on with rows a, b, x, y, start, value, c, d until no value moves; see special.py.";

static PyObject *fraction(PyObject *self, PyObject *arguments) {
    Py_buffer table;
    Py_ssize_t levels;
    double eps;
    (void)self;
    if (!PyArg_ParseTuple(arguments, "w*nd:fraction", &table, &levels, &eps)) return NULL;
    const Py_ssize_t n = table.len / (Py_ssize_t)(8 * sizeof(double));
    double *const v = table.buf;
    for (Py_ssize_t m = 1; m <= levels; m++)
        if (!level((double)m, n, eps, v, v + n, v + 2 * n, v + 3 * n, v + 4 * n, v + 5 * n, v + 6 * n, v + 7 * n)) break;
    PyBuffer_Release(&table);
    return Py_NewRef(Py_None);
}

static PyMethodDef methods[] = {
    {"beyond", beyond, METH_VARARGS, beyond_doc},
    {"fraction", fraction, METH_VARARGS, fraction_doc},
    {"places", places, METH_VARARGS, places_doc},
    {"scores", scores, METH_VARARGS, scores_doc},
    {"walks", walks, METH_VARARGS, walks_doc},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef_Slot slots[] = {{0, NULL}};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT, "_scores", "Kernel of normal scores and special functions.", 0, methods, slots, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__scores(void) { return PyModuleDef_Init(&module); }
