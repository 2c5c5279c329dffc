/* The sieve of Eratosthenes: strided stores, nothing to vectorise. */
#include <stdio.h>
enum { N = 4000000 };
static unsigned char composite[N];
int main(void) {
    int count = 0;
    for (int i = 2; i < N; i++) {
        if (composite[i]) continue;
        count++;
        for (long j = (long)i * i; j < N; j += i) composite[j] = 1;
    }
    printf("%d\n", count);
}
