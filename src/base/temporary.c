#include "base/temporary.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* A handler may neither lock nor allocate: slots are fixed, and are read only while their flag stands. */
enum { SLOTS = 8 };
static struct {
  char path[PATH_MAX];
  atomic_bool taken;
} slots[SLOTS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void ss_temporary_add(const char *path) {
  pthread_mutex_lock(&lock);
  for (int i = 0; i < SLOTS && strlen(path) < sizeof slots->path; i++) {
    if (atomic_load(&slots[i].taken)) continue;
    (void)snprintf(slots[i].path, sizeof slots[i].path, "%s", path);
    atomic_store(&slots[i].taken, true);
    break;
  }
  pthread_mutex_unlock(&lock);
}

void ss_temporary_forget(const char *path) {
  pthread_mutex_lock(&lock);
  for (int i = 0; i < SLOTS; i++)
    if (atomic_load(&slots[i].taken) && strcmp(slots[i].path, path) == 0) atomic_store(&slots[i].taken, false);
  pthread_mutex_unlock(&lock);
}

/* --- in the handler ---------------------------------------------------------------------------------------- */

/* opendir would allocate. */
static void empty_folder(int folder) {
  _Alignas(struct dirent64) char entries[4096];
  for (long size; (size = syscall(SYS_getdents64, folder, entries, sizeof entries)) > 0;)
    for (long at = 0; at < size;) {
      const struct dirent64 *entry = (const struct dirent64 *)(entries + at);
      (void)unlinkat(folder, entry->d_name, 0);
      at += entry->d_reclen;
    }
}

static void remove_path(const char *path) {
  if (unlink(path) == 0) return;
  const int folder = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (folder < 0) return;
  empty_folder(folder);
  (void)close(folder);
  (void)rmdir(path);
}

static void end(int number) {
  for (int i = 0; i < SLOTS; i++)
    if (atomic_load(&slots[i].taken)) remove_path(slots[i].path);
  (void)raise(number); /* SA_RESETHAND: as if nobody had listened */
}

void ss_temporaries_go_on_signals(void) {
  static const int numbers[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGPIPE, SIGXCPU, SIGXFSZ};
  const struct sigaction ours = {.sa_handler = end, .sa_flags = (int)SA_RESETHAND};
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
    struct sigaction before;
    if (sigaction(numbers[i], NULL, &before) == 0 && before.sa_handler == SIG_DFL)
      (void)sigaction(numbers[i], &ours, NULL);
  }
}
