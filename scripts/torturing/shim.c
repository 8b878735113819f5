// Between ffn-train and the C library, by LD_PRELOAD: writes down what is asked of the disk, lets the n-th request fail, kills
// the process group at the n-th change, or turns the clock about. All of it below one directory alone, FFN_SHIM_ROOT.
//   FFN_SHIM_LOG=FILE           every change, as "operation\tpath\tother path or offset\tlength\n" and that many bytes
//   FFN_SHIM_FAIL=KIND:N:ERRNO  the N-th open, read, stat, readdir, write, fsync, rename, mkdir, unlink or close fails; N+ is all from the N-th on
//                               KIND look: any open for reading, read, stat or readdir
//                               KIND statx: each of them, wherever, as in a container whose profile is older than the call
//   FFN_SHIM_LOOKS=FILE         a byte for each request of the kind look
//   FFN_SHIM_KILL=N             SIGKILL for the group before the N-th change
//   FFN_SHIM_CLOCK=SEED         each look at the wall clock sees another time, often an earlier one
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

static const char* root;
static size_t root_length;
static int log_fd = -1;
static const char* fail_kind = "";
static long fail_at, fail_from, kill_at;
static int fail_errno;
static long failures_seen, changes_seen;
static int looks_fd = -1;
static uint64_t clock_state;

__attribute__((constructor)) static void set_up(void) {
  root = getenv("FFN_SHIM_ROOT");
  root_length = root ? strlen(root) : 0;
  const char* log = getenv("FFN_SHIM_LOG");
  if (log) log_fd = (int)syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_CREAT | O_APPEND, 0644);
  if (log_fd >= 0) {  // away from the numbers that the program counts on
    const int high = fcntl(log_fd, F_DUPFD_CLOEXEC, 200);
    if (high >= 0) syscall(SYS_close, log_fd), log_fd = high;
  }
  const char* looks = getenv("FFN_SHIM_LOOKS");
  if (looks) looks_fd = (int)syscall(SYS_openat, AT_FDCWD, looks, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  const char* fail = getenv("FFN_SHIM_FAIL");
  if (fail) {
    static char kind[16];
    char text[16] = "";
    if (sscanf(fail, "%15[a-z]:%15[0-9+]:%d", kind, text, &fail_errno) == 3) {
      fail_kind = kind, fail_at = atol(text);
      fail_from = strchr(text, '+') != NULL;
    }
  }
  const char* at = getenv("FFN_SHIM_KILL");
  if (at) kill_at = atol(at);
  const char* seed = getenv("FFN_SHIM_CLOCK");
  if (seed) clock_state = strtoull(seed, NULL, 10) * 2 + 1;
}

static int ours(const char* path) { return root && strncmp(path, root, root_length) == 0; }

static const char* absolute(int at, const char* path, char* buffer) {
  if (path[0] == '/') return path;
  char link[64], base[2048];
  ssize_t n;
  if (at == AT_FDCWD) {
    n = getcwd(base, sizeof base) ? (ssize_t)strlen(base) : -1;
  } else {
    snprintf(link, sizeof link, "/proc/self/fd/%d", at);
    n = readlink(link, base, sizeof base - 1);
  }
  if (n < 0) return path;
  base[n] = 0;
  snprintf(buffer, 4096, "%s/%.2000s", base, path);
  return buffer;
}

static int path_of(int fd, char* buffer) {
  char link[64];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const ssize_t n = readlink(link, buffer, 4095);
  if (n < 0) return 0;
  buffer[n] = 0;
  return ours(buffer);
}

static int fails(const char* kind, const char* path) {
  if (strcmp(kind, fail_kind) != 0 || !ours(path)) return 0;
  const long n = __sync_add_and_fetch(&failures_seen, 1);
  if (n != fail_at && !(fail_from && n > fail_at)) return 0;
  errno = fail_errno;
  return 1;
}

// A look as such, and a request of its kind. Its result is not used where it does not fail: errno stays.
static int look_fails(const char* kind, const char* path) {
  if (looks_fd >= 0 && ours(path)) syscall(SYS_write, looks_fd, ".", 1);
  return fails("look", path) || fails(kind, path);
}

static void note(const char* operation, const char* path, const char* other, const void* data, size_t length) {
  const int saved = errno;
  if (log_fd >= 0) {
    char head[9000];
    const int n = snprintf(head, sizeof head, "%s\t%s\t%s\t%zu\n", operation, path, other, length);
    char* all = malloc((size_t)n + length);
    memcpy(all, head, (size_t)n);
    if (length) memcpy(all + n, data, length);
    syscall(SYS_write, log_fd, all, (size_t)n + length);  // one call: nobody's record is torn by another's
    free(all);
  }
  errno = saved;
}

static void change(const char* path) {
  if (kill_at && ours(path) && __sync_add_and_fetch(&changes_seen, 1) == kill_at) kill(0, SIGKILL);
}

