/* Works, and in some of its runs touches 8 MB of fresh memory first: faults PERCENT WORK */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/random.h>

enum { BYTES = 8 << 20, PAGE = 4096 };

int main(int argc, char **argv)
{
    unsigned lot;
    if (argc != 3 || getrandom(&lot, sizeof lot, 0) != sizeof lot)
        return 2;
    if (lot % 100 < (unsigned)atoi(argv[1])) {
        volatile char *fresh = mmap(0, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (fresh == MAP_FAILED)
            return 1;
        for (size_t at = 0; at < BYTES; at += PAGE)
            fresh[at] = 1;
    }
    volatile double sum = 0;
    for (long i = 1; i <= atol(argv[2]); i++)
        sum += 1.0 / i;
    return sum < 0;
}
