/* Becomes a daemon, which allocates after the process that was started has ended. */
#include <stdlib.h>
#include <unistd.h>

int main(void) {
    if (fork()) return 0;
    setsid();
    if (fork()) return 0;
    usleep(300000);
    free(malloc(100));
    usleep(300000);
    return 0;
}
