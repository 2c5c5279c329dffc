/* Rows ranked, two ascending ones merged, and the scores of all orders between them; ranks.py, dependence.py,
 * permutation.py and superiority.py have the same in NumPy. */
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
 * As in ratio_medians.py an interval is narrowed by interpolating the counts at its ends, and by halving it. */
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

/* How two ascending rows interleave, x first: of the value that ends last up to each place, how many are up to it.
 *
 * Answers whether values that differ are within the tolerance. */
static int pool(const double *x, Py_ssize_t n, const double *y, Py_ssize_t m, double tolerance, int64_t *x_upto,
                int64_t *y_upto, char *ends) {
    Py_ssize_t i = 0, j = 0;
    int64_t of_x = 0, of_y = 0;
    int merged = 0;
    double last = x[0] <= y[0] ? x[0] : y[0];
    for (Py_ssize_t k = 0; k < n + m; k++) {
        double value;
        Py_ssize_t is_x;
        if (i < n && j < m) { /* without further branches: which side is next nobody can predict */
            is_x = x[i] <= y[j];
            value = x[i] <= y[j] ? x[i] : y[j];
        } else {
            is_x = i < n;
            value = is_x ? x[i] : y[j];
        }
        const double step = value - last;
        const int end = step > tolerance;
        merged |= (step > 0.0) & !end;
        of_x = end ? i : of_x;
        of_y = end ? j : of_y;
        if (k > 0) ends[k - 1] = (char)end, x_upto[k - 1] = of_x, y_upto[k - 1] = of_y;
        last = value;
        i += is_x;
        j += 1 - is_x;
    }
    ends[n + m - 1] = 1, x_upto[n + m - 1] = n, y_upto[n + m - 1] = m;
    return merged;
}

typedef struct {
    uint64_t key;
    Py_ssize_t at;
} Ranked;

/* Ascends with the value, both zeros alike. */
static inline uint64_t key_of(double value) {
    uint64_t bits;
    value += 0.0;
    memcpy(&bits, &value, sizeof bits);
    return bits >> 63 ? ~bits : bits | (UINT64_C(1) << 63);
}

static inline double value_of(uint64_t key) {
    const uint64_t bits = key >> 63 ? key ^ (UINT64_C(1) << 63) : ~key;
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

enum { MOST_BITS = 11, FEW_KEYS = 1 << 5 };

static void insert_keys(Ranked *all, Py_ssize_t n) {
    for (Py_ssize_t i = 1; i < n; i++) {
        const Ranked one = all[i];
        Py_ssize_t j = i;
        for (; j > 0 && all[j - 1].key > one.key; j--) all[j] = all[j - 1];
        all[j] = one;
    }
}

/* Into cells by the leading bits that differ, which are few enough for a core's cache, and each cell in turn. */
static void sort_keys(Ranked *all, Ranked *room, Py_ssize_t n) {
    if (n <= FEW_KEYS) {
        insert_keys(all, n);
        return;
    }
    uint64_t low = all[0].key, high = low;
    for (Py_ssize_t i = 1; i < n; i++) {
        low = all[i].key < low ? all[i].key : low;
        high = all[i].key > high ? all[i].key : high;
    }
    if (low == high) return;
    int bits = 4, shift = 0;
    while (bits < MOST_BITS && n >> (bits - 1)) bits++;
    while ((high - low) >> shift >> bits) shift++;
    Py_ssize_t ends[1 << MOST_BITS];
    memset(ends, 0, sizeof *ends << bits);
    for (Py_ssize_t i = 0; i < n; i++) ends[(all[i].key - low) >> shift]++;
    Py_ssize_t end = 0;
    for (int cell = 0; cell < 1 << bits; cell++) {
        const Py_ssize_t count = ends[cell];
        ends[cell] = end, end += count;
    }
    memcpy(room, all, (size_t)n * sizeof *all);
    for (Py_ssize_t i = 0; i < n; i++) all[ends[(room[i].key - low) >> shift]++] = room[i];
    if (shift == 0) return;
    for (Py_ssize_t cell = 0, begin = 0; cell < 1 << bits; begin = ends[cell++])
        if (ends[cell] - begin > FEW_KEYS) sort_keys(all + begin, room, ends[cell] - begin);
    insert_keys(all, n);
}

/* Ranks from 1, equal values sharing the mean of theirs, and the values in order. */
static void rank(const double *x, Py_ssize_t n, double *ranks, double *ascending, Ranked *room) {
    for (Py_ssize_t i = 0; i < n; i++) room[i] = (Ranked){key_of(x[i]), i};
    sort_keys(room, room + n, n);
    for (Py_ssize_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && room[end].key == room[i].key; end++) {}
        const double shared = 0.5 * (double)(i + end + 1);
        for (Py_ssize_t k = i; k < end; k++) ranks[room[k].at] = shared, ascending[k] = x[room[k].at];
    }
}