static int open_as(int at, const char* path, int flags, mode_t mode) {
  char buffer[4096];
  const char* full = absolute(at, path, buffer);
  const int reads = (flags & O_ACCMODE) == O_RDONLY && !(flags & (O_CREAT | O_DIRECTORY));
  if (reads ? look_fails("open", full) : fails("open", full)) return -1;
  const int mine = ours(full) && (flags & (O_CREAT | O_TRUNC));
  struct stat before;
  const int was_there = mine && syscall(SYS_newfstatat, AT_FDCWD, full, &before, 0) == 0;
  if (mine) change(full);
  const int fd = (int)syscall(SYS_openat, at, path, flags, mode);
  if (fd >= 0 && mine && !was_there) note("create", full, "", NULL, 0);
  else if (fd >= 0 && mine && (flags & O_TRUNC)) note("truncate", full, "0", NULL, 0);
  return fd;
}

#define MODE                            \
  mode_t mode = 0;                      \
  if (flags & (O_CREAT | O_TMPFILE)) {  \
    va_list list;                       \
    va_start(list, flags);              \
    mode = (mode_t)va_arg(list, int);   \
    va_end(list);                       \
  }

int open(const char* path, int flags, ...) { MODE return open_as(AT_FDCWD, path, flags, mode); }
int open64(const char* path, int flags, ...) { MODE return open_as(AT_FDCWD, path, flags, mode); }
int openat(int at, const char* path, int flags, ...) { MODE return open_as(at, path, flags, mode); }
int openat64(int at, const char* path, int flags, ...) { MODE return open_as(at, path, flags, mode); }
int creat(const char* path, mode_t mode) { return open_as(AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, mode); }

ssize_t read(int fd, void* data, size_t size) {
  char path[4096];
  if ((*fail_kind || looks_fd >= 0) && path_of(fd, path) && look_fails("read", path)) return -1;
  return syscall(SYS_read, fd, data, size);
}

static int stat_as(int at, const char* path, struct stat* out, int flags) {
  char buffer[4096];
  if (look_fails("stat", absolute(at, path, buffer))) return -1;
  return (int)syscall(SYS_newfstatat, at, path, out, flags);
}
int stat(const char* restrict path, struct stat* restrict out) { return stat_as(AT_FDCWD, path, out, 0); }
int stat64(const char* restrict path, struct stat64* restrict out) { return stat_as(AT_FDCWD, path, (struct stat*)out, 0); }
int lstat(const char* restrict path, struct stat* restrict out) { return stat_as(AT_FDCWD, path, out, AT_SYMLINK_NOFOLLOW); }
int lstat64(const char* restrict path, struct stat64* restrict out) { return stat_as(AT_FDCWD, path, (struct stat*)out, AT_SYMLINK_NOFOLLOW); }
int fstatat(int at, const char* restrict path, struct stat* restrict out, int flags) { return stat_as(at, path, out, flags); }
int fstatat64(int at, const char* restrict path, struct stat64* restrict out, int flags) { return stat_as(at, path, (struct stat*)out, flags); }
int statx(int at, const char* restrict path, int flags, unsigned mask, struct statx* restrict out) {
  char buffer[4096];
  const char* full = absolute(at, path, buffer);
  if (strcmp(fail_kind, "statx") == 0) return errno = fail_errno, -1;
  if (look_fails("stat", full)) return -1;
  return (int)syscall(SYS_statx, at, path, flags, mask, out);
}

DIR* opendir(const char* path) {
  char buffer[4096];
  if (look_fails("readdir", absolute(AT_FDCWD, path, buffer))) return NULL;
  DIR* (*real)(const char*) = (DIR * (*)(const char*)) dlsym(RTLD_NEXT, "opendir");
  return real(path);
}
struct dirent* readdir(DIR* directory) {
  char path[4096];
  if (path_of(dirfd(directory), path) && look_fails("readdir", path)) return NULL;
  struct dirent* (*real)(DIR*) = (struct dirent * (*)(DIR*)) dlsym(RTLD_NEXT, "readdir");
  return real(directory);
}
struct dirent64* readdir64(DIR* directory) { return (struct dirent64*)readdir(directory); }

static ssize_t wrote(int fd, const char* path, const void* data, ssize_t n, off_t at) {
  if (n > 0) {
    char offset[32];
    snprintf(offset, sizeof offset, "%lld", (long long)(at >= 0 ? at : lseek(fd, 0, SEEK_CUR) - n));
    note("write", path, offset, data, (size_t)n);
  }
  return n;
}

ssize_t write(int fd, const void* data, size_t size) {
  char path[4096];
  if ((log_fd < 0 && !*fail_kind && !kill_at) || !path_of(fd, path)) return syscall(SYS_write, fd, data, size);
  if (fails("write", path)) return -1;
  change(path);
  return wrote(fd, path, data, syscall(SYS_write, fd, data, size), -1);
}

