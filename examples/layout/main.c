/* Adds up twelve arrays of 4096 bytes, at one place of each at a time. Where more than eight of them begin at one
   place of a page they share a set of the cache, and drive each other out; the linker decides. */
#include <stdint.h>
#include <stdio.h>

enum { N = 1024, ARRAYS = 12 };
extern int a[N], b[N], c[N], d[N], e[N], f[N], g[N], h[N], i[N], j[N], k[N], l[N];

int main(void)
{
    volatile int sum;
    for (int round = 0; round < 2000; round++)
        for (int n = 0; n < N; n++)
            sum = a[n] + b[n] + c[n] + d[n] + e[n] + f[n] + g[n] + h[n] + i[n] + j[n] + k[n] + l[n];

    int *arrays[ARRAYS] = {a, b, c, d, e, f, g, h, i, j, k, l}, most = 0;
    for (int p = 0; p < ARRAYS; p++) {
        int together = 0;
        for (int q = 0; q < ARRAYS; q++)
            together += (uintptr_t)arrays[p] % 4096 == (uintptr_t)arrays[q] % 4096;
        most = together > most ? together : most;
    }
    printf("%d arrays in a set\n", most);
    return sum < 0;
}
