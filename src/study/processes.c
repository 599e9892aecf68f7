#include "study/processes.h"

#include "exec/launch.h"
#include "share/share.h"

#include <inttypes.h>
#include <stdio.h>

static void last_words(const struct ss_crew *crew, const struct ss_error *error) {
  if (crew->rank == 0) (void)fprintf(stderr, "sparsync: %s\n", error->text);
  else (void)fprintf(stderr, "sparsync: rank %" PRIu32 " of %" PRIu32 ": %s\n", crew->rank, crew->size, error->text);
}

/* Rank 0, when some do not answer: nobody waits for them. */
static _Noreturn void end_all(const struct ss_crew *crew, bool good, const struct ss_error *error) {
  if (good && fflush(stdout) == 0) {
    (void)fprintf(stderr,
                  "sparsync: all is done, without %" PRIu32 " of %" PRIu32
                  " ranks; what mpirun says of an abort from here on concerns only them\n",
                  crew->lost, crew->size);
    ss_crew_part(crew, SS_OK);
  }
  if (!good) last_words(crew, error);
  ss_crew_part(crew, good ? SS_MACHINE : error->status);
}

bool ss_work_together(bool understood, bool (*work)(void *context, struct ss_crew *crew, struct ss_error *error),
                      void *context, struct ss_error *error) {
  struct ss_crew crew;
  if (!ss_crew_join(&crew, error)) return ss_launch_read().rank != 0;
  crew.last_words = last_words;
  const bool good = ss_crew_agree(&crew, understood, error) && work(context, &crew, error);
  if (crew.lost) end_all(&crew, good, error);
  ss_crew_leave(&crew);
  return good || crew.rank != 0;
}

bool ss_together_agree(const struct ss_crew *crew, bool good, struct ss_error *error) {
  return crew ? ss_crew_agree(crew, good, error) : good;
}

bool ss_together_follow(const struct ss_crew *crew, bool good, struct ss_error *error) {
  return crew ? ss_crew_follow(crew, good, error) : good;
}

void ss_together_tell(const struct ss_crew *crew, void *bytes, size_t size) {
  if (crew) ss_crew_tell(crew, bytes, size);
}

bool ss_together_same(const struct ss_crew *crew, const uint64_t *numbers, size_t count, struct ss_error *error) {
  uint64_t at;
  if (!crew) return true;
  const bool same = ss_crew_has_those_of_first(crew, numbers, count, &at);
  if (!same)
    (void)ss_fail(error, SS_BAD_INPUT,
                  "this rank was given another scenario, other options or another trace than rank 0: start all ranks "
                  "with the same");
  return ss_crew_agree(crew, same, error);
}

void ss_together_lost(const struct ss_crew *crew, uint32_t rank, double patience, size_t items, const char *what) {
  (void)fprintf(stderr,
                "sparsync: rank %" PRIu32 " of %" PRIu32 " has been silent for %g s: its %zu %s go to others\n", rank,
                crew->size, patience, items, what);
}
