/* The best steps between levels whose noise is an autoregression, a row a series; levels.py has the same in NumPy. */
#define PY_SSIZE_T_CLEAN
#ifndef Py_LIMITED_API
#define Py_LIMITED_API 0x030B0000
#endif
#include <Python.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

/* For processors that do four operations at once: the same ones in the same order. */
#if defined __x86_64__ && defined __GLIBC__ && __GNUC__ >= 11
#define WIDE __attribute__((target_clones("avx2", "default")))
#else
#define WIDE
#endif
#ifdef __GNUC__
#define INLINE static inline __attribute__((always_inline))
#else
#define INLINE static inline
#endif

/* The least of sums of so many rows, four at most, and one that is read once; all are filled up to whole fours. */
INLINE void least_of(const double *bases, Py_ssize_t width, Py_ssize_t rows, const double *parts, Py_ssize_t many,
                     double *least) {
#ifdef __SSE2__
    __m128d low[4], high[4];
    for (Py_ssize_t k = 0; k < rows; k++) low[k] = high[k] = _mm_set1_pd(INFINITY);
    for (Py_ssize_t a = 0; a < many; a += 4) {
        const __m128d one = _mm_loadu_pd(parts + a), two = _mm_loadu_pd(parts + a + 2);
        for (Py_ssize_t k = 0; k < rows; k++) {
            low[k] = _mm_min_pd(_mm_add_pd(one, _mm_loadu_pd(bases + k * width + a)), low[k]);
            high[k] = _mm_min_pd(_mm_add_pd(two, _mm_loadu_pd(bases + k * width + a + 2)), high[k]);
        }
    }
    for (Py_ssize_t k = 0; k < rows; k++) {
        low[k] = _mm_min_pd(low[k], high[k]);
        _mm_store_sd(least + k, _mm_min_sd(low[k], _mm_unpackhi_pd(low[k], low[k])));
    }
#else
    for (Py_ssize_t k = 0; k < rows; k++) least[k] = INFINITY;
    for (Py_ssize_t a = 0; a < many; a++)
        for (Py_ssize_t k = 0; k < rows; k++) {
            const double sum = bases[k * width + a] + parts[a];
            least[k] = sum < least[k] ? sum : least[k];
        }
#endif
}

/* The same of any number of rows. */
INLINE void all_least_of(const double *bases, Py_ssize_t width, Py_ssize_t rows, const double *parts, Py_ssize_t many,
                         double *least) {
    Py_ssize_t k = 0;
    for (; k + 4 <= rows; k += 4) least_of(bases + k * width, width, 4, parts, many, least + k);
    if (rows - k == 3) least_of(bases + k * width, width, 3, parts, many, least + k);
    if (rows - k == 2) least_of(bases + k * width, width, 2, parts, many, least + k);
    if (rows - k == 1) least_of(bases + k * width, width, 1, parts, many, least + k);
}

/* What a sum of squares is more by, nothing or less, where so many levels of the given starts end at one place. */
static inline void parts_of(const double *start, const double *place, double upto, double length, Py_ssize_t many,
                            double *parts) {
    for (Py_ssize_t a = 0; a < many; a++) {
        const double of_level = start[a] + upto;
        parts[a] = -(of_level * of_level / (length - place[a]));
    }
}

/* The first place that has the least cost, or 0 where no steps fit. */
static inline Py_ssize_t place_of(const double *base, const double *parts, Py_ssize_t many, double least) {
    Py_ssize_t a = 0;
    while (a < many && !(base[a] + parts[a] == least)) a++;
    return a < many ? a : 0;
}

/* Sums of what is new in values of an autoregression, and of its squares: of the values before each, for four
 * coefficients side by side. */
