/* Numbers in text: result lines of Go benchmarks, and lists in JSON. What is left here, Python takes, and without a
 * compiler all. */
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

#define MOST_UNITS 64 /* of a line; one of more is left */
#define LONGEST 100   /* number that is read here, if it is not short */
#define MOST_KINDS 16 /* of lines of one name; others are left */

typedef unsigned char Byte;

typedef struct {
    const Byte *at;
    Py_ssize_t size;
} Word;

/* The name and the units that lines have in common. */
typedef struct {
    Py_ssize_t words;     /* where they begin among all */
    Py_ssize_t units;     /* behind the name */
    Py_ssize_t places;    /* where the columns of these begin among all places */
    uint64_t hash;        /* of the name */
} Kind;

/* The values of one unit beside a name: which words these are, the first line and how many values. */
typedef struct {
    Py_ssize_t name, unit, first, size;
} Column;

typedef struct {
    Kind *kinds;
    Word *words;
    Column *columns;
    Py_ssize_t *places;   /* the column of each unit of each kind */
    Py_ssize_t *table;    /* numbers of kinds from 1, by hash; at least half of it is 0 */
    double *values;
    int32_t *lines;       /* the kind of each */
    Py_ssize_t count, word_count, column_count, place_count, value_count, line_count;
    Py_ssize_t kind_room, word_room, column_room, place_room, table_size, value_room, line_room;
} Found;

static int is_digit(Byte c) { return c >= '0' && c <= '9'; }
static int is_blank(Byte c) { return c == ' ' || c == '\t'; }

/* Whether there is white space that Python's str.split knows, other than blanks and line ends. What follows the last
 * byte is 0. */
static int is_odd(const Byte *p) {
    if (*p < 0x80) return (*p >= 0x0b && *p <= 0x0d) || (*p >= 0x1c && *p <= 0x1f) || !*p;
    if (p[0] == 0xc2) return p[1] == 0x85 || p[1] == 0xa0;
    if (p[0] == 0xe1) return p[1] == 0x9a && p[2] == 0x80;
    if (p[0] == 0xe2 && p[1] == 0x80) return p[2] <= 0x8a || p[2] == 0xa8 || p[2] == 0xa9 || p[2] == 0xaf;
    if (p[0] == 0xe2) return p[1] == 0x81 && p[2] == 0x9f;
    return p[0] == 0xe3 && p[1] == 0x80 && p[2] == 0x80;
}

/* The end of the word that begins here; NULL where something odd is in it. */
static const Byte *end_of_word(const Byte *p, const Byte *end) {
    for (; p < end && *p != ' ' && *p != '\t' && *p != '\n'; p++)
        if ((*p < 0x20 || *p >= 0x80) && is_odd(p)) return NULL;
    return p;
}

static const Byte *skip_blanks(const Byte *p, const Byte *end) {
    while (p < end && is_blank(*p)) p++;
    return p;
}

#ifdef __SIZEOF_INT128__
__extension__ typedef unsigned __int128 Wide;

/* 16 to 19 digits times a power of ten, which is exact but for one rounding: the last bit of the quotient, which is far
 * below those of a double, is set where there is a rest. */
static double scaled(uint64_t digits, int exponent) {
    uint64_t five = 1;
    for (int i = exponent < 0 ? -exponent : exponent; i > 0; i--) five *= 5;
    if (exponent >= 0) return ldexp((double)((Wide)digits * five), exponent);
    const Wide dividend = (Wide)digits << 64, quotient = dividend / five;
    return ldexp((double)(quotient | (quotient * five != dividend)), exponent - 64);
}
#endif

/* A number from here, correctly rounded: where it ends, or NULL where it is left to Python. */
static const Byte *number(const Byte *p, const Byte *end, double *value) {
    static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    const int negative = p < end && *p == '-';
    uint64_t digits = 0; /* right if there are not too many */
    p += p < end && (*p == '-' || *p == '+');
    const Byte *const begin = p, *first = p;
    for (; p < end && is_digit(*p); p++) digits = 10 * digits + (*p - '0');
    const Byte *const point = p;
    if (p < end && *p == '.')
        for (p++; p < end && is_digit(*p); p++) digits = 10 * digits + (*p - '0');
    Py_ssize_t exponent = p > point ? point + 1 - p : 0, significant = p - first - (p > point);
    if (!significant) return NULL;
    for (; significant > 15 && (*first == '0' || *first == '.'); first++) significant -= *first == '0';
    if (p < end && (*p == 'e' || *p == 'E')) {
        int of_ten = 0;
        p++;
        const int down = p < end && *p == '-';
        p += p < end && (*p == '-' || *p == '+');
        if (p == end || !is_digit(*p)) return NULL;
        for (; p < end && is_digit(*p); p++)
            if (of_ten < 9999) of_ten = 10 * of_ten + (*p - '0');
        exponent += down ? -of_ten : of_ten;
    }
    /* Both are doubles exactly, so that one operation rounds once. */
    if (significant <= 15 && exponent >= -22 && exponent <= 22 && FLT_EVAL_METHOD == 0) {
        *value = exponent < 0 ? (double)digits / powers[-exponent] : (double)digits * powers[exponent];
#ifdef __SIZEOF_INT128__
    } else if (significant >= 16 && significant <= 19 && exponent >= -25 && exponent <= 25) {
        *value = scaled(digits, (int)exponent);
#endif
    } else {
        char text[LONGEST + 1];
        if (p - begin > LONGEST) return NULL;
        memcpy(text, begin, (size_t)(p - begin));
        text[p - begin] = 0;
        *value = PyOS_string_to_double(text, NULL, NULL);
        if (PyErr_Occurred()) {
            PyErr_Clear();
            return NULL;
        }
    }
    if (negative) *value = -*value;
    return isinf(*value) || (negative && *value == 0.0) ? NULL : p;
}

