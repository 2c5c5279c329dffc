/* A one-dimensional stencil swept many times. */
#include <stdio.h>
enum { N = 8192, SWEEPS = 2500 };
static float u[N + 2], v[N + 2];
int main(void) {
    u[N / 2] = 1e6f;
    for (int sweep = 0; sweep < SWEEPS; sweep++) {
        for (int i = 1; i <= N; i++) v[i] = 0.25f * u[i - 1] + 0.5f * u[i] + 0.25f * u[i + 1];
        for (int i = 1; i <= N; i++) u[i] = v[i];
    }
    printf("%g\n", u[N / 2]);
}