WIDE static void sum_up(const double *x, Py_ssize_t n, const double *rho, double *restrict total,
                        double *restrict square) {
    for (Py_ssize_t g = 0; g < 8; g++) total[g] = square[g] = 0.0;
    for (Py_ssize_t g = 0; g < 4; g += 2) {
        double one = 0.0, two = 0.0, of_one = 0.0, of_two = 0.0;
        for (Py_ssize_t i = 1; i < n; i++) {
            const double fresh = x[i] - rho[g] * x[i - 1], more = x[i] - rho[g + 1] * x[i - 1];
            total[4 * (i + 1) + g] = one += fresh;
            total[4 * (i + 1) + g + 1] = two += more;
            square[4 * (i + 1) + g] = of_one += fresh * fresh;
            square[4 * (i + 1) + g + 1] = of_two += more * more;
        }
    }
}

/* Least sums of squares of k = 0 .. most steps at given places, of an autoregression that begins anew with each level,
 * from every fourth of those sums; room: (count + 5) (3 most + 6) doubles, within: count + 2 places. */
WIDE static void partition(const double *x, Py_ssize_t n, const long long *places, Py_ssize_t count, double rho,
                           const double *total, const double *square, Py_ssize_t most, Py_ssize_t margin, double *room,
                           Py_ssize_t *within, double *sums, long long *splits) {
    const Py_ssize_t width = count + 5; /* with what fills up fours */
    double *const place = room, *const own = place + width, *const start = own + width, *const parts = start + width;
    double *const least = parts + width, *const bases = least + (most + 1) * width;
    double *const parted = bases + most * width; /* least sums but for what depends on their ends */
    const double more = 2.0 * rho / (1.0 - rho);
    for (Py_ssize_t a = 0; a <= count; a++) { /* of a level that starts at a place, but for what depends on its end */
        const Py_ssize_t i = a ? (Py_ssize_t)places[a - 1] : 0;
        own[a] = (1.0 - rho * rho) * x[i] * x[i] - square[4 * (i + 1)];
        start[a] = (1.0 + rho) * x[i] - total[4 * (i + 1)];
        place[a] = (double)i;
    }
    for (Py_ssize_t a = count + 1; a < width; a++) start[a] = place[a] = 0.0;
    for (Py_ssize_t i = 0; i < most * width; i++) bases[i] = INFINITY; /* no step is at the start or too near an end */
    for (Py_ssize_t b = 1, starts = 0; b <= count + 1; b++) { /* the best last level that ends at a place */
        const Py_ssize_t end = b <= count ? (Py_ssize_t)places[b - 1] : n;
        for (; starts < b && (double)end - place[starts] >= (double)margin; starts++)
            for (Py_ssize_t k = 0; starts && k < most; k++)
                bases[k * width + starts] = least[k * width + starts] + own[starts];
        within[b] = starts;
        const Py_ssize_t upto = b <= count ? most - 1 : most, fours = (starts + 3) / 4 * 4;
        if (upto)
            parts_of(start, place, total[4 * end], (double)end + more, fours, parts);
        else
            parts[0] = -((start[0] + total[4 * end]) * (start[0] + total[4 * end]) / ((double)end + more));
        least[b] = (starts ? own[0] + parts[0] : INFINITY) + square[4 * end];
        all_least_of(bases, width, upto, parts, fours, parted + b * most);
        for (Py_ssize_t k = 1; k <= upto; k++) least[k * width + b] = parted[b * most + k - 1] + square[4 * end];
    }
    sums[0] = least[count + 1];
    for (Py_ssize_t k = 1; k <= most; k++) { /* of all, the parts of the last place are there */
        sums[k] = least[k * width + count + 1];
        splits[k * most + k - 1] =
            place_of(bases + (k - 1) * width, parts, within[count + 1], parted[(count + 1) * most + k - 1]);
    }
    for (Py_ssize_t k = 1; k <= most; k++)
        for (Py_ssize_t q = k, b = (Py_ssize_t)splits[k * most + k - 1]; q >= 1; q--) {
            splits[k * most + q - 1] = b ? places[b - 1] : 0;
            if (b && q > 1) {
                const Py_ssize_t end = (Py_ssize_t)places[b - 1];
                parts_of(start, place, total[4 * end], (double)end + more, (within[b] + 3) / 4 * 4, parts);
                b = place_of(bases + (q - 2) * width, parts, within[b], parted[b * most + q - 2]);
            } else
                b = 0;
        }
}

