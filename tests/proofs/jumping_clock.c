/* A clock that jumps: loaded before a program, it adds the nanoseconds in the file CLOCK_FILE (8 bytes, read at every look) to
   the time of day. Clocks that only run, by which programs measure how long something takes, stay as they are. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>

static int64_t ahead(void) {
    static volatile int64_t *shared;
    static const int64_t none = 0;
    if (!shared) {
        const char *name = getenv("CLOCK_FILE");
        int fd = name ? open(name, O_RDONLY | O_CLOEXEC) : -1;
        void *seen = fd < 0 ? MAP_FAILED : mmap(NULL, 8, PROT_READ, MAP_SHARED, fd, 0);
        shared = seen == MAP_FAILED ? (volatile int64_t *)&none : seen;
    }
    return *shared;
}

int clock_gettime(clockid_t id, struct timespec *now) {
    static int (*real)(clockid_t, struct timespec *);
    if (!real) real = dlsym(RTLD_NEXT, "clock_gettime");
    int said = real(id, now);
    if (!said && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE)) {
        int64_t whole = now->tv_sec * INT64_C(1000000000) + now->tv_nsec + ahead();
        now->tv_sec = whole / 1000000000;
        now->tv_nsec = whole % 1000000000;
    }
    return said;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    struct timespec exact;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &exact);
    now->tv_sec = exact.tv_sec;
    now->tv_usec = exact.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *into) {
    struct timespec exact;
    clock_gettime(CLOCK_REALTIME, &exact);
    if (into) *into = exact.tv_sec;
    return exact.tv_sec;
}
