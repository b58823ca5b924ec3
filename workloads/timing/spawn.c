/* Runs a command a number of times under each of several preload libraries in turn, and prints what each run took.
 *
 *     spawn TIMES LIBRARY... -- COMMAND [ARGUMENT...]        a LIBRARY of "" is a run without preload
 *
 * A line a run: index of the library, wall time in ns, user and system CPU time in us, peak resident set in KiB, and the
 * exit status (128 and the number for a signal). The order is rotated from turn to turn, so that none is always first.
 * It is a program of its own, and small, for two reasons: a child's peak resident set starts at that of the process it
 * was forked from, and starting a process from an interpreter costs more than the start that is to be measured. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static long long microseconds(struct timeval time) {
    return time.tv_sec * 1000000LL + time.tv_usec;
}

int main(int count, char **arguments) {
    int separator = 2;
    while (separator < count && strcmp(arguments[separator], "--") != 0) {
        separator++;
    }
    int libraries = separator - 2;
    if (libraries < 1 || separator + 1 >= count) {
        fprintf(stderr, "usage: spawn TIMES LIBRARY... -- COMMAND [ARGUMENT...]\n");
        return 2;
    }
    long times = strtol(arguments[1], NULL, 10);
    char **command = arguments + separator + 1;

    /* Standard output is for the figures, and writing to a terminal is not what is to be timed. */
    posix_spawn_file_actions_t quiet;
    if (posix_spawn_file_actions_init(&quiet) != 0 ||
        posix_spawn_file_actions_addopen(&quiet, STDIN_FILENO, "/dev/null", O_RDONLY, 0) != 0 ||
        posix_spawn_file_actions_addopen(&quiet, STDOUT_FILENO, "/dev/null", O_WRONLY, 0) != 0) {
        fprintf(stderr, "spawn: no memory\n");
        return 1;
    }

    for (long turn = 0; turn < times; turn++) {
        for (int step = 0; step < libraries; step++) {
            int which = (int)((turn + step) % libraries);
            const char *library = arguments[2 + which];
            if (*library ? setenv("LD_PRELOAD", library, 1) : unsetenv("LD_PRELOAD")) {
                perror("spawn: setenv");
                return 1;
            }
            pid_t child;
            double start = now();
            int error = posix_spawnp(&child, command[0], &quiet, NULL, command, environ);
            if (error) {
                fprintf(stderr, "spawn: cannot run %s: %s\n", command[0], strerror(error));
                return 1;
            }
            int status;
            struct rusage usage;
            while (wait4(child, &status, 0, &usage) < 0) {
                if (errno != EINTR) {
                    perror("spawn: wait4");
                    return 1;
                }
            }
            double wall = now() - start;
            printf("%d %.0f %lld %ld %d\n", which, wall, microseconds(usage.ru_utime) + microseconds(usage.ru_stime),
                   usage.ru_maxrss, WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status));
        }
    }
    return 0;
}