/* What orders the states of one row, as permutation.py has it. */
typedef struct {
    double n, m, factor_x, factor_y, free_x, free_y, curvature, centre, floor;
} Test;

static double larger(double a, double b) { return a > b ? a : b; }

static double stretched(const Test *test, double size, double df) {
    const double a = df - 0.5, b = 48.0 * a * a, square = a * log1p(size * size / df), z = sqrt(square);
    const double first = z * (square + 3.0) / b;
    const double second = z * (((4.0 * square + 33.0) * square + 240.0) * square + 855.0);
    const double deviate = z + first - second / (10.0 * b * (b + 0.8 * square * square + 100.0));
    const double stretch = 1.0 + 2.0 * test->curvature * (deviate * deviate - test->centre);
    return deviate / sqrt(larger(stretch, 0.1));
}

static double score(const Test *test, double won, double square_x, double square_y) {
    const double n = test->n, m = test->m, lost = n * m - won, effect = won / (n * m) - 0.5;
    const double of_x = larger(n * square_x - won * won, 0.0) / (n * (n - 1.0) * (m * m));
    const double of_y = larger(m * square_y - lost * lost, 0.0) / (m * (m - 1.0) * (n * n));
    const double share_x = of_x * test->factor_x / n, share_y = of_y * test->factor_y / m, total = share_x + share_y;
    if (!(total > 0.0)) return effect > 0.0 ? INFINITY : effect < 0.0 ? -INFINITY : 0.0;
    const double df = total * total / (share_x * share_x / test->free_x + share_y * share_y / test->free_y);
    const double t = effect / sqrt(total), size = fabs(t) < 1e150 ? fabs(t) : 1e150;
    const double deviate = stretched(test, size, df), most = fabs(effect) / test->floor;
    return copysign(deviate < most ? deviate : most, effect);
}

/* The squared statistic beyond which all are rejected: no state has fewer degrees of freedom than the smaller side,
 * and from 2 on a statistic says the more, the more of them there are. Infinite where that is not so, or not known. */
static double enough(const Test *test, double critical) {
    const double least = test->free_x < test->free_y ? test->free_x : test->free_y;
    double low = 0.0, high = 1e3;
    if (least < 2.0 || test->curvature > 0.09 || !(critical > 0.0 && stretched(test, high, least) > critical))
        return INFINITY;
    for (int step = 0; step < 20; step++) {
        const double middle = 0.5 * (low + high);
        if (stretched(test, middle, least) > critical) high = middle;
        else low = middle;
    }
    return high * high * (1.0 + 1e-6);
}

