/* Heap sort: unpredictable branches and scattered loads. */
#include <stdio.h>
enum { N = 200000 };
static unsigned heap[N];
static void sift(int root, int n) {
    for (int child; (child = 2 * root + 1) < n; root = child) {
        if (child + 1 < n && heap[child] < heap[child + 1]) child++;
        if (heap[root] >= heap[child]) return;
        unsigned t = heap[root];
        heap[root] = heap[child], heap[child] = t;
    }
}
int main(void) {
    unsigned state = 7;
    for (int i = 0; i < N; i++) heap[i] = state = state * 1664525u + 1013904223u;
    for (int i = N / 2; i-- > 0;) sift(i, N);
    for (int n = N; n-- > 1;) {
        unsigned t = heap[0];
        heap[0] = heap[n], heap[n] = t;
        sift(0, n);
    }
    printf("%u\n", heap[N / 2]);
}