/* Put the value of a rank, from 0, in its place, and no larger ones before it, without a branch that nobody could
 * foretell; after C. A. R. Hoare, Algorithm 65: Find. */
static double value_of_rank(double *x, Py_ssize_t n, Py_ssize_t rank) {
    for (Py_ssize_t first = 0, last = n;;) {
        const double pivot = x[first + (last - first) / 2];
        Py_ssize_t less = first;
        for (Py_ssize_t i = first; i < last; i++) {
            const double one = x[i];
            x[i] = x[less];
            x[less] = one;
            less += one < pivot;
        }
        if (rank < less) {
            last = less;
            continue;
        }
        first = less;
        for (Py_ssize_t i = less; i < last; i++) {
            const double one = x[i];
            x[i] = x[first];
            x[first] = one;
            first += !(pivot < one);
        }
        if (rank < first) return pivot;
    }
}

/* The median of values, which it puts into another order. */
static double median_of(double *x, Py_ssize_t n) {
    const Py_ssize_t half = n / 2;
    const double above = value_of_rank(x, n, half);
    if (n % 2) return above;
    double below = x[0];
    for (Py_ssize_t i = 1; i < half; i++) below = x[i] > below ? x[i] : below;
    return 0.5 * (below + above);
}

/* What a contrast of one to `width` values beside as many as that weighs, width after width that doubles; before them
 * the numbers from 0 to n. */
static void weights_of(Py_ssize_t n, Py_ssize_t margin, double *weights) {
    for (Py_ssize_t i = 0; i <= n; i++) *weights++ = (double)i;
    for (Py_ssize_t width = margin; width <= n / 2; width *= 2)
        for (Py_ssize_t i = 1; i <= width; i++) *weights++ = sqrt((double)(i * width) / (double)(i + width));
}

/* Of every place from margin to n - margin: the largest contrast of the means beside it, over widths that double;
 * of places with a neighbour of a larger one a thousandth. Room: 2 n + 2 doubles. */
WIDE static void contrasts_of(const double *x, Py_ssize_t n, Py_ssize_t margin, const double *number, double *room,
                              double *found) {
    const double *weight = number + n;
    double *const sums = room, *const own = sums + n + 1;
    const Py_ssize_t last = n - margin;
    const double share[2] = {1.0, 1e-3};
    sums[0] = 0.0;
    for (Py_ssize_t i = 0; i < n; i++) sums[i + 1] = sums[i] + x[i];
    for (Py_ssize_t at = margin; at <= last; at++) found[at - margin] = 0.0;
    own[margin - 1] = own[last + 1] = -1.0; /* below every contrast */
    for (Py_ssize_t width = margin; width <= n / 2; weight += width, width *= 2) {
        const double many = (double)width, whole = weight[width];
        Py_ssize_t at = margin;
        for (; at < width; at++)
            own[at] = fabs((sums[at + width] - sums[at]) / many - sums[at] / number[at]) * weight[at];
        for (; at <= n - width; at++)
            own[at] = fabs((sums[at + width] - sums[at]) / many - (sums[at] - sums[at - width]) / many) * whole;
        for (; at <= last; at++)
            own[at] = fabs((sums[n] - sums[at]) / number[n - at] - (sums[at] - sums[at - width]) / many) *
                      weight[n - at];
        for (at = margin; at <= last; at++) {
            const int lower = (own[at] < own[at - 1]) | (own[at] <= own[at + 1]);
            const double contrast = own[at] * share[lower]; /* a branch that nobody could foretell costs more */
            found[at - margin] = contrast > found[at - margin] ? contrast : found[at - margin];
        }
    }
}

