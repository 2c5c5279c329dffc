/* Counts the words of a text that it makes itself, so that nothing but the program is measured. */
#include <stdio.h>
#include <stdlib.h>

static unsigned long counted(const char *text, unsigned long length)
{
    unsigned long words = 0;
    int inside = 0;
    for (unsigned long i = 0; i < length; i++) {
        int blank = text[i] == ' ';
        words += !blank && !inside;
        inside = !blank;
    }
    return words;
}

int main(int argc, char **argv)
{
    unsigned long length = argc > 1 ? strtoul(argv[1], NULL, 10) : 0, words = 0;
    int rounds = argc > 2 ? atoi(argv[2]) : 1;
    char *text = malloc(length + 1);
    if (!text)
        return 1;
    for (unsigned long i = 0; i < length; i++)
        text[i] = i * 2654435761u >> 28 ? 'a' : ' ';
    for (int round = 0; round < rounds; round++)
        words += counted(text, length);
    printf("%lu\n", words);
    free(text);
    return 0;
}
