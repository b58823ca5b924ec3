// operator new and the sized operator delete, a given number of times, to be counted by callgrind: new_delete SIZE TIMES.
// Called through pointers, in a function of its own, for the reasons given in pair.c.
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <new>

template <typename Function> static Function *opaque(Function *function) {
    __asm__("" : "+r"(function));
    return function;
}

using Allocate = void *(std::size_t);
using Release = void(void *, std::size_t);

extern "C" __attribute__((noinline)) void turns_new_delete(Allocate *get, Release *put, std::size_t size, long times) {
    for (long turn = 0; turn < times; turn++) {
        put(get(size), size);
    }
}

int main(int count, char **arguments) {
    if (count != 3) {
        std::fprintf(stderr, "usage: new_delete SIZE TIMES\n");
        return 2;
    }
    const std::size_t size = std::strtoul(arguments[1], nullptr, 10);
    const long times = std::strtol(arguments[2], nullptr, 10);

    auto *get = opaque(static_cast<Allocate *>(&operator new));
    auto *put = opaque(static_cast<Release *>(&operator delete));
    turns_new_delete(get, put, size, times);

    Dl_info from;
    if (dladdr(reinterpret_cast<void *>(get), &from)) {
        std::printf("new: %s\n", from.dli_fname);
    }
    return 0;
}
