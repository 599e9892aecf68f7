#include "study/training_shared.h"

#include "share/share.h"
#include "study/identity.h"
#include "study/processes.h"

struct sharing {
  struct ss_durations *durations;
  const struct ss_run_options *options;
};

static void *open_worker(void *context, unsigned threads) {
  (void)threads;
  return ss_durations_worker_new(((struct sharing *)context)->durations);
}

static void close_worker(void *worker) {
  ss_durations_worker_free(worker);
}

static void *compute(void *context, void *worker, size_t item, size_t *size, struct ss_error *error) {
  struct ss_duration *duration = &((struct sharing *)context)->durations->duration[item];
  if (!ss_duration_answer(worker, duration, error)) return NULL;
  void *bytes = ss_duration_pack(duration, size);
  if (!bytes) (void)ss_fail_memory(error, "sharing simulations");
  return bytes;
}

static bool finished(void *context, size_t item, const void *bytes, size_t size, struct ss_error *error) {
  const struct sharing *x = context;
  if (!ss_duration_unpack(&x->durations->duration[item], bytes, size, error)) return false;
  ss_watcher_advance(x->options->watcher, 1, 1, x->durations->count);
  return true;
}

/* Points need many simulations each, and share them: none is finished before all are. */
static void missing(void *context, const bool *done, struct ss_error *error) {
  const struct ss_durations *durations = ((struct sharing *)context)->durations;
  size_t count = 0;
  for (uint32_t i = 0; i < durations->count; i++) count += !done[i];
  (void)ss_fail(error, error->status, "%s; %zu of %u simulations are missing, and with them all points", error->text,
                count, durations->count);
}

bool ss_train_share(struct ss_training *training, const struct ss_run_options *options, struct ss_error *error) {
  const struct ss_identity all = ss_durations_identity(&training->durations);
  const uint64_t numbers[] = {all.high, all.low, training->trace ? ss_trace_hash(training->trace) : 0,
                              training->merge};
  struct sharing x = {.durations = &training->durations, .options = options};
  const struct ss_shared_work work = {.context = &x,
                                      .count = training->durations.count,
                                      .what = "simulations",
                                      .jobs = options->jobs,
                                      .patience = options->patience,
                                      .open_worker = open_worker,
                                      .close_worker = close_worker,
                                      .compute = compute,
                                      .finished = finished,
                                      .missing = missing};
  return ss_processes_same(options->comm, numbers, sizeof numbers / sizeof *numbers, error) &&
         ss_communicator_share(options->comm, &work, error);
}
