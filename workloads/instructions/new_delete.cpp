// operator new and the sized operator delete, a given number of times, to be counted by callgrind: new_delete SIZE TIMES.
// Called through pointers, and as a difference of two runs, for the reasons given in pair.c.
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <new>

template <typename Function> static Function *opaque(Function *function) {
    __asm__("" : "+r"(function));
    return function;
}

int main(int count, char **arguments) {
    if (count != 3) {
        std::fprintf(stderr, "usage: new_delete SIZE TIMES\n");
        return 2;
    }
    const std::size_t size = std::strtoul(arguments[1], nullptr, 10);
    const long times = std::strtol(arguments[2], nullptr, 10);

    auto *allocate = opaque(static_cast<void *(*)(std::size_t)>(&operator new));
    auto *release = opaque(static_cast<void (*)(void *, std::size_t)>(&operator delete));
    for (long turn = 0; turn < times; turn++) {
        release(allocate(size), size);
    }

    Dl_info from;
    if (dladdr(reinterpret_cast<void *>(allocate), &from)) {
        std::printf("new: %s\n", from.dli_fname);
    }
    return 0;
}
