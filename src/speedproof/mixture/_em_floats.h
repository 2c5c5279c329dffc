/* Arithmetic on vectors of single precision, for both of its E-steps. Included once for each instruction set. */
#ifndef EM_FLOATS_TYPES
#define EM_FLOATS_TYPES
static const float EXP2_F[6] = {
    1.3276471519542438e-03f, 9.6755413306769591e-03f, 5.5507132749611124e-02f,
    2.4022119723933996e-01f, 6.9314696706386469e-01f, 1.0f,
};

#endif

#define VecF JOIN(VecF, ISA)
#define VecI JOIN(VecI, ISA)
typedef float VecF __attribute__((vector_size(4 * FLOATS)));
typedef int32_t VecI __attribute__((vector_size(4 * FLOATS)));

TARGET INLINE VecF NAME(pick)(VecI where, VecF yes, VecF no) {
    return (VecF)((where & (VecI)yes) | (~where & (VecI)no));
}

TARGET INLINE VecF NAME(max_f)(VecF a, VecF b) {
#ifdef MAX_F
    return MAX_F(a, b);
#else
    return NAME(pick)(a > b, a, b);
#endif
}

TARGET INLINE VecF NAME(fma_f)(VecF a, VecF b, VecF c) {
#ifdef FMA_F
    return FMA_F(a, b, c);
#else
    return a * b + c;
#endif
}

TARGET INLINE VecF NAME(root)(VecF a) {
#ifdef SQRT_F
    return SQRT_F(a);
#else
    for (int l = 0; l < FLOATS; l++) a[l] = sqrtf(a[l]);
    return a;
#endif
}

/* 2^q for -126 <= q <= 126; polynomial of relative error 8e-8 on [-1/2, 1/2]. */
TARGET INLINE VecF NAME(exp2_f)(VecF q) {
    const float magic = 12582912.0f; /* 1.5 2^23: adding it rounds to an integer */
    VecF t = q + magic;
    VecF f = q - (t - magic);
    VecF p = {0.0f};
    p += EXP2_F[0];
    for (int i = 1; i < 6; i++) p = NAME(fma_f)(p, f, (VecF){0.0f} + EXP2_F[i]);
    return (VecF)((VecI)p + ((VecI)t << 23));
}

/* log2 of a positive normal number: exponent plus t P(t), t + 1 in [sqrt(1/2), sqrt(2)), error 3e-8. */
TARGET INLINE VecF NAME(log2_f)(VecF x) {
    const VecI half = (VecI){0} + 0x3f3504f3;
    VecI e = ((VecI)x - half) >> 23;
    VecF t = (VecF)((VecI)x - (e << 23)) - 1.0f;
    VecF p = t * 0.125836899f - 0.207269687f;
    p = p * t + 0.215715623f;
    p = p * t - 0.238944831f;
    p = p * t + 0.287916247f;
    p = p * t - 0.360703682f;
    p = p * t + 0.480910643f;
    p = p * t - 0.721347347f;
    p = p * t + 1.442695f;
    return __builtin_convertvector(e, VecF) + t * p;
}

TARGET INLINE int NAME(any)(VecI where) {
#ifdef ANY_F
    return ANY_F(where);
#else
    int64_t both[FLOATS / 2], found = 0;
    memcpy(both, &where, sizeof both);
    for (int i = 0; i < FLOATS / 2; i++) found |= both[i];
    return found != 0;
#endif
}

#undef VecF
#undef VecI
