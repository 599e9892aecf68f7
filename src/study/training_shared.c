#include "study/training_shared.h"

#include "share/share.h"
#include "study/identity.h"
#include "study/processes.h"

#include <stdlib.h>

struct sharing {
  struct ss_durations *durations;
  const struct ss_run_options *options;
  struct ss_durations_worker **worker; /* [threads] */
};

static bool compute(void *context, unsigned thread, size_t item, struct ss_error *error) {
  const struct sharing *x = context;
  return ss_duration_answer(x->worker[thread], &x->durations->duration[item], error);
}

static void *pack(void *context, size_t item, size_t *size) {
  const struct sharing *x = context;
  return ss_duration_pack(&x->durations->duration[item], size);
}

static bool unpack(void *context, size_t item, const void *bytes, size_t size, struct ss_error *error) {
  const struct sharing *x = context;
  return ss_duration_unpack(&x->durations->duration[item], bytes, size, error);
}

static bool finished(void *context, size_t item, struct ss_error *error) {
  (void)item;
  (void)error;
  const struct sharing *x = context;
  ss_watcher_advance(x->options->watcher, 1, 1, x->durations->count);
  return true;
}

static void lost(void *context, uint32_t rank, size_t items) {
  const struct sharing *x = context;
  ss_processes_lost(x->options->comm, rank, x->options->patience, items, "simulations");
}

/* Points need many simulations each, and share them: none is finished before all are. */
static void missing(void *context, const bool *done, struct ss_error *error) {
  const struct sharing *x = context;
  size_t count = 0;
  for (uint32_t i = 0; i < x->durations->count; i++) count += !done[i];
  (void)ss_fail(error, error->status, "%s; %zu of %u simulations are missing, and with them all points", error->text,
                count, x->durations->count);
}

static bool same(const struct ss_training *training, const struct ss_run_options *options, struct ss_error *error) {
  const struct ss_identity all = ss_durations_identity(&training->durations);
  const uint64_t numbers[] = {all.high, all.low, training->trace ? ss_trace_hash(training->trace) : 0,
                              training->merge};
  return ss_processes_same(options->comm, numbers, sizeof numbers / sizeof *numbers, error);
}

static bool open_workers(struct sharing *x, unsigned threads, struct ss_error *error) {
  bool good = true;
  x->worker = ss_alloc_zero(threads, sizeof(struct ss_durations_worker *));
  for (unsigned i = 0; x->worker && i < threads; i++) {
    x->worker[i] = ss_durations_worker_new(x->durations);
    good = good && x->worker[i];
  }
  return (x->worker && good) || ss_fail_memory(error, "sharing simulations");
}

bool ss_train_share(struct ss_training *training, const struct ss_run_options *options, struct ss_error *error) {
  struct sharing x = {.durations = &training->durations, .options = options};
  struct ss_shared_work work = {.context = &x,
                                .count = training->durations.count,
                                .patience = options->patience,
                                .compute = compute,
                                .pack = pack,
                                .unpack = unpack,
                                .finished = finished,
                                .lost = lost,
                                .missing = missing};
  if (!same(training, options, error)) return false;
  bool good = ss_communicator_threads(options->comm, options->jobs, &work.threads, error);
  good = good && open_workers(&x, work.threads, error);
  good = ss_communicator_agree(options->comm, good, error) && ss_communicator_share(options->comm, &work, error);
  for (unsigned i = 0; x.worker && i < work.threads; i++) ss_durations_worker_free(x.worker[i]);
  free(x.worker);
  return good;
}
