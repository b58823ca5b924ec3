/* One small block; -O0 keeps it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(void) {
    char *text = (char *)malloc(100);
    if (!text) return 1;
    strcpy(text, "hello");
    puts(text);
    free(text);
    return 0;
}