/* How many states from either end are rejected whatever pairs were lost: so many won have at most such a variance. */
static Py_ssize_t surely(const Test *test, double all, double critical, double beyond) {
    const double of_x = test->factor_x / (test->n * test->n * (test->n - 1.0) * (test->m * test->m));
    const double of_y = test->factor_y / (test->m * test->m * (test->m - 1.0) * (test->n * test->n));
    Py_ssize_t low = 0, high = (Py_ssize_t)all / 2;
    while (low < high) {
        const Py_ssize_t middle = (low + high) / 2;
        const double lost = (double)middle, size = 0.5 - lost / all, most = (of_x + of_y) * lost * (all - lost);
        if (size > critical * test->floor * (1.0 + 1e-6) && size * size > beyond * most * (1.0 + 1e-6)) low = middle + 1;
        else high = middle;
    }
    return low;
}

/* Of ascending x to descending y, with as many places of both: x / y or x - y, which are in the order of the places. */
typedef struct {
    const double *x, *y;
    Py_ssize_t n, m;
    int ratios;
} Grid;

/* That of two zeros is 1, and of their logarithms 0. */
static inline double at_place(const Grid *of, Py_ssize_t i, Py_ssize_t j) {
    const double value = of->ratios ? of->x[i] / of->y[j] : of->x[i] - of->y[j];
    return value == value ? value : (double)of->ratios;
}

/* How many are up to gamma; ends: of each x. */
static Py_ssize_t lost_upto(const Grid *of, double gamma, Py_ssize_t *ends) {
    Py_ssize_t j = of->m, count = 0;
    for (Py_ssize_t i = 0; i < of->n; i++) {
        while (j > 0 && at_place(of, i, j - 1) > gamma) j--;
        ends[i] = j, count += j;
    }
    return count;
}

/* About where so many are up to gamma, and how much gamma grows with one more. */
typedef struct {
    double gamma, slope;
    Py_ssize_t reached;
} Near;

/* As far from the middle as both sides' own values are at a part of that share. */
static Near about(const Grid *of, Py_ssize_t reached) {
    const double all = (double)(of->n * of->m), share = 0.5 + 0.7 * ((double)reached / all - 0.5);
    double at[3];
    for (int k = 0; k < 3; k++) {
        double there = share + 0.1 * (double)(k - 1);
        there = there < 0.0 ? 0.0 : there > 0.999999 ? 0.999999 : there;
        at[k] = at_place(of, (Py_ssize_t)(there * (double)of->n), (Py_ssize_t)(there * (double)of->m));
    }
    return (Near){at[1], (at[2] - at[0]) * 0.7 / 0.2 / all, reached};
}

/* Which are the smallest ones, from so many on up to so many; of many equal ones more, or fewer, that are not split. */
static Py_ssize_t smallest(const Grid *of, Near *near, Py_ssize_t from, Py_ssize_t upto, int more, Py_ssize_t *ends) {
    const Py_ssize_t all = of->n * of->m, aim = (from + upto) / 2;
    Py_ssize_t below = 0, above = all;
    double low = at_place(of, 0, 0), high = at_place(of, of->n - 1, of->m - 1);
    for (int step = 0; step < 8 && from > 0 && upto < all; step++) {
        if (step < 3) near->gamma += near->slope * (double)(aim - near->reached);
        else near->gamma = low + (high - low) * ((double)(aim - below) / (double)(above - below));
        near->reached = lost_upto(of, near->gamma, ends);
        if (from <= near->reached && near->reached <= upto) return near->reached;
        if (near->reached < from) low = near->gamma, below = near->reached;
        else high = near->gamma, above = near->reached;
    }
    if (more ? above < all : below > 0) return lost_upto(of, more ? high : low, ends);
    for (Py_ssize_t i = 0; i < of->n; i++) ends[i] = more ? of->m : 0;
    return more ? all : 0;
}

typedef struct {
    Ranked *sorted, *spare;
    double *edges; /* one more at either end */
    Py_ssize_t *below, *upto;
    void *memory;
} Room;

