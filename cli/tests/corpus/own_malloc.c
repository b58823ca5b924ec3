/* A malloc in the executable, whose names come before those of every library. */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

static char heap[1 << 24];
static size_t used;

void *malloc(size_t size) {
    size_t start = (used + 31) & ~(size_t)15; /* 16 bytes before a block hold its size. */
    if (size > sizeof heap - start) return NULL;
    used = start + size;
    *(size_t *)(heap + start - 16) = size;
    return heap + start;
}

void free(void *block) { (void)block; }

void *calloc(size_t count, size_t size) {
    void *block = malloc(count * size);
    return block ? memset(block, 0, count * size) : NULL;
}

void *realloc(void *old, size_t size) {
    void *block = malloc(size);
    if (block && old) {
        size_t before = *(size_t *)((char *)old - 16);
        memcpy(block, old, before < size ? before : size);
    }
    return block;
}

int main(void) {
    char *text = malloc(100);
    strcpy(text, "hello");
    puts(text);
    free(text);
    return 0;
}
