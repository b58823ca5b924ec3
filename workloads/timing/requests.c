/* Answers requests, each with a few hundred blocks of mixed sizes, and now and then one with a large buffer, in two threads over
 * a heap that grows and shrinks; prints what one took of its thread's CPU time in ns (median, slowest of 100, slowest of 1000, slowest of all), and the
 * resident set in KiB two seconds after the last one, with the threads idle but there.
 * It is for scripts/measure-presets.sh: what allocators do beside the answer (giving memory back) shows in the slowest. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 2, REQUESTS = 12000, BLOCKS = 300, KEPT = 20000 };

static long long taken[THREADS][REQUESTS];

static pthread_barrier_t answered;

static long long now(void) {
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static void *answer(void *argument) {
    long thread = (long)argument;
    unsigned long long random = 88172645463325252ULL + (unsigned long long)thread;
    char **kept = calloc(KEPT, sizeof *kept);
    for (int request = 0; request < REQUESTS; request++) {
        /* The heap swells for a tenth of the time, and shrinks again. */
        int keeps = request % 1000 < 100;
        char *blocks[BLOCKS];
        long long begin = now();
        for (int i = 0; i < BLOCKS; i++) {
            random ^= random << 13, random ^= random >> 7, random ^= random << 17;
            size_t size = 16 + random % (random % 32 == 0 ? 20000 : 500);
            memset(blocks[i] = malloc(size), 1, size);
        }
        if (request % 50 == 0) {
            size_t size = 256 * 1024 + random % (4 * 1024 * 1024);
            char *buffer = malloc(size);
            memset(buffer, 1, size);
            free(buffer);
        }
        for (int i = 0; i < BLOCKS; i++) {
            char **place = &kept[random++ % KEPT];
            free(*place), *place = NULL;
            if (keeps) *place = blocks[i];
            else free(blocks[i]);
        }
        taken[thread][request] = now() - begin;
    }
    for (int i = 0; i < KEPT; i++) free(kept[i]);
    pthread_barrier_wait(&answered);
    pause();
    return NULL;
}

static int compare(const void *a, const void *b) {
    long long x = *(const long long *)a, y = *(const long long *)b;
    return (x > y) - (x < y);
}

/* Another kind of load: large buffers, one after the other, as when files or pictures are read. */
static int buffers(void) {
    for (int turn = 0; turn < 150; turn++) {
        size_t size = (size_t)(8 + turn % 8) << 20;
        char *buffer = malloc(size);
        memset(buffer, 1, size);
        free(buffer);
    }
    return 0;
}

/* And another: threads that come, work a little and go, as in servers with a thread for each connection. */
static void *visit(void *unused) {
    char *blocks[1500];
    for (size_t i = 0; i < 1500; i++) memset(blocks[i] = malloc(16 + i), 1, 16 + i);
    for (size_t i = 0; i < 1500; i++) free(blocks[i]);
    return unused;
}

static int visitors(void) {
    for (int turn = 0; turn < 150; turn++) {
        pthread_t threads[4];
        for (int i = 0; i < 4; i++) pthread_create(&threads[i], NULL, visit, NULL);
        for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    }
    return 0;
}

int main(int count_of_arguments, char **arguments) {
    if (count_of_arguments > 1 && strcmp(arguments[1], "buffers") == 0) return buffers();
    if (count_of_arguments > 1 && strcmp(arguments[1], "visitors") == 0) return visitors();
    pthread_t threads[THREADS];
    pthread_barrier_init(&answered, NULL, THREADS + 1);
    for (long i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, answer, (void *)i);
    pthread_barrier_wait(&answered);
    sleep(2);
    long pages = 0;
    FILE *statm = fopen("/proc/self/statm", "r");
    if (!statm || fscanf(statm, "%*d %ld", &pages) != 1) return 1;
    long long *all = taken[0];
    long count = (long)THREADS * REQUESTS;
    qsort(all, (size_t)count, sizeof *all, compare);
    printf("%lld %lld %lld %lld %ld\n", all[count / 2], all[count / 100 * 99], all[count / 1000 * 999], all[count - 1],
        pages * (sysconf(_SC_PAGESIZE) / 1024));
    return 0;
}