/* Where so many of the largest of values are, the first of equal ones; room: as many. */
static void places_of_largest(const double *x, Py_ssize_t n, Py_ssize_t most, double *room, long long *places) {
    memcpy(room, x, (size_t)n * sizeof *room);
    const double least = value_of_rank(room, n, n - most);
    Py_ssize_t equal = most;
    for (Py_ssize_t i = 0; i < n; i++) equal -= x[i] > least;
    for (Py_ssize_t i = 0; i < n; i++)
        if (x[i] > least || (x[i] == least && equal-- > 0)) *places++ = i;
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
        const size_t width = (size_t)count + 5, sums = 4 * (size_t)(n + 1);
        const size_t doubles = 2 * sums + width * (size_t)(3 * most + 6);
        room = malloc(doubles * sizeof *room + width * sizeof(Py_ssize_t));
        if (room == NULL)
            PyErr_NoMemory();
        else {
            Py_ssize_t *const within = (Py_ssize_t *)(room + doubles);
            for (Py_ssize_t row = 0; row < rows; row++)
                for (Py_ssize_t g = 0; g < grid; g++) {
                    const Py_ssize_t at = row * grid + g;
                    const double *const x = (const double *)all.scores.buf + row * n, *const rho = all.grid.buf;
                    double four[4];
                    for (Py_ssize_t i = 0; i < 4; i++) four[i] = rho[g + i < grid ? g + i : g];
                    if (g % 4 == 0) sum_up(x, n, four, room, room + sums);
                    partition(x, n, places + row * count, count, rho[g], room + g % 4, room + sums + g % 4, most,
                              margin, room + 2 * sums, within, (double *)all.sums.buf + at * (most + 1),
                              (long long *)all.splits.buf + at * (most + 1) * most);
                }
            answer = Py_NewRef(Py_None);
        }
    }
    free(room);
    release(&all);
    return answer;
}

static const char places_doc[] =
    "places(scores, n, margin, places): of every row where its largest local contrasts are, see step_places.";

static PyObject *places(PyObject *self, PyObject *arguments) {
    Py_buffer scores, places;
    Py_ssize_t n, margin;
    (void)self;
    if (!PyArg_ParseTuple(arguments, "y*nnw*:places", &scores, &n, &margin, &places)) return NULL;
    const Py_ssize_t size = (Py_ssize_t)sizeof(double), rows = n > 0 ? scores.len / size / n : 0;
    const Py_ssize_t most = rows > 0 ? places.len / (Py_ssize_t)sizeof(long long) / rows : 0;
    const Py_ssize_t inside = n - 2 * margin + 1;
    PyObject *answer = NULL;
    double *room = NULL;
    if (margin < 1 || most < 1 || most > inside || scores.len != rows * n * size ||
        places.len != rows * most * (Py_ssize_t)sizeof(long long))
        PyErr_SetString(PyExc_ValueError, "sizes differ");
    else if ((room = malloc((5 * (size_t)n + 3) * sizeof *room)) == NULL) /* all widths together are below n */
        PyErr_NoMemory();
    else {
        double *const number = room + 2 * n + 2, *const found = room + 4 * n + 3;
        weights_of(n, margin, number);
        for (Py_ssize_t row = 0; row < rows; row++) {
            long long *const where = (long long *)places.buf + row * most;
            contrasts_of((const double *)scores.buf + row * n, n, margin, number, room, found);
            places_of_largest(found, inside, most, room, where);
            for (Py_ssize_t i = 0; i < most; i++) where[i] += margin;
        }
        answer = Py_NewRef(Py_None);
    }
    free(room);
    PyBuffer_Release(&scores);
    PyBuffer_Release(&places);
    return answer;
}

static const char rise_doc[] =
    "rise(values, begin, begin, begin, end, end, end): the most of their squares that one of nine rises explains, see "
    "change_points.py.";