ssize_t writev(int fd, const struct iovec* parts, int count) {
  ssize_t total = 0;
  for (int i = 0; i < count; ++i) {
    if (parts[i].iov_len == 0) continue;
    const ssize_t n = write(fd, parts[i].iov_base, parts[i].iov_len);
    if (n < 0) return total > 0 ? total : n;
    total += n;
    if ((size_t)n < parts[i].iov_len) break;
  }
  return total;
}

ssize_t pwrite(int fd, const void* data, size_t size, off_t at) {
  char path[4096];
  if (!path_of(fd, path)) return syscall(SYS_pwrite64, fd, data, size, at);
  if (fails("write", path)) return -1;
  change(path);
  return wrote(fd, path, data, syscall(SYS_pwrite64, fd, data, size, at), at);
}
ssize_t pwrite64(int fd, const void* data, size_t size, off_t at) { return pwrite(fd, data, size, at); }

static int sync_fd(int fd, long number) {
  char path[4096];
  const int mine = path_of(fd, path);
  if (mine && fails("fsync", path)) return -1;
  if (mine) change(path);
  const int result = (int)syscall(number, fd);
  if (mine && result == 0) note("fsync", path, "", NULL, 0);
  return result;
}
int fsync(int fd) { return sync_fd(fd, SYS_fsync); }
int fdatasync(int fd) { return sync_fd(fd, SYS_fdatasync); }

int close(int fd) {
  char path[4096];
  if (*fail_kind && path_of(fd, path) && fails("close", path)) {
    syscall(SYS_close, fd);
    errno = fail_errno;
    return -1;
  }
  return (int)syscall(SYS_close, fd);
}

int rename(const char* from, const char* to) {
  char a[4096], b[4096];
  const char *source = absolute(AT_FDCWD, from, a), *target = absolute(AT_FDCWD, to, b);
  if (fails("rename", target)) return -1;
  change(target);
  const int result = (int)syscall(SYS_renameat, AT_FDCWD, from, AT_FDCWD, to);
  if (result == 0 && ours(target)) note("rename", source, target, NULL, 0);
  return result;
}

static int unlink_as(int at, const char* path, int flags) {
  char buffer[4096];
  const char* full = absolute(at, path, buffer);
  if (fails("unlink", full)) return -1;
  change(full);
  const int result = (int)syscall(SYS_unlinkat, at, path, flags);
  if (result == 0 && ours(full)) note("unlink", full, "", NULL, 0);
  return result;
}
int unlink(const char* path) { return unlink_as(AT_FDCWD, path, 0); }
int unlinkat(int at, const char* path, int flags) { return unlink_as(at, path, flags); }
int rmdir(const char* path) { return unlink_as(AT_FDCWD, path, AT_REMOVEDIR); }
int remove(const char* path) {
  struct stat what;
  return unlink_as(AT_FDCWD, path, syscall(SYS_newfstatat, AT_FDCWD, path, &what, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(what.st_mode) ? AT_REMOVEDIR : 0);
}

int mkdir(const char* path, mode_t mode) {
  char buffer[4096];
  const char* full = absolute(AT_FDCWD, path, buffer);
  if (fails("mkdir", full)) return -1;
  change(full);
  const int result = (int)syscall(SYS_mkdirat, AT_FDCWD, path, mode);
  if (result == 0 && ours(full)) note("mkdir", full, "", NULL, 0);
  return result;
}

int ftruncate(int fd, off_t size) {
  char path[4096], text[32];
  const int mine = path_of(fd, path);
  if (mine) change(path);
  const int result = (int)syscall(SYS_ftruncate, fd, size);
  snprintf(text, sizeof text, "%lld", (long long)size);
  if (mine && result == 0) note("truncate", path, text, NULL, 0);
  return result;
}
int ftruncate64(int fd, off_t size) { return ftruncate(fd, size); }

// ---- the clock

static long turned(void) {  // seconds, between a day back and a day on; every eighth time decades
  uint64_t x = __sync_add_and_fetch(&clock_state, 0x9E3779B97F4A7C15ull);
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
  x ^= x >> 27;
  const long range = x % 8 == 0 ? 900000000 : 86400;
  return (long)((x >> 8) % (uint64_t)(2 * range)) - range;
}

int clock_gettime(clockid_t clock, struct timespec* out) {
  const int result = (int)syscall(SYS_clock_gettime, clock, out);
  if (clock_state && result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) out->tv_sec += turned();
  return result;
}

int gettimeofday(struct timeval* restrict out, void* restrict zone) {
  const int result = (int)syscall(SYS_gettimeofday, out, zone);
  if (clock_state && result == 0) out->tv_sec += turned();
  return result;
}

time_t time(time_t* out) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (out) *out = now.tv_sec;
  return now.tv_sec;
}
