/* Collatz sequences: a chain of dependent integer operations. */
#include <stdio.h>
int main(void) {
    unsigned longest = 0, at = 0;
    for (unsigned start = 1; start < 200000; start++) {
        unsigned long long n = start;
        unsigned length = 0;
        while (n != 1) n = n & 1 ? 3 * n + 1 : n >> 1, length++;
        if (length > longest) longest = length, at = start;
    }
    printf("%u %u\n", at, longest);
}