static PyObject *rise(PyObject *self, PyObject *arguments) {
    Py_buffer values;
    Py_ssize_t at[6];
    (void)self;
    if (!PyArg_ParseTuple(arguments, "y*nnnnnn:rise", &values, &at[0], &at[1], &at[2], &at[3], &at[4], &at[5]))
        return NULL;
    const Py_ssize_t n = values.len / (Py_ssize_t)sizeof(double);
    const double *const x = values.buf, of_all = (double)n;
    double sums[6] = {0.0}, moments[6] = {0.0}, sum = 0.0, moment = 0.0, best = 0.0;
    for (Py_ssize_t i = 0; i <= n; i++) {
        for (size_t k = 0; k < 6; k++)
            if (at[k] == i) {
                sums[k] = sum;
                moments[k] = moment;
            }
        if (i < n) {
            sum += x[i];
            moment += (double)i * x[i];
        }
    }
    for (size_t a = 0; a < 3; a++)
        for (size_t b = 3; b < 6; b++) {
            if (at[b] - at[a] < 2) continue;
            const double m = (double)(at[b] - at[a]), after = (double)(n - at[b]);
            const double along =
                (moments[b] - moments[a] - (double)at[a] * (sums[b] - sums[a])) / m - sums[b];
            const double mean = ((m - 1.0) / 2.0 + after) / of_all;
            const double explained =
                along * along / ((m - 1.0) * (2.0 * m - 1.0) / (6.0 * m) + after - of_all * mean * mean);
            best = explained > best ? explained : best;
        }
    PyBuffer_Release(&values);
    return PyFloat_FromDouble(best);
}

static const char median_doc[] = "median(values): of values.";

static PyObject *median(PyObject *self, PyObject *values) {
    Py_buffer buffer;
    (void)self;
    if (!PyArg_Parse(values, "y*:median", &buffer)) return NULL;
    const Py_ssize_t n = buffer.len / (Py_ssize_t)sizeof(double);
    double *const room = malloc((size_t)buffer.len + 1), level = NAN;
    if (room == NULL)
        PyErr_NoMemory();
    else if (n > 0) {
        memcpy(room, buffer.buf, (size_t)buffer.len);
        level = median_of(room, n);
    }
    free(room);
    PyBuffer_Release(&buffer);
    return PyErr_Occurred() ? NULL : PyFloat_FromDouble(level);
}

static double drawn(double value, double low, double high) {
    return value < low ? low : value > high ? high : value;
}

/* Of ordered values the largest of the lower of two groups, those of least variance of at least `margin` each. Fewer
   than that are no group: they count as the next one. */
static double border_of(const double *ordered, Py_ssize_t n, Py_ssize_t margin) {
    const double low = ordered[margin - 1], high = ordered[n - margin];
    double mean = 0.0, sum = 0.0, most = -1.0, border = ordered[0];
    for (Py_ssize_t i = 0; i < n; i++) mean += drawn(ordered[i], low, high);
    mean /= (double)n;
    for (Py_ssize_t i = 0; i < n - margin; i++) {
        sum += drawn(ordered[i], low, high) - mean;
        if (i + 1 < margin) continue;
        const double between = sum * sum / ((double)(i + 1) * (double)(n - i - 1));
        if (between > most) {
            most = between;
            border = ordered[i];
        }
    }
    return border;
}

/* The mean of values between two bounds, and their variance: of equal ones exactly 0. */
static double mean_of(const double *x, Py_ssize_t n, double low, double high, double *variance) {
    const double first = drawn(x[0], low, high);
    double mean = 0.0, squares = 0.0;
    for (Py_ssize_t i = 0; i < n; i++) mean += drawn(x[i], low, high) - first;
    mean /= (double)n;
    for (Py_ssize_t i = 0; i < n; i++) {
        const double off = drawn(x[i], low, high) - first - mean;
        squares += off * off;
    }
    *variance = squares / (double)(n - 1);
    return first + mean;
}

