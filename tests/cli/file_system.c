/* Preloaded by test_machines.py: a file system whose locks are missing or do nothing, or whose disk is full.
   FILE_SYSTEM: "without-locks" (ENOLCK), "lying-locks" (every lock is granted), "full-disk" (lock files cannot be written),
   "no-room-for-copies" (no file of a run that is copied can be written). */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int kind_is(const char* kind) {
  const char* asked = getenv("FILE_SYSTEM");
  return asked && strcmp(asked, kind) == 0;
}

static int locked(int command) { return command == F_OFD_SETLK || command == F_OFD_SETLKW || command == F_SETLK || command == F_SETLKW; }

static int change_lock(const char* name, int fd, int command, void* argument) {
  if (locked(command) && kind_is("without-locks")) {
    errno = ENOLCK;
    return -1;
  }
  if (locked(command) && kind_is("lying-locks")) return 0;
  int (*real)(int, int, ...) = (int (*)(int, int, ...))dlsym(RTLD_NEXT, name);
  return real(fd, command, argument);
}

#define FCNTL(name)                          \
  int name(int fd, int command, ...) {       \
    va_list arguments;                       \
    va_start(arguments, command);            \
    void* argument = va_arg(arguments, void*); \
    va_end(arguments);                       \
    return change_lock(#name, fd, command, argument); \
  }
FCNTL(fcntl)
FCNTL(fcntl64)

static int lock_file_is_full(int fd) {
  char link[64], path[PATH_MAX];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const ssize_t size = readlink(link, path, sizeof path);
  if (size < 5 || memcmp(path + size - 5, ".lock", 5) != 0 || !kind_is("full-disk")) return 0;
  errno = ENOSPC;
  return 1;
}

static int is_of_a_copy(int fd) {
  char link[64], path[PATH_MAX];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const ssize_t size = kind_is("no-room-for-copies") ? readlink(link, path, sizeof path - 1) : 0;
  if (size <= 0) return 0;
  path[size] = 0;
  const char* run = strstr(path, "/seed-");
  const char* mark = run ? strstr(run, ".tmp-") : NULL;
  return mark && strchr(mark, '/');
}

ssize_t write(int fd, const void* data, size_t size) {
  if (is_of_a_copy(fd)) {
    errno = ENOSPC;
    return -1;
  }
  ssize_t (*real)(int, const void*, size_t) = (ssize_t(*)(int, const void*, size_t))dlsym(RTLD_NEXT, "write");
  return real(fd, data, size);
}

#define PWRITE(name, offset_type)                                                                     \
  ssize_t name(int fd, const void* data, size_t size, offset_type offset) {                           \
    if (lock_file_is_full(fd)) return -1;                                                             \
    ssize_t (*real)(int, const void*, size_t, offset_type) =                                          \
        (ssize_t(*)(int, const void*, size_t, offset_type))dlsym(RTLD_NEXT, #name);                   \
    return real(fd, data, size, offset);                                                              \
  }
PWRITE(pwrite, off_t)
PWRITE(pwrite64, off64_t)
