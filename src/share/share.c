#include "share/internal.h"

#include <math.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* --- threads -------------------------------------------------------------------------------------------- */

/* Each core counts for its share of those that may run on it: so ranks that mpirun bound to cores of their own take
 * all of these, and ranks that it bound to nothing divide the machine. */
static bool count_cores(unsigned *out, struct ss_error *error) {
  cpu_set_t set;
  MPI_Comm node;
  int mine[CPU_SETSIZE], all[CPU_SETSIZE];
  double part = 0;
  const bool known = sched_getaffinity(0, sizeof set, &set) == 0;
  for (size_t i = 0; i < CPU_SETSIZE; i++)
    mine[i] = known ? CPU_ISSET(i, &set) != 0 : i < (size_t)omp_get_num_procs();
  int code = MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  if (!ss_mpi_check(code, "asking for machines", error)) return false;
  code = MPI_Allreduce(mine, all, CPU_SETSIZE, MPI_INT, MPI_SUM, node);
  (void)MPI_Comm_free(&node);
  if (!ss_mpi_check(code, "asking for machines", error)) return false;
  for (int i = 0; i < CPU_SETSIZE; i++)
    if (mine[i]) part += 1.0 / all[i];
  *out = (unsigned)fmax(1, floor(part + 1e-6));
  return true;
}

bool ss_communicator_threads(const struct ss_communicator *comm, unsigned jobs, unsigned *out,
                             struct ss_error *error) {
  const unsigned aside = comm->rank == 0 ? 2 : 1, limit = (unsigned)omp_get_thread_limit();
  if (!count_cores(out, error)) return false;
  if (jobs) *out = jobs;
  if (limit <= aside)
    return ss_fail(error, SS_BAD_INPUT,
                   "OpenMP may start %u threads here, and a process that shares its work needs %u (set "
                   "OMP_THREAD_LIMIT to more, or nothing)",
                   limit, aside + 1);
  if (*out > limit - aside) *out = limit - aside;
  return true;
}

bool ss_sharing_over(struct ss_sharing *s) {
  omp_set_lock(&s->lock);
  const bool over = s->over;
  omp_unset_lock(&s->lock);
  return over;
}

void ss_sharing_end(struct ss_sharing *s) {
  omp_set_lock(&s->lock);
  s->over = true;
  omp_unset_lock(&s->lock);
}

static void compute(struct ss_sharing *s, unsigned thread) {
  struct ss_made *made = NULL;
  while (!ss_sharing_over(s)) {
    if (!made) made = ss_alloc_zero(1, sizeof *made);
    if (!made) {
      omp_set_lock(&s->lock);
      s->broken = true;
      omp_unset_lock(&s->lock);
    }
    if (!made || !s->take(s, &made->item)) {
      ss_share_nap();
      continue;
    }
    made->from = s->comm->rank;
    made->good = s->work->compute(s->work->context, thread, made->item, &made->error);
    s->deliver(s, made);
    made = NULL;
  }
  free(made);
}

bool ss_sharing_run(struct ss_sharing *s, struct ss_error *error) {
  const int aside = s->take_in ? 2 : 1, wanted = aside + (int)s->work->threads;
  bool all = true;
  omp_init_lock(&s->lock);
  omp_set_dynamic(0);
#pragma omp parallel num_threads(wanted)
  {
    const int me = omp_get_thread_num();
    if (omp_get_num_threads() <= aside) {
      if (me == 0) all = false;
    } else if (me == 0) {
      s->talk(s);
    } else if (me < aside) {
      s->take_in(s);
    } else {
      compute(s, (unsigned)(me - aside));
    }
  }
  omp_destroy_lock(&s->lock);
  return all || ss_fail(error, SS_MACHINE, "OpenMP did not start the %d threads that were asked for", wanted);
}

/* --- small things --------------------------------------------------------------------------------------- */

void ss_made_push(struct ss_made_list *list, struct ss_made *made) {
  made->next = NULL;
  if (list->last) list->last->next = made;
  else list->first = made;
  list->last = made;
}

struct ss_made *ss_made_pop(struct ss_made_list *list) {
  struct ss_made *made = list->first;
  if (!made) return NULL;
  list->first = made->next;
  if (!list->first) list->last = NULL;
  made->next = NULL;
  return made;
}

void ss_made_free(struct ss_made *made) {
  if (made) free(made->bytes);
  free(made);
}

void ss_share_nap(void) {
  (void)nanosleep(&(struct timespec){.tv_nsec = 500000}, NULL);
}

double ss_awake_step(struct ss_awake *threads_running) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  const double seconds = (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
  const double step = threads_running->before > 0 ? seconds - threads_running->before : 0;
  threads_running->before = seconds;
  return fmin(step, 0.1);
}

bool ss_communicator_share(struct ss_communicator *comm, const struct ss_shared_work *work, struct ss_error *error) {
  return comm->rank == 0 ? ss_share_first(comm, work, error) : ss_share_rest(comm, work, error);
}