static const char apart_doc[] =
    "apart(values, ordered, n, margin, most, distance, splits, counts): of every row how far its two levels lie apart, "
    "where they follow each other, and if they do how many values are on the lower, in how many runs; see "
    "two_levels.py.";

static PyObject *apart(PyObject *self, PyObject *arguments) {
    Py_buffer values, sorted, distance, splits, counts;
    Py_ssize_t n, margin, most;
    (void)self;
    if (!PyArg_ParseTuple(arguments, "y*y*nnnw*w*w*:apart", &values, &sorted, &n, &margin, &most, &distance, &splits,
                          &counts))
        return NULL;
    const Py_ssize_t size = (Py_ssize_t)sizeof(double), rows = n > 0 ? values.len / size / n : 0;
    const int fits = margin > 1 && most > 0 && n >= 2 * margin && values.len == rows * n * size &&
                     sorted.len == values.len && distance.len == rows * size &&
                     splits.len == rows * most * (Py_ssize_t)sizeof(long long) &&
                     counts.len == rows * 2 * (Py_ssize_t)sizeof(long long);
    for (Py_ssize_t row = 0; fits && row < rows; row++) {
        const double *const x = (const double *)values.buf + row * n;
        const double *const ordered = (const double *)sorted.buf + row * n, border = border_of(ordered, n, margin);
        long long *const where = (long long *)splits.buf + row * most, *const count = (long long *)counts.buf + row * 2;
        Py_ssize_t few = 0, runs = 1, borders = 0, last = 0;
        int before = 0, follow = 1;
        for (Py_ssize_t i = 0; i < n && follow; i++) {
            const Py_ssize_t at = i < 1 ? 1 : i > n - 2 ? n - 2 : i;
            const int low = x[i] <= border;
            const int mostly = (x[at - 1] <= border) + (x[at] <= border) + (x[at + 1] <= border) > 1;
            few += low;
            /* Only the outermost values may be odd. */
            if (low != mostly && x[i] > ordered[margin - 2] && x[i] < ordered[n - margin + 1]) follow = 0;
            runs += i > 0 && low != (x[i - 1] <= border);
            if (i > 0 && mostly != before) {
                follow = follow && borders < most && i - last >= margin;
                if (follow) where[borders++] = i;
                last = i;
            }
            before = mostly;
        }
        follow = follow && borders > 0 && n - last >= margin && few >= margin && n - few >= margin;
        count[0] = few;
        count[1] = runs;
        ((double *)distance.buf)[row] = 0.0;
        if (!follow) continue;
        const Py_ssize_t many = n - few, outer = few / 4 < margin ? few / 4 : margin - 1,
                         upper = many / 4 < margin ? many / 4 : margin - 1;
        double one, two;
        const double below = mean_of(ordered, few, ordered[outer], ordered[few - 1], &one);
        const double above = mean_of(ordered + few, many, ordered[few], ordered[n - 1 - upper], &two);
        one = one > two ? one : two;
        ((double *)distance.buf)[row] = one > 0.0 ? (above - below) / sqrt(one) : INFINITY;
    }
    PyBuffer_Release(&values);
    PyBuffer_Release(&sorted);
    PyBuffer_Release(&distance);
    PyBuffer_Release(&splits);
    PyBuffer_Release(&counts);
    if (fits) return Py_NewRef(Py_None);
    PyErr_SetString(PyExc_ValueError, "sizes differ");
    return NULL;
}

static PyMethodDef methods[] = {
    {"median", median, METH_O, median_doc},
    {"apart", apart, METH_VARARGS, apart_doc},
    {"rise", rise, METH_VARARGS, rise_doc},
    {"places", places, METH_VARARGS, places_doc},
    {"levels", levels, METH_VARARGS, levels_doc},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef_Slot slots[] = {{0, NULL}};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT, "_levels", "Kernel of levels.py.", 0, methods, slots, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__levels(void) { return PyModuleDef_Init(&module); }