static int take_room(Room *room, Py_ssize_t n, Py_ssize_t m) {
    const size_t count = (size_t)(n * m);
    room->memory = malloc(2 * count * sizeof(Ranked) + (count + 2) * sizeof(double) + 2 * (size_t)n * sizeof(Py_ssize_t));
    if (room->memory == NULL) return 0;
    room->sorted = room->memory, room->spare = room->sorted + count;
    room->edges = (double *)(room->spare + count), room->below = (Py_ssize_t *)(room->edges + count + 2);
    room->upto = room->below + n;
    return 1;
}

/* From the first to the last of them in order, which `smallest` found. */
static void sort_between(const Grid *of, Py_ssize_t first, Py_ssize_t last, const Room *room) {
    Py_ssize_t k = first;
    for (Py_ssize_t i = 0; i < of->n; i++)
        for (Py_ssize_t j = room->below[i]; j < room->upto[i]; j++)
            room->sorted[k++] = (Ranked){key_of(at_place(of, i, j)), i << 32 | j};
    sort_keys(room->sorted + first, room->spare, last - first);
    for (k = first; k < last; k++) room->edges[k + 1] = value_of(room->sorted[k].key);
}

typedef struct {
    Py_ssize_t lost;
    double square_x, square_y;
} State;

static State state_of(const Py_ssize_t *ends, Py_ssize_t n, Py_ssize_t m) {
    State at = {0, 0.0, 0.0};
    for (Py_ssize_t i = 0; i < n; i++) at.lost += ends[i], at.square_x += (double)((m - ends[i]) * (m - ends[i]));
    for (Py_ssize_t j = 0, i = n; j < m; j++) {
        while (i > 0 && ends[i - 1] <= j) i--;
        at.square_y += (double)(i * i);
    }
    return at;
}

/* The first state from one on to another that is not rejected, of real ones, or -1; as `score` says it, which is
 * asked where a few multiplications do not tell. */
static Py_ssize_t first_kept(const Test *test, State at, Py_ssize_t last, const Ranked *sorted, const double *edges,
                             Py_ssize_t count, double rounding, double critical, double beyond) {
    const double n = test->n, m = test->m, all = (double)count, least = critical * test->floor * (1.0 + 1e-6);
    const double of_x = test->factor_x / (n * n * (n - 1.0) * (m * m));
    const double of_y = test->factor_y / (m * m * (m - 1.0) * (n * n));
    const int upwards = at.lost < last;
    const Py_ssize_t step = upwards ? 1 : -1;
    double won = (double)(count - at.lost), square_x = at.square_x, square_y = at.square_y;
    for (Py_ssize_t k = at.lost;; k += step) {
        if (k == 0 || k == count || edges[k + 1] > edges[k] * rounding) {
            const double effect = won / all - 0.5, lost = all - won, size = upwards ? effect : -effect;
            const double total = of_x * (n * square_x - won * won) + of_y * (m * square_y - lost * lost);
            if (!(size > least && effect * effect > beyond * total)) {
                const double scored = score(test, won, square_x, square_y);
                if (!((upwards ? scored : -scored) >= critical)) return k;
            }
        }
        if (k + step == last) break;
        const Ranked crossed = sorted[upwards ? k : k - 1];
        const double of_x_below = (double)(crossed.at >> 32), of_y_above = (double)(uint32_t)crossed.at;
        won -= (double)step;
        square_x += (double)step * (1.0 - 2.0 * (m - of_y_above));
        square_y += (double)step * (1.0 + 2.0 * of_x_below);
    }
    return -1;
}

