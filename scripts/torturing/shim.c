// Between ffn-train and the C library, by LD_PRELOAD: writes down what is asked of the disk, lets the n-th request fail, or kills
// the process group at the n-th change. All of it below one directory alone, FFN_SHIM_ROOT.
//   FFN_SHIM_LOG=FILE           every change, as "operation\tpath\tother path or offset\tlength\n" and that many bytes
//   FFN_SHIM_FAIL=KIND:N:ERRNO  the N-th open, read, write, fsync, rename, mkdir, unlink or close fails; N+ is all from the N-th on
//   FFN_SHIM_KILL=N             SIGKILL for the group before the N-th change
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

static const char* root;
static size_t root_length;
static int log_fd = -1;
static const char* fail_kind = "";
static long fail_at, fail_from, kill_at;
static int fail_errno;
static long failures_seen, changes_seen;

__attribute__((constructor)) static void set_up(void) {
  root = getenv("FFN_SHIM_ROOT");
  root_length = root ? strlen(root) : 0;
  const char* log = getenv("FFN_SHIM_LOG");
  if (log) log_fd = (int)syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_CREAT | O_APPEND, 0644);
  if (log_fd >= 0) {  // away from the numbers that the program counts on
    const int high = fcntl(log_fd, F_DUPFD_CLOEXEC, 200);
    if (high >= 0) syscall(SYS_close, log_fd), log_fd = high;
  }
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
  if (fails("open", full)) return -1;
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

ssize_t read(int fd, void* data, size_t size) {
  char path[4096];
  if (*fail_kind && path_of(fd, path) && fails("read", path)) return -1;
  return syscall(SYS_read, fd, data, size);
}

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
