/* A thread that only ever frees: free_only SIZE BLOCKS.
 *
 * The main thread allocates; the other frees all of it and never allocates itself. jemalloc keeps such a thread on a slow
 * path for its first frees; a library that mends the crash of jemalloc 5.3.1 at the end of threads may keep it there for
 * longer (5.3.0 does for good). This says what that costs: in nanoseconds of the thread's own CPU time as printed, or in
 * instructions under callgrind --toggle-collect='turns_*'. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static void **blocks;
static long count;

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

/* A function of its own and never inlined, so that callgrind can tell it from the rest. */
__attribute__((noinline)) void turns_free(void) {
    for (long index = 0; index < count; index++) {
        free(blocks[index]);
    }
}

static void *thread(void *nanoseconds) {
    double start = now();
    turns_free();
    *(double *)nanoseconds = now() - start;
    return NULL;
}

int main(int arguments_count, char **arguments) {
    if (arguments_count != 3) {
        fprintf(stderr, "usage: free_only SIZE BLOCKS\n");
        return 2;
    }
    size_t size = strtoul(arguments[1], NULL, 10);
    count = strtol(arguments[2], NULL, 10);
    blocks = malloc((size_t)count * sizeof *blocks);
    for (long index = 0; blocks != NULL && index < count; index++) {
        blocks[index] = malloc(size);
        if (blocks[index] == NULL) {
            blocks = NULL;
        }
    }
    if (blocks == NULL) {
        fprintf(stderr, "free_only: no memory for %ld blocks of %zu bytes\n", count, size);
        return 1;
    }

    pthread_t id;
    double nanoseconds = 0;
    if (pthread_create(&id, NULL, thread, &nanoseconds) != 0) {
        fprintf(stderr, "free_only: cannot start a thread\n");
        return 1;
    }
    pthread_join(id, NULL);
    printf("free: %.3f ns\n", nanoseconds / (double)count);

    Dl_info from;
    if (dladdr((void *)free, &from)) {
        printf("malloc: %s\n", from.dli_fname);
    }
    return 0;
}