/* The two ratios in the middle, and between which the states are that are not rejected. */
static void bounds_of(const Grid *of, const Test *test, double rounding, double critical, double beyond,
                      Py_ssize_t rejected, const Room *room, double *found) {
    const Py_ssize_t count = of->n * of->m, slack = count / 16, last = count - rejected;
    double *const edges = room->edges;
    Near low_end = about(of, rejected), high_end = about(of, last);
    smallest(of, &low_end, rejected - 1 - slack, rejected - 1, 0, room->below);
    smallest(of, &high_end, last + 1, last + 1 + slack, 1, room->upto);
    const State first = state_of(room->below, of->n, of->m), end = state_of(room->upto, of->n, of->m);
    sort_between(of, first.lost, end.lost, room);
    edges[first.lost] = 0.0, edges[end.lost + 1] = INFINITY; /* all is rejected there, whether it is real or not */
    found[0] = edges[(count + 1) / 2], found[1] = edges[count / 2 + 1];
    const int whole = end.lost - first.lost == count;
    const Ranked *const sorted = room->sorted;
    const Py_ssize_t low = first_kept(test, first, end.lost + whole, sorted, edges, count, rounding, critical, beyond);
    const Py_ssize_t high = first_kept(test, end, first.lost - whole, sorted, edges, count, rounding, critical, beyond);
    if ((low < 0 || high < 0) && !whole)
        bounds_of(of, test, rounding, critical, beyond, 0, room, found);
    else
        found[2] = edges[low < 0 ? 0 : low], found[3] = edges[(high < 0 ? count : high) + 1];
}

/* The ratio beside so many of each x: the greatest of them, or the least of the others. */
static double beside(const Grid *of, const Py_ssize_t *ends, int above) {
    double found = above ? INFINITY : 0.0;
    for (Py_ssize_t i = 0; i < of->n; i++) {
        const Py_ssize_t j = ends[i] - !above;
        if (j < 0 || j == of->m) continue;
        const double value = at_place(of, i, j);
        found = (above ? value < found : value > found) ? value : found;
    }
    return found;
}

/* The least score of the real states up to that at gamma, or the greatest from it on. What lies farther off is surely
 * no more extreme than the score at gamma, and within that only what a few multiplications do not rule out is scored;
 * where no real state is as extreme, or nothing is sure, all are walked through. At first a few are: where the statistic
 * is beyond and so many pairs, all moved to the same end, would not bring it back, nothing that follows counts. */
static double extreme(const Grid *of, const Test *test, double rounding, double gamma, int least, int sure,
                      const Room *room) {
    const double n = test->n, m = test->m, sign = least ? 1.0 : -1.0;
    const double of_x = test->factor_x / (n * n * (n - 1.0) * (m * m));
    const double of_y = test->factor_y / (m * m * (m - 1.0) * (n * n));
    Py_ssize_t *const ends = least ? room->upto : room->below;
    const Py_ssize_t count = of->n * of->m, at = lost_upto(of, gamma, ends), step = least ? -1 : 1;
    const State here = state_of(ends, of->n, of->m);
    double won = (double)(count - at), square_x = here.square_x, square_y = here.square_y, best = INFINITY;
    const double there = sign * score(test, won, square_x, square_y);
    if (at == 0 || at == count || isnan(there)) return sign * there;
    const double free = (test->free_x < test->free_y ? test->free_x : test->free_y) - 0.5;
    const double beyond = sure && there > 0.0 ? enough(test, there) : INFINITY;
    const double floor = there * test->floor * (1.0 + 1e-6), reach = there * there + 3.0;
    /* A score is at most so many times its statistic: no state has fewer degrees of freedom than the smaller side. */
    const double stretch = 1.0 + reach / (48.0 * free * free);
    const double least_stretch = 1.0 - 2.0 * test->curvature * test->centre;
    const double inner = (1.0 - 1e-6) * there * there * larger(least_stretch, 0.1) / (stretch * stretch);
    const double within = sure && there < 0.0 && free > 0.0 && test->curvature >= 0.0 ? inner : -1.0;
    Py_ssize_t far = !sure ? -1 : there > 0.0 ? surely(test, (double)count, there, beyond) - 1 : count / 2;
    const Py_ssize_t apart = least ? at : count - at;
    if (far >= apart) far = apart - 1;
    const int some = sure > 1 && there > 0.0 && apart - far > 2 * FEW;
    if (some) far = apart - FEW;
    const Py_ssize_t end = least ? far : count - far, slack = some ? FEW : FEW + count / 16;
    Near near = about(of, end);
    if (some) near.gamma = gamma, near.reached = at;
    const Py_ssize_t first = least ? smallest(of, &near, end - slack, end, 0, room->below) : at;
    const Py_ssize_t last = least ? at : smallest(of, &near, end, end + slack, 1, room->upto);
    sort_between(of, first, last, room);
    double *const edges = room->edges;
    edges[least ? at + 1 : at] = beside(of, ends, least);
    int done = 0;
    for (Py_ssize_t k = at; k != end && k >= 0 && k <= count; k += step) {
        if (k == 0 || k == count || edges[k + 1] > edges[k] * rounding) {
            const double effect = won / (double)count - 0.5, lost = (double)count - won, size = sign * effect;
            const double total = of_x * (n * square_x - won * won) + of_y * (m * square_y - lost * lost);
            const int outside = size > floor && effect * effect > beyond * total;
            done = outside && size > (1.0 + 1e-6) * beyond * (of_x + of_y) * (least ? lost : won) * (double)count;
            if (done) break;
            if (!outside && !(total > 0.0 && effect * effect < within * total)) {
                const double scored = sign * score(test, won, square_x, square_y);
                best = scored < best ? scored : best;
            }
        }
        if (k == (least ? 0 : count)) break;
        const Ranked crossed = room->sorted[least ? k - 1 : k];
        won -= (double)step;
        square_x += (double)step * (1.0 - 2.0 * (m - (double)(uint32_t)crossed.at));
        square_y += (double)step * (1.0 + 2.0 * (double)(crossed.at >> 32));
    }
    if (best <= there && some && !done) return extreme(of, test, rounding, gamma, least, 1, room);
    return sure && !(best <= there) ? extreme(of, test, rounding, gamma, least, 0, room) : sign * best;
}

