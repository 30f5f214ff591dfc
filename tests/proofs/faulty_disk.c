/* A disk that fails: loaded before a program, it counts what is changed below FAULT_ROOT in the file FAULT_COUNT (8 bytes,
   shared by all processes), and at operation number FAULT_AT kills the process group ("kill"), or fails: once ("EIO"), or from
   then on ("ENOSPC", as a full disk does). "tell" waits before each operation until its number stands in the second 8 bytes:
   somebody has looked at the disk as it is. What lies below FAULT_ROOT/dagster is not counted. FAULT_SITE="write journal-*"
   counts only such operations on such paths (a disk that is full is full for all); FAULT_LOG is a file that gets the number, operation and path of each. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

/* The part of a path below the root; NULL where it lies elsewhere, or is not counted. `whole` is room to write in. */
static const char *below(const char *path, char *whole) {
    const char *root = getenv("FAULT_ROOT");
    if (!root || !path) return NULL;
    if (path[0] != '/') {
        char here[PATH_MAX];
        if (!getcwd(here, sizeof here)) return NULL;
        if (snprintf(whole, PATH_MAX, "%s/%s", here, path) >= PATH_MAX) return NULL;
        path = whole;
    }
    size_t n = strlen(root);
    return !strncmp(path, root, n) && path[n] == '/' && strncmp(path + n, "/dagster", 8) ? path + n + 1 : NULL;
}

static int elsewhere(const char *operation, const char *path) {
    const char *site = getenv("FAULT_SITE");
    size_t n = strlen(operation);
    return site && *site && (strncmp(site, operation, n) || site[n] != ' ' || fnmatch(site + n + 1, path, FNM_PATHNAME));
}

static void note(long number, const char *operation, const char *path) {
    const char *name = getenv("FAULT_LOG");
    char line[PATH_MAX + 64];
    int fd = name && *name ? REAL(open)(name, O_WRONLY | O_APPEND | O_CREAT, 0600) : -1;
    if (fd < 0) return;
    int n = snprintf(line, sizeof line, "%ld %s %s\n", number, operation, path);
    if (REAL(write)(fd, line, n) < 0) abort();
    close(fd);
}

static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;

/* Whether the operation on a path below the root fails; errno says why. */
static int fails(const char *operation, const char *given) {
    char whole[PATH_MAX];
    const char *path = below(given, whole);
    if (!path) return 0;
    const char *name = getenv("FAULT_COUNT"), *kind = getenv("FAULT_KIND"), *at = getenv("FAULT_AT");
    if (!name || !kind || !at) return 0;
    int fd = REAL(open)(name, O_RDWR);
    if (fd < 0) return 0;
    long *count = mmap(NULL, 2 * sizeof *count, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (count == MAP_FAILED) return 0;
    long n = atol(at);
    int full = !strcmp(kind, "ENOSPC"); /* then on every path */
    if (elsewhere(operation, path)) {
        int failed = full && n && __atomic_load_n(count, __ATOMIC_SEQ_CST) >= n;
        munmap(count, 2 * sizeof *count);
        errno = ENOSPC;
        return failed;
    }
    int telling = !strcmp(kind, "tell");
    if (telling) pthread_mutex_lock(&one_at_a_time);
    long now = __sync_add_and_fetch(count, 1);
    for (int i = 0; telling && i < 600000 && __atomic_load_n(count + 1, __ATOMIC_SEQ_CST) < now; i++) usleep(100);
    if (telling) pthread_mutex_unlock(&one_at_a_time);
    munmap(count, 2 * sizeof *count);
    note(now, operation, path);
    if (!n || now < n || (now > n && !full)) return 0;
    if (!strcmp(kind, "kill")) kill(0, SIGKILL);
    errno = strcmp(kind, "EIO") ? ENOSPC : EIO;
    return 1;
}

/* A full disk still lets files be removed and opened for reading. */
static int frees(void) { const char *kind = getenv("FAULT_KIND"); return kind && !strcmp(kind, "ENOSPC"); }

static int fd_fails(const char *operation, int fd) {
    char link[64], path[PATH_MAX];
    if (!getenv("FAULT_ROOT")) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, sizeof path - 1);
    if (n <= 0) return 0;
    path[n] = 0;
    return fails(operation, path);
}

#define OPENS(name, ARGS, CALL, PATH)                                                                  \
    int name ARGS {                                                                                    \
        mode_t mode = 0;                                                                               \
        if (flags & O_CREAT) { va_list rest; va_start(rest, flags); mode = va_arg(rest, mode_t); va_end(rest); } \
        if ((flags & (O_CREAT | O_TRUNC)) && fails("open", PATH)) return -1;                           \
        return CALL;                                                                                   \
    }
OPENS(open, (const char *path, int flags, ...), REAL(open)(path, flags, mode), path)
OPENS(open64, (const char *path, int flags, ...), REAL(open64)(path, flags, mode), path)
OPENS(openat, (int at, const char *path, int flags, ...), REAL(openat)(at, path, flags, mode), path)
OPENS(openat64, (int at, const char *path, int flags, ...), REAL(openat64)(at, path, flags, mode), path)

ssize_t write(int fd, const void *data, size_t n) { return fd_fails("write", fd) ? -1 : REAL(write)(fd, data, n); }
ssize_t writev(int fd, const struct iovec *v, int n) { return fd_fails("write", fd) ? -1 : REAL(writev)(fd, v, n); }
ssize_t pwrite(int fd, const void *d, size_t n, off_t o) { return fd_fails("write", fd) ? -1 : REAL(pwrite)(fd, d, n, o); }
ssize_t pwrite64(int fd, const void *d, size_t n, off64_t o) { return fd_fails("write", fd) ? -1 : REAL(pwrite64)(fd, d, n, o); }
int fsync(int fd) { return fd_fails("fsync", fd) ? -1 : REAL(fsync)(fd); }
int fdatasync(int fd) { return fd_fails("fsync", fd) ? -1 : REAL(fdatasync)(fd); }
int ftruncate(int fd, off_t n) { return fd_fails("ftruncate", fd) ? -1 : REAL(ftruncate)(fd, n); }
int ftruncate64(int fd, off64_t n) { return fd_fails("ftruncate", fd) ? -1 : REAL(ftruncate64)(fd, n); }
int rename(const char *a, const char *b) { return fails("rename", b) ? -1 : REAL(rename)(a, b); }
int renameat(int x, const char *a, int y, const char *b) { return fails("rename", b) ? -1 : REAL(renameat)(x, a, y, b); }
int link(const char *a, const char *b) { return fails("link", b) ? -1 : REAL(link)(a, b); }
int mkdir(const char *path, mode_t mode) { return fails("mkdir", path) ? -1 : REAL(mkdir)(path, mode); }
int unlink(const char *path) { return !frees() && fails("unlink", path) ? -1 : REAL(unlink)(path); }
int unlinkat(int at, const char *path, int flags) { return !frees() && fails("unlink", path) ? -1 : REAL(unlinkat)(at, path, flags); }
