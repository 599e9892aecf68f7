#include "base/work.h"

#include <omp.h>
#include <pthread.h>
#include <stdatomic.h>

struct running {
  const struct ss_work *work;
  unsigned threads;
  atomic_size_t next;   /* item that nobody has begun */
  atomic_size_t failed; /* the first item that failed, in order; SIZE_MAX: none */
  struct ss_error error;
  pthread_mutex_t lock; /* of this work alone: other work goes on while somebody hears of an item */
};

bool ss_work_compute(const struct ss_work *b, void *worker, size_t i, struct ss_error *error) {
  if (b->open_worker && !worker) return ss_fail_memory(error, "beginning a thread");
  return ss_watcher_goes_on(b->watcher, error) && b->compute(b->context, worker, i, error);
}

static void run_item(struct running *r, void *worker, size_t i) {
  struct ss_error mine;
  if (i > atomic_load(&r->failed)) return; /* those before may fail yet, and theirs is the error then */
  bool ok = ss_work_compute(r->work, worker, i, &mine);
  pthread_mutex_lock(&r->lock);
  const size_t failed = atomic_load(&r->failed);
  if (ok && failed == SIZE_MAX && r->work->finished) ok = r->work->finished(r->work->context, i, &mine);
  if (!ok && i < failed) {
    r->error = mine;
    atomic_store(&r->failed, i);
  }
  pthread_mutex_unlock(&r->lock);
}

/* Loops inside items have one thread each, where items have several. */
static void *run_items(void *running) {
  struct running *r = running;
  const struct ss_work *b = r->work;
  const int inside = omp_get_max_threads();
  if (r->threads > 1) omp_set_num_threads(1);
  void *worker = b->open_worker ? b->open_worker(b->context, r->threads) : NULL;
  for (size_t i; (i = atomic_fetch_add(&r->next, 1)) < b->count;) run_item(r, worker, i);
  if (worker) b->close_worker(worker);
  omp_set_num_threads(inside);
  return NULL;
}

unsigned ss_work_threads(unsigned jobs) {
  return jobs ? jobs : (unsigned)omp_get_num_procs();
}

/* Threads of its own, not OpenMP's: these spin while they wait, a tenth of the processor time of `sparsync claims`.
 */
bool ss_work_run(const struct ss_work *b, struct ss_error *error) {
  struct running running = {.work = b, .lock = PTHREAD_MUTEX_INITIALIZER};
  const size_t wanted = ss_work_threads(b->jobs), threads = wanted < b->count ? wanted : b->count < 1 ? 1 : b->count;
  SS_AUTO_FREE pthread_t *others = ss_alloc(threads, sizeof *others);
  size_t count = 0;
  running.threads = (unsigned)threads;
  atomic_init(&running.next, 0);
  atomic_init(&running.failed, SIZE_MAX);
  while (others && count + 1 < threads && pthread_create(&others[count], NULL, run_items, &running) == 0) count++;
  (void)run_items(&running);
  while (count > 0) (void)pthread_join(others[--count], NULL);
  if (atomic_load(&running.failed) == SIZE_MAX) return true;
  if (error) *error = running.error;
  return false;
}
/* SPDX-License-Identifier: Apache-2.0 */