typedef struct {
    Py_buffer x, y, of_x, of_y, ends, merged;
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

static const char pooled_doc[] =
    "pooled(x, n, y, m, tolerances, x_upto, y_upto, ends, merged): how ascending rows interleave, x first.";

static PyObject *pooled(PyObject *self, PyObject *arguments) {
    Buffers all;
    Py_buffer tolerances;
    Py_ssize_t n, m;
    (void)self;
    memset(&all, 0, sizeof all);
    if (!PyArg_ParseTuple(arguments, "y*ny*ny*w*w*w*w*:pooled", &all.x, &n, &all.y, &m, &tolerances, &all.of_x,
                          &all.of_y, &all.ends, &all.merged))
        return NULL;
    const Py_ssize_t size = (Py_ssize_t)sizeof(double), rows = all.merged.len;
    PyObject *answer = NULL;
    if (n < 1 || m < 1 || all.x.len != rows * n * size || all.y.len != rows * m * size ||
        tolerances.len != rows * size || all.of_x.len != rows * (n + m) * size || all.of_y.len != all.of_x.len ||
        all.ends.len != rows * (n + m))
        PyErr_SetString(PyExc_ValueError, "sizes differ");
    else {
        const double *x = all.x.buf, *y = all.y.buf, *tolerance = tolerances.buf;
        int64_t *x_upto = all.of_x.buf, *y_upto = all.of_y.buf;
        char *ends = all.ends.buf, *merged = all.merged.buf;
        for (Py_ssize_t row = 0; row < rows; row++) {
            merged[row] = (char)pool(x, n, y, m, tolerance[row], x_upto, y_upto, ends);
            x += n, y += m, x_upto += n + m, y_upto += n + m, ends += n + m;
        }
        answer = Py_NewRef(Py_None);
    }
    PyBuffer_Release(&tolerances);
    release(&all);
    return answer;
}

static const char ranked_doc[] =
    "ranked(x, n, ranks, ascending, room): ranks in each row of n, equal values sharing their mean, and the sorted "
    "rows; room for 4 n doubles.";

static PyObject *ranked(PyObject *self, PyObject *arguments) {
    Buffers all;
    Py_ssize_t n;
    (void)self;
    memset(&all, 0, sizeof all);
    if (!PyArg_ParseTuple(arguments, "y*nw*w*w*:ranked", &all.x, &n, &all.of_x, &all.of_y, &all.merged))
        return NULL;
    const Py_ssize_t values = all.x.len / (Py_ssize_t)sizeof(double);
    PyObject *answer = NULL;
    if (n < 1 || n > PY_SSIZE_T_MAX / 64 || values % n || all.of_x.len != all.x.len || all.of_y.len != all.x.len ||
        all.merged.len != 2 * n * (Py_ssize_t)sizeof(Ranked))
        PyErr_SetString(PyExc_ValueError, "sizes differ");
    else {
        for (Py_ssize_t at = 0; at < values; at += n)
            rank((double *)all.x.buf + at, n, (double *)all.of_x.buf + at, (double *)all.of_y.buf + at,
                 (Ranked *)all.merged.buf);
        answer = Py_NewRef(Py_None);
    }
    release(&all);
    return answer;
}

static const char bounded_doc[] =
    "bounded(x, n, y, m, tests, critical, rounding, ends): the two in the middle of the ratios of each row of "
    "ascending x to descending y, and between which the states are that are not rejected.";

static PyObject *bounded(PyObject *self, PyObject *arguments) {
    Buffers all;
    Py_ssize_t n, m;
    double rounding;
    (void)self;
    memset(&all, 0, sizeof all);
    if (!PyArg_ParseTuple(arguments, "y*ny*ny*y*dw*:bounded", &all.x, &n, &all.y, &m, &all.of_x, &all.ends, &rounding,
                          &all.of_y))
        return NULL;
    const Py_ssize_t size = (Py_ssize_t)sizeof(double), rows = all.ends.len / size;
    const Py_ssize_t count = n > 1 && m > 1 && n <= PY_SSIZE_T_MAX / 64 / m ? n * m : 0;
    PyObject *answer = NULL;
    Room room = {NULL, NULL, NULL, NULL, NULL, NULL};
    if (count == 0 || all.ends.len % size || all.of_x.len != rows * (Py_ssize_t)sizeof(Test) ||
        all.x.len != rows * n * size || all.y.len != rows * m * size || all.of_y.len != 4 * rows * size)
        PyErr_SetString(PyExc_ValueError, "sizes differ");
    else if (!take_room(&room, n, m))
        PyErr_NoMemory();
    else {
        Grid of = {all.x.buf, all.y.buf, n, m, 1};
        const double *critical = all.ends.buf;
        const Test *tests = all.of_x.buf;
        double *found = all.of_y.buf, beyond = INFINITY;
        Py_ssize_t rejected = 0;
        for (Py_ssize_t row = 0; row < rows; row++, of.x += n, of.y += m, found += 4) {
            if (row == 0 || critical[row] != critical[row - 1] || memcmp(tests + row, tests + row - 1, sizeof *tests)) {
                beyond = enough(tests + row, critical[row]);
                rejected = surely(tests + row, (double)count, critical[row], beyond);
            }
            bounds_of(&of, tests + row, rounding, critical[row], beyond, rejected, &room, found);
        }
        answer = Py_NewRef(Py_None);
    }
    free(room.memory);
    release(&all);
    return answer;
}

static const char extremes_doc[] =
    "extremes(x, n, y, m, tests, rounding, gamma, least, found): of the states of each row, as of `bounded`, "
    "the least score of those up to gamma, or the greatest of those from it on.";

static PyObject *extremes(PyObject *self, PyObject *arguments) {
    Buffers all;
    Py_ssize_t n, m;
    double rounding, gamma;
    int least;
    (void)self;
    memset(&all, 0, sizeof all);
    if (!PyArg_ParseTuple(arguments, "y*ny*ny*ddpw*:extremes", &all.x, &n, &all.y, &m, &all.of_x, &rounding, &gamma,
                          &least, &all.of_y))
        return NULL;
    const Py_ssize_t size = (Py_ssize_t)sizeof(double), rows = all.of_y.len / size;
    PyObject *answer = NULL;
    Room room = {NULL, NULL, NULL, NULL, NULL, NULL};
    if (n < 2 || m < 2 || n > PY_SSIZE_T_MAX / 64 / m || all.of_x.len != rows * (Py_ssize_t)sizeof(Test) ||
        all.x.len != rows * n * size || all.y.len != rows * m * size)
        PyErr_SetString(PyExc_ValueError, "sizes differ");
    else if (!take_room(&room, n, m))
        PyErr_NoMemory();
    else {
        Grid of = {all.x.buf, all.y.buf, n, m, 1};
        for (Py_ssize_t row = 0; row < rows; row++, of.x += n, of.y += m)
            ((double *)all.of_y.buf)[row] = extreme(&of, (Test *)all.of_x.buf + row, rounding, gamma, least, 2, &room);
        answer = Py_NewRef(Py_None);
    }
    free(room.memory);
    release(&all);
    return answer;
}

static const char differences_doc[] =
    "differences(x, n, y, m, places, found): of all differences of ascending x and descending y in each row, those at "
    "a place in ascending order and at the next.";

static PyObject *differences(PyObject *self, PyObject *arguments) {
    Buffers all;
    Py_ssize_t n, m;
    (void)self;
    memset(&all, 0, sizeof all);
    if (!PyArg_ParseTuple(arguments, "y*ny*ny*w*:differences", &all.x, &n, &all.y, &m, &all.of_x, &all.of_y))
        return NULL;
    const Py_ssize_t size = (Py_ssize_t)sizeof(double), rows = all.of_x.len / size;
    const int64_t *const places = all.of_x.buf;
    PyObject *answer = NULL;
    Room room = {NULL, NULL, NULL, NULL, NULL, NULL};
    int right = n > 0 && m > 0 && n <= PY_SSIZE_T_MAX / 64 / m && all.x.len == rows * n * size &&
                all.y.len == rows * m * size && all.of_x.len == rows * size && all.of_y.len == 2 * rows * size;
    for (Py_ssize_t row = 0; right && row < rows; row++) right = places[row] >= 0 && places[row] < n * m - 1;
    if (!right)
        PyErr_SetString(PyExc_ValueError, "sizes differ");
    else if (!take_room(&room, n, m))
        PyErr_NoMemory();
    else {
        Grid of = {all.x.buf, all.y.buf, n, m, 0};
        double *found = all.of_y.buf;
        for (Py_ssize_t row = 0; row < rows; row++, of.x += n, of.y += m, found += 2) {
            const Py_ssize_t at = places[row];
            Near near = about(&of, at);
            const Py_ssize_t first = smallest(&of, &near, at - FEW, at, 0, room.below);
            const Py_ssize_t last = smallest(&of, &near, at + 2, at + 2 + FEW, 1, room.upto);
            sort_between(&of, first, last, &room);
            found[0] = room.edges[at + 1], found[1] = room.edges[at + 2];
        }
        answer = Py_NewRef(Py_None);
    }
    free(room.memory);
    release(&all);
    return answer;
}

static PyMethodDef methods[] = {
    {"bounded", bounded, METH_VARARGS, bounded_doc},
    {"differences", differences, METH_VARARGS, differences_doc},
    {"extremes", extremes, METH_VARARGS, extremes_doc},
    {"merged", merged, METH_VARARGS, merged_doc},
    {"pooled", pooled, METH_VARARGS, pooled_doc},
    {"ranked", ranked, METH_VARARGS, ranked_doc},
    {"ratios", ratios, METH_VARARGS, ratios_doc},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef_Slot slots[] = {{0, NULL}};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT, "_merging", "Kernel of merging.py.", 0, methods, slots, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__merging(void) { return PyModuleDef_Init(&module); }
