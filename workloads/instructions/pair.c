/* One way to allocate and free, a given number of times, to be counted by callgrind.
 *
 *     pair WHAT SIZE TIMES
 *
 * Run with callgrind --toggle-collect='turns_*', so that start-up does not count. Two runs that differ by a few TIMES give, as
 * a difference, the instructions of one turn when nothing else is due; a long run gives the average with all that is.
 * Every function is called through a pointer that is loaded once. So the call itself costs the same whether the function
 * is in a preloaded library, or (compiled with -DDIRECT, linked with jemalloc's archive from the Rust crate) jemalloc's own:
 * what differs is the way from the exported name to jemalloc, and nothing else.
 *
 * Prints the file that malloc comes from, so that a count is never put down to an allocator that was not there. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef DIRECT
/* The names under which the crate builds jemalloc. */
extern void *_rjem_malloc(size_t);
extern void *_rjem_calloc(size_t, size_t);
extern void *_rjem_realloc(void *, size_t);
extern void *_rjem_aligned_alloc(size_t, size_t);
extern void _rjem_free(void *);
#define NAME(function) _rjem_##function
#else
#define NAME(function) function
#endif

/* Volatile pointers would be loaded anew in each turn; a pointer that the compiler cannot see through is not. */
#define OPAQUE(type, function) ({ type value = (function); __asm__("" : "+r"(value)); value; })
typedef void *allocate(size_t);
typedef void *allocate_zeroed(size_t, size_t);
typedef void *resize(void *, size_t);
typedef void *allocate_aligned(size_t, size_t);
typedef void release(void *);

static void *nothing(size_t size) { return (void *)size; }
static void forget(void *block) { (void)block; }

/* Never inlined, so that callgrind can tell the turns from the rest of the program. */
#define TURNS __attribute__((noinline)) void

TURNS turns_malloc(allocate *get, release *put, size_t size, long times) {
    for (long turn = 0; turn < times; turn++) {
        put(get(size));
    }
}

TURNS turns_calloc(allocate_zeroed *get, release *put, size_t size, long times) {
    for (long turn = 0; turn < times; turn++) {
        put(get(1, size));
    }
}

/* To double the size and away: what a growing buffer does. */
TURNS turns_realloc(allocate *get, resize *grow, release *put, size_t size, long times) {
    for (long turn = 0; turn < times; turn++) {
        put(grow(get(size), 2 * size));
    }
}

TURNS turns_aligned_alloc(allocate_aligned *get, release *put, size_t size, long times) {
    for (long turn = 0; turn < times; turn++) {
        put(get(64, size));
    }
}

int main(int count, char **arguments) {
    if (count != 4) {
        fprintf(stderr, "usage: pair empty|malloc|calloc|realloc|aligned_alloc SIZE TIMES\n");
        return 2;
    }
    const char *what = arguments[1];
    size_t size = strtoul(arguments[2], NULL, 10);
    long times = strtol(arguments[3], NULL, 10);

    allocate *get = OPAQUE(allocate *, NAME(malloc));
    release *put = OPAQUE(release *, NAME(free));
    if (strcmp(what, "empty") == 0) {
        turns_malloc(OPAQUE(allocate *, nothing), OPAQUE(release *, forget), size, times);
    } else if (strcmp(what, "malloc") == 0) {
        turns_malloc(get, put, size, times);
    } else if (strcmp(what, "calloc") == 0) {
        turns_calloc(OPAQUE(allocate_zeroed *, NAME(calloc)), put, size, times);
    } else if (strcmp(what, "realloc") == 0) {
        turns_realloc(get, OPAQUE(resize *, NAME(realloc)), put, size, times);
    } else if (strcmp(what, "aligned_alloc") == 0) {
        turns_aligned_alloc(OPAQUE(allocate_aligned *, NAME(aligned_alloc)), put, size, times);
    } else {
        fprintf(stderr, "pair: unknown function %s\n", what);
        return 2;
    }

    Dl_info from;
    if (dladdr((void *)get, &from)) {
        printf("malloc: %s\n", from.dli_fname);
    }
    return 0;
}