/* Room for more of `wanted` things; 0 without memory. */
static int grow(void **memory, Py_ssize_t *room, Py_ssize_t wanted, size_t size) {
    if (wanted <= *room) return 1;
    const Py_ssize_t more = wanted > *room * 2 ? wanted + 64 : *room * 2;
    void *moved = realloc(*memory, (size_t)more * size);
    if (!moved) return 0;
    *memory = moved, *room = more;
    return 1;
}

static int equal(const Word *some, const Word *others, Py_ssize_t count) {
    for (Py_ssize_t i = 0; i < count; i++)
        if (some[i].size != others[i].size || memcmp(some[i].at, others[i].at, (size_t)some[i].size)) return 0;
    return 1;
}

static uint64_t hash_of(Word word) {
    uint64_t hash = 0xcbf29ce484222325u;
    for (Py_ssize_t k = 0; k < word.size; k++) hash = (hash ^ word.at[k]) * 0x100000001b3u;
    return hash ^ hash >> 32;
}

static int make_table(Found *found) {
    const Py_ssize_t size = found->table_size ? found->table_size * 4 : 256;
    Py_ssize_t *table = calloc((size_t)size, sizeof *table);
    if (!table) return 0;
    for (Py_ssize_t kind = 0; kind < found->count; kind++) {
        uint64_t at = found->kinds[kind].hash;
        while (table[at & (uint64_t)(size - 1)]) at++;
        table[at & (uint64_t)(size - 1)] = kind + 1;
    }
    free(found->table);
    found->table = table, found->table_size = size;
    return 1;
}

/* The column of a unit beside a name, which may be new and have room. */
static Py_ssize_t column_of(Found *found, uint64_t hash, Py_ssize_t name, Py_ssize_t unit, Py_ssize_t line) {
    const Word *const words = found->words;
    uint64_t at = hash;
    for (Py_ssize_t known; (known = found->table[at & (uint64_t)(found->table_size - 1)]); at++) {
        const Kind *kind = found->kinds + known - 1;
        if (kind->hash == hash && equal(words + kind->words, words + name, 1))
            for (Py_ssize_t k = 0; k < kind->units; k++)
                if (equal(words + kind->words + k + 1, words + unit, 1)) return found->places[kind->places + k];
    }
    found->columns[found->column_count] = (Column){name, unit, line, 0};
    return found->column_count++;
}

/* The number of the kind of a line with these words, which may be new, or why there is none. */
enum { NO_MEMORY = -1, LEFT = -2 };
static Py_ssize_t kind_of(Found *found, const Word *words, Py_ssize_t units, Py_ssize_t line) {
    if (2 * found->count >= found->table_size && !make_table(found)) return NO_MEMORY;
    const uint64_t hash = hash_of(*words), mask = (uint64_t)found->table_size - 1;
    uint64_t at = hash;
    int alike = 0;
    for (Py_ssize_t known; (known = found->table[at & mask]); at++) {
        const Kind *kind = found->kinds + known - 1;
        if (kind->hash == hash && equal(found->words + kind->words, words, 1)) {
            if (kind->units == units && equal(found->words + kind->words, words, units + 1)) return known - 1;
            if (++alike == MOST_KINDS) return LEFT;
        }
    }
    if (words->size == 9) return LEFT; /* Python knows it by a name that another may have */
    if (!grow((void **)&found->kinds, &found->kind_room, found->count + 1, sizeof *found->kinds) ||
        !grow((void **)&found->words, &found->word_room, found->word_count + units + 1, sizeof *found->words) ||
        !grow((void **)&found->columns, &found->column_room, found->column_count + units, sizeof *found->columns) ||
        !grow((void **)&found->places, &found->place_room, found->place_count + units, sizeof *found->places))
        return NO_MEMORY;
    const Py_ssize_t name = found->word_count;
    Kind *const kind = found->kinds + found->count;
    *kind = (Kind){name, 0, found->place_count, hash};
    memcpy(found->words + name, words, (size_t)(units + 1) * sizeof *words);
    found->word_count += units + 1;
    found->table[at & mask] = ++found->count;
    for (; kind->units < units; kind->units++)
        found->places[found->place_count++] = column_of(found, hash, name, name + kind->units + 1, line);
    return found->count - 1;
}

