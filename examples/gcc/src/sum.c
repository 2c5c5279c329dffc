/* Sum of a function over an array: integer reduction with a branch. */
#include <stdio.h>
enum { N = 1 << 20 };
static int data[N];
int main(void) {
    unsigned state = 1;
    for (int i = 0; i < N; i++) data[i] = (int)((state = state * 1664525u + 1013904223u) >> 8);
    long total = 0;
    for (int round = 0; round < 24; round++)
        for (int i = 0; i < N; i++)
            if (data[i] > (round << 18)) total += data[i] & 1023;
    printf("%ld\n", total);
}
