#include "base/work.h"

#include <omp.h>

struct running {
  const struct ss_work *work;
  size_t failed; /* the first item that failed, in order; SIZE_MAX: none */
  struct ss_error error;
  omp_lock_t lock; /* of this work alone: other work goes on while somebody hears of an item */
};

bool ss_work_compute(const struct ss_work *b, void *worker, size_t i, struct ss_error *error) {
  if (b->open_worker && !worker) return ss_fail_memory(error, "beginning a thread");
  return ss_watcher_goes_on(b->watcher, error) && b->compute(b->context, worker, i, error);
}

static void run_item(struct running *r, void *worker, size_t i) {
  struct ss_error mine;
  size_t failed;
#pragma omp atomic read
  failed = r->failed;
  if (failed != SIZE_MAX) return; /* items are begun in order: all before that one are under way */
  bool ok = ss_work_compute(r->work, worker, i, &mine);
  omp_set_lock(&r->lock);
  if (ok && r->failed == SIZE_MAX && r->work->finished) ok = r->work->finished(r->work->context, i, &mine);
  if (!ok && i < r->failed) {
    r->error = mine;
#pragma omp atomic write
    r->failed = i;
  }
  omp_unset_lock(&r->lock);
}

unsigned ss_work_threads(unsigned jobs) {
  return jobs ? jobs : (unsigned)omp_get_num_procs();
}

bool ss_work_run(const struct ss_work *b, struct ss_error *error) {
  struct running running = {.work = b, .failed = SIZE_MAX};
  const size_t wanted = ss_work_threads(b->jobs);
  const int threads = (int)(wanted < b->count ? wanted : b->count < 1 ? 1 : b->count);
  omp_init_lock(&running.lock);
#pragma omp parallel num_threads(threads)
  {
    void *worker = b->open_worker ? b->open_worker(b->context, (unsigned)threads) : NULL;
#pragma omp for schedule(dynamic, 1)
    for (size_t i = 0; i < b->count; i++) run_item(&running, worker, i);
    if (worker) b->close_worker(worker);
  }
  omp_destroy_lock(&running.lock);
  if (running.failed == SIZE_MAX) return true;
  if (error) *error = running.error;
  return false;
}
/* SPDX-License-Identifier: Apache-2.0 */