/* The same; most words are those of the line before, as long as all so far were. */
static const Byte *after_word(const Byte *p, const Byte *end, const Word *last, int *same) {
    if (*same && end - p > last->size && !memcmp(p, last->at, (size_t)last->size)) {
        const Byte *const after = p + last->size;
        if (is_blank(*after) || *after == '\n') return after;
    }
    *same = 0;
    return end_of_word(p, end);
}

/* The words of a result line and its values: where it ends, NULL where it is left. No units: it only has a name.
 *
 * The words and how many units there are may be those of a line before: whether they are the same. */
static const Byte *result(const Byte *p, const Byte *end, Word *words, double *values, Py_ssize_t *units, int *same) {
    const Py_ssize_t before = *units;
    const Byte *after = after_word(p, end, words, same);
    if (!after) return NULL;
    words[0] = (Word){p, after - p};
    *units = 0;
    p = skip_blanks(after, end);
    if (p == end || *p == '\n') return p;
    for (after = p; after < end && is_digit(*after); after++) continue;
    if (after == p || after == end || !is_blank(*after)) return NULL;
    while ((p = skip_blanks(after, end)) < end && *p != '\n') {
        if (*units == MOST_UNITS || !(p = number(p, end, values + *units))) return NULL;
        if (p < end && !is_blank(*p) && *p != '\n') return NULL;
        p = skip_blanks(p, end);
        *same &= *units < before;
        if (!(after = after_word(p, end, words + *units + 1, same)) || after == p) return NULL;
        words[++*units] = (Word){p, after - p};
    }
    *same &= *units == before;
    return *units ? p : NULL;
}

/* Whether a line that is no result says nothing, whatever it is. */
static int says_nothing(const Byte *p, const Byte *end) {
    return !memchr(p, ':', (size_t)(end - p)) && (end - p < 5 || memcmp(p, "Unit ", 5));
}

/* Lines from here to one that is left, or the end; NULL without memory. */
static const Byte *take(const Byte *p, const Byte *end, Found *found, Py_ssize_t *lines) {
    static const char name[] = "Benchmark";
    Word words[MOST_UNITS + 1];
    double values[MOST_UNITS];
    Py_ssize_t units = 0, last = -1;
    for (; p < end; ++*lines) {
        const Byte *after;
        int same = units > 0;
        const int named = end - p >= 9 && !memcmp(p, name, 9);
        if (!named || (end - p > 9 && p[9] >= 'a' && p[9] <= 'z')) {
            if (!(after = memchr(p, '\n', (size_t)(end - p)))) after = end;
            if (!named && !says_nothing(p, after)) return p;
        } else if (!(after = result(p, end, words, values, &units, &same)))
            return p;
        else if (units) {
            if (!same) last = kind_of(found, words, units, *lines);
            if (last < 0) return last == LEFT ? p : NULL;
            if (!grow((void **)&found->lines, &found->line_room, found->line_count + 1, sizeof *found->lines) ||
                !grow((void **)&found->values, &found->value_room, found->value_count + units, sizeof *values))
                return NULL;
            const Py_ssize_t *const places = found->places + found->kinds[last].places;
            for (Py_ssize_t i = 0; i < units; i++) found->columns[places[i]].size++;
            found->lines[found->line_count++] = (int32_t)last;
            memcpy(found->values + found->value_count, values, (size_t)units * sizeof *values);
            found->value_count += units;
        }
        p = after < end ? after + 1 : end;
    }
    return p;
}

/* The names of columns without their begin, or their units. */
static PyObject *texts_of(const Found *found, int units) {
    PyObject *texts = PyList_New(found->column_count);
    for (Py_ssize_t i = 0; texts && i < found->column_count; i++) {
        const Word *word = found->words + (units ? found->columns[i].unit : found->columns[i].name);
        const Py_ssize_t without = units ? 0 : 9;
        PyObject *text = PyUnicode_DecodeUTF8((const char *)word->at + without, word->size - without, NULL);
        if (text) {
            PyUnicode_InternInPlace(&text);
            PyList_SetItem(texts, i, text);
        } else
            Py_CLEAR(texts);
    }
    return texts;
}

