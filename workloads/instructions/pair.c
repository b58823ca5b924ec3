/* One way to allocate and free, a given number of times, to be counted by callgrind.
 *
 *     pair WHAT SIZE TIMES
 *
 * The same run with two numbers of TIMES gives, as a difference, the instructions of one turn: start-up cancels out.
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

static void pairs(allocate *get, release *put, size_t size, long times) {
    for (long turn = 0; turn < times; turn++) {
        put(get(size));
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

    allocate *malloc_ = OPAQUE(allocate *, NAME(malloc));
    allocate_zeroed *calloc_ = OPAQUE(allocate_zeroed *, NAME(calloc));
    resize *realloc_ = OPAQUE(resize *, NAME(realloc));
    allocate_aligned *aligned_alloc_ = OPAQUE(allocate_aligned *, NAME(aligned_alloc));
    release *free_ = OPAQUE(release *, NAME(free));

    if (strcmp(what, "empty") == 0) {
        pairs(OPAQUE(allocate *, nothing), OPAQUE(release *, forget), size, times);
    } else if (strcmp(what, "malloc") == 0) {
        pairs(malloc_, free_, size, times);
    } else if (strcmp(what, "calloc") == 0) {
        for (long turn = 0; turn < times; turn++) {
            free_(calloc_(1, size));
        }
    } else if (strcmp(what, "realloc") == 0) {
        /* To double the size and away: what a growing buffer does. */
        for (long turn = 0; turn < times; turn++) {
            free_(realloc_(malloc_(size), 2 * size));
        }
    } else if (strcmp(what, "aligned_alloc") == 0) {
        for (long turn = 0; turn < times; turn++) {
            free_(aligned_alloc_(64, size));
        }
    } else {
        fprintf(stderr, "pair: unknown function %s\n", what);
        return 2;
    }

    Dl_info from;
    if (dladdr((void *)malloc_, &from)) {
        printf("malloc: %s\n", from.dli_fname);
    }
    return 0;
}
