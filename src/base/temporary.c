#include "base/temporary.h"

#include "base/base.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
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

static void end(int number) {
  for (int i = 0; i < SLOTS; i++)
    if (atomic_load(&slots[i].taken)) (void)unlink(slots[i].path);
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
/* SPDX-License-Identifier: Apache-2.0 */