/* The values of each column, in their order. */
static PyObject *values_of(const Found *found) {
    PyObject *values = PyByteArray_FromStringAndSize(NULL, found->value_count * (Py_ssize_t)sizeof(double));
    double **ends = malloc((size_t)(found->column_count + 1) * sizeof *ends); /* of each column so far */
    if (values && ends) {
        double *end = (double *)PyByteArray_AsString(values);
        const double *value = found->values;
        for (Py_ssize_t i = 0; i < found->column_count; end += found->columns[i].size, i++) ends[i] = end;
        for (Py_ssize_t line = 0; line < found->line_count; line++) {
            const Kind *kind = found->kinds + found->lines[line];
            for (Py_ssize_t k = 0; k < kind->units; k++) *ends[found->places[kind->places + k]]++ = *value++;
        }
    } else {
        Py_CLEAR(values);
        PyErr_NoMemory();
    }
    free(ends);
    return values;
}

static const char results_doc[] =
    "results(text, at): take lines of UTF-8 from there to one that is left; where that is, how many were taken, the names "
    "of all columns and their units, four whole numbers of each, of which the last are its first line and its size, and "
    "its values in their order (double).";

static PyObject *results(PyObject *self, PyObject *arguments) {
    PyObject *text, *answer = NULL;
    Py_ssize_t at, lines = 0, size;
    char *begin;
    Found found;
    (void)self;
    memset(&found, 0, sizeof found);
    if (!PyArg_ParseTuple(arguments, "Sn:results", &text, &at) || PyBytes_AsStringAndSize(text, &begin, &size) < 0)
        return NULL;
    if (at < 0 || at > size) {
        PyErr_SetString(PyExc_ValueError, "the text ends before that");
        return NULL;
    }
    const Byte *const from = (const Byte *)begin + at;
    const Byte *const after = size < INT32_MAX ? take(from, (const Byte *)begin + size, &found, &lines) : from;
    PyObject *names = after ? texts_of(&found, 0) : NULL, *units = names ? texts_of(&found, 1) : NULL;
    PyObject *values = units ? values_of(&found) : NULL;
    if (values)
        answer = Py_BuildValue("nnNNNN", (Py_ssize_t)(after - (const Byte *)begin), lines, names, units,
                               PyByteArray_FromStringAndSize((const char *)found.columns,
                                                             found.column_count * (Py_ssize_t)sizeof(Column)),
                               values);
    else
        Py_XDECREF(names), Py_XDECREF(units);
    if (!after) PyErr_NoMemory();
    free(found.kinds), free(found.words), free(found.columns), free(found.places), free(found.table);
    free(found.lines), free(found.values);
    return answer;
}

/* In JSON: what follows white space, and a comma where there is one. */
static const Byte *next(const Byte *p, const Byte *end) {
    while (p < end && (is_blank(*p) || *p == '\n' || *p == '\r' || *p == ',')) p++;
    return p;
}

static const char lists_doc[] =
    "lists(text): of JSON, which is known to be valid, that is a list of lists of numbers, all of them (double) and the "
    "list of each (int64), which are counted without the empty ones; None of any other.";

static PyObject *lists(PyObject *self, PyObject *text) {
    Py_buffer given;
    (void)self;
    if (PyObject_GetBuffer(text, &given, PyBUF_SIMPLE) < 0) return NULL;
    const Byte *p = given.buf, *const end = p + given.len;
    Py_ssize_t room = 1, count = 0;
    for (const Byte *q = p; q < end; q++) room += *q == ',';
    PyObject *values = PyByteArray_FromStringAndSize(NULL, room * 8);
    PyObject *numbers = values ? PyByteArray_FromStringAndSize(NULL, room * 8) : NULL;
    int fits = numbers && (p = next(p, end)) < end && *p == '[';
    int64_t list = 0;
    for (p += fits; fits && (p = next(p, end)) < end && *p == '['; p += fits) {
        const Py_ssize_t before = count;
        for (p++; fits && (p = next(p, end)) < end && *p != ']';) {
            const Byte *const after =
                count < room ? number(p, end, (double *)PyByteArray_AsString(values) + count) : NULL;
            if ((fits = after != NULL)) {
                ((int64_t *)PyByteArray_AsString(numbers))[count++] = list;
                p = after;
            }
        }
        list += count > before;
        fits = fits && p < end;
    }
    fits = fits && p < end && *p == ']';
    PyBuffer_Release(&given);
    if (fits && PyByteArray_Resize(values, count * 8) == 0 && PyByteArray_Resize(numbers, count * 8) == 0)
        return Py_BuildValue("NN", values, numbers);
    Py_XDECREF(values), Py_XDECREF(numbers);
    return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
}

static PyMethodDef methods[] = {
    {"lists", lists, METH_O, lists_doc},
    {"results", results, METH_VARARGS, results_doc},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef_Slot module_slots[] = {{0, NULL}};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT, "_go", "Kernel of go.py.", 0, methods, module_slots, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__go(void) { return PyModuleDef_Init(&module); }
