/* Put before a process (LD_PRELOAD): moves its clock, fails its writes and syncs of one project file, and keeps a
   journal of what was written and synced, so that a power loss can be played afterwards. See _fault_processes.py. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

struct control { int64_t clock_microseconds; int32_t full, sync_fails, short_writes, padding; };
struct record { int32_t kind, file; int64_t place, size, before, after; }; /* then the bytes of before and of after */
enum { WRITE = 1, SYNC = 2, TRUNCATE = 3 };

static struct control *control;
static const char *project;
static int journal = -1;
static ssize_t (*real_pwrite)(int, const void *, size_t, off_t);
static int (*real_fsync)(int), (*real_fdatasync)(int), (*real_truncate)(int, off_t);
static int (*real_clock)(clockid_t, struct timespec *);

__attribute__((constructor)) static void begin(void) {
  real_pwrite = dlsym(RTLD_NEXT, "pwrite64");
  real_fsync = dlsym(RTLD_NEXT, "fsync");
  real_fdatasync = dlsym(RTLD_NEXT, "fdatasync");
  real_truncate = dlsym(RTLD_NEXT, "ftruncate64");
  real_clock = dlsym(RTLD_NEXT, "clock_gettime");
  project = getenv("FAULT_PROJECT");
  const char *path = getenv("FAULT_CONTROL"), *kept = getenv("FAULT_JOURNAL");
  int file = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
  if (file >= 0) {
    void *mapped = mmap(NULL, sizeof *control, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    control = mapped == MAP_FAILED ? NULL : mapped;
    close(file);
  }
  if (kept) journal = open(kept, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
}

/* 0: not ours, 1: the project's file, 2: its write-ahead log */
static int which(int file) {
  char link[32], path[1024];
  if (!project || !control) return 0;
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (length < 0) return 0;
  path[length] = 0;
  size_t ours = strlen(project);
  if (strncmp(path, project, ours)) return 0;
  return !path[ours] ? 1 : !strcmp(path + ours, "-wal") ? 2 : 0;
}

static void note(int kind, int of, int file, off_t place, size_t size, const void *data) {
  if (journal < 0) return;
  struct stat now;
  size_t before = 0;
  if (fstat(file, &now)) return;
  if (kind != SYNC && now.st_size > place) before = now.st_size - place;
  if (kind == WRITE && before > size) before = size;
  struct record head = {kind, of, place, now.st_size, before, kind == WRITE ? size : 0};
  char *all = malloc(sizeof head + before + size);
  memcpy(all, &head, sizeof head);
  if (before && pread(file, all + sizeof head, before, place) < 0) before = 0;
  if (kind == WRITE) memcpy(all + sizeof head + before, data, size);
  size_t length = sizeof head + before + (kind == WRITE ? size : 0);
  if (write(journal, all, length) != (ssize_t)length) abort();
  free(all);
}

ssize_t pwrite64(int file, const void *data, size_t size, off_t place) {
  int of = which(file);
  if (of && control->full) { errno = ENOSPC; return -1; }
  if (of && control->short_writes && size > 1) {
    control->short_writes--;
    size /= 2;
  }
  if (of) note(WRITE, of, file, place, size, data);
  return real_pwrite(file, data, size, place);
}

ssize_t pwrite(int file, const void *data, size_t size, off_t place) { return pwrite64(file, data, size, place); }

static int synced(int file, int (*call)(int)) {
  int of = which(file);
  if (of && control->sync_fails) {
    control->sync_fails--;
    errno = EIO;
    return -1;
  }
  int failed = call(file);
  if (of && !failed) note(SYNC, of, file, 0, 0, NULL);
  return failed;
}

int fsync(int file) { return synced(file, real_fsync); }
int fdatasync(int file) { return synced(file, real_fdatasync); }

int ftruncate64(int file, off_t size) {
  int of = which(file);
  if (of) note(TRUNCATE, of, file, size, 0, NULL);
  return real_truncate(file, size);
}

int ftruncate(int file, off_t size) { return ftruncate64(file, size); }

int clock_gettime(clockid_t clock, struct timespec *now) {
  int failed = real_clock ? real_clock(clock, now) : -1;
  if (!failed && control && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
    now->tv_sec += control->clock_microseconds / 1000000;
  return failed;
}

int gettimeofday(struct timeval *now, void *zone) {
  struct timespec exact;
  (void)zone;
  if (clock_gettime(CLOCK_REALTIME, &exact)) return -1;
  now->tv_sec = exact.tv_sec;
  now->tv_usec = exact.tv_nsec / 1000;
  return 0;
}

time_t time(time_t *out) {
  struct timespec exact;
  clock_gettime(CLOCK_REALTIME, &exact);
  if (out) *out = exact.tv_sec;
  return exact.tv_sec;
}
