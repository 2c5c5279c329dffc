/* Arithmetic on vectors of one precision. Included for each of the two, once for each instruction set. */
#ifndef EM_VECTORS
#define EM_VECTORS
#define SINGLE (MANTISSA == 23)
#define WIDTH (BYTES / (int)sizeof(REAL))
#define CALL__(prefix, name, suffix) prefix##_##name##_##suffix
#define CALL_(prefix, name, suffix) CALL__(prefix, name, suffix)
#define CALL(name) CALL_(MM, name, SUFFIX)
#define Vec OF(Vec)
#define Ints OF(Ints)
#define Words OF(Words)
#define GROUP 4 /* vectors at once */
/* Polynomials for 2^f on [-1/2, 1/2], of relative error 3e-18 and 8e-8. */
static const double EXP2_d[] = {
    4.4359413579063079e-10, 7.0741055795244508e-09, 1.0178193291787892e-07, 1.3215433086106491e-06,
    1.5252733502429299e-05, 1.5403530462533731e-04, 1.3333558146775423e-03, 9.6181291075883024e-03,
    5.5504108664819994e-02, 2.4022650695910155e-01, 6.9314718055994529e-01, 1.0,
};
static const float EXP2_f[] = {
    1.3276471519542438e-03f, 9.6755413306769591e-03f, 5.5507132749611124e-02f,
    2.4022119723933996e-01f, 6.9314696706386469e-01f, 1.0f,
};
#endif
#if SINGLE
#define EXP2 EXP2_f
#else
#define EXP2 EXP2_d
#endif

typedef REAL Vec __attribute__((vector_size(BYTES)));
typedef INT Ints __attribute__((vector_size(BYTES)));
typedef WORD Words __attribute__((vector_size(BYTES)));

TARGET INLINE Vec OF(pick)(Ints where, Vec yes, Vec no) {
    return (Vec)((where & (Ints)yes) | (~where & (Ints)no));
}

/* The larger of each pair. C has no vector ?:, so machines without an instruction of ours mix bits. */
TARGET INLINE Vec OF(max)(Vec a, Vec b) {
#ifdef MM
    return CALL(max)(a, b);
#else
    return OF(pick)(a > b, a, b);
#endif
}

/* a b + c, rounded once where the machine can. */
TARGET INLINE Vec OF(fma)(Vec a, Vec b, Vec c) {
#ifdef MM
    return CALL(fmadd)(a, b, c);
#else
    return a * b + c;
#endif
}

/* A bit for each element, whose own all are set or none. */
TARGET INLINE uint64_t OF(bits)(Ints where) {
#ifdef BITS
    return BITS(where);
#else
    uint64_t found = 0;
    for (int l = 0; l < WIDTH; l++) found |= (uint64_t)(where[l] & 1) << l;
    return found;
#endif
}

/* 2^q of so many vectors (a constant), where it is normal: a polynomial and a shift of the exponent. They go through
 * the steps side by side, as each step waits for the one before. */
TARGET INLINE void OF(exp2s)(Vec *q, const int count) {
    Vec t[GROUP], p[GROUP];
    for (int j = 0; j < count; j++) {
#if BYTES == 64 /* the same numbers by two instructions of AVX-512 */
        t[j] = CALL(roundscale)(q[j], 0);
        q[j] -= t[j];
#else
        const REAL magic = (REAL)((INT)3 << (MANTISSA - 1)); /* adding it rounds to an integer */
        t[j] = q[j] + magic;
        q[j] -= t[j] - magic;
#endif
        p[j] = OF(fma)((Vec){0} + EXP2[0], q[j], (Vec){0} + EXP2[1]);
    }
    for (size_t i = 2; i < sizeof EXP2 / sizeof *EXP2; i++)
        for (int j = 0; j < count; j++) p[j] = OF(fma)(p[j], q[j], (Vec){0} + EXP2[i]);
#if BYTES == 64
    for (int j = 0; j < count; j++) q[j] = CALL(scalef)(p[j], t[j]);
#else
    for (int j = 0; j < count; j++) q[j] = (Vec)((Ints)p[j] + ((Ints)t[j] << MANTISSA));
#endif
}

TARGET INLINE Vec OF(exp2)(Vec q) {
    OF(exp2s)(&q, 1);
    return q;
}

#if SINGLE
TARGET INLINE Vec OF(root)(Vec a) {
#ifdef MM
    return CALL(sqrt)(a);
#else
    for (int l = 0; l < WIDTH; l++) a[l] = sqrtf(a[l]);
    return a;
#endif
}

/* log2 of a positive normal number: exponent plus t P(t), t + 1 in [sqrt(1/2), sqrt(2)), error 3e-8. */
TARGET INLINE Vec OF(log2)(Vec x) {
    const Ints half = (Ints){0} + 0x3f3504f3;
    Ints e = ((Ints)x - half) >> 23;
    Vec t = (Vec)((Ints)x - (e << 23)) - 1.0f;
    Vec p = t * 0.125836899f - 0.207269687f;
    p = p * t + 0.215715623f;
    p = p * t - 0.238944831f;
    p = p * t + 0.287916247f;
    p = p * t - 0.360703682f;
    p = p * t + 0.480910643f;
    p = p * t - 0.721347347f;
    p = p * t + 1.442695f;
    return __builtin_convertvector(e, Vec) + t * p;
}
#endif
#undef EXP2
