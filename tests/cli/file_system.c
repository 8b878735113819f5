/* Preloaded by test_machines.py: a file system whose locks are missing or do nothing.
   FILE_SYSTEM: "without-locks" (ENOLCK), "lying-locks" (every lock is granted). */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

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
