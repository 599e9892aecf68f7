#include "share/share.h"

#include "exec/launch.h"

#include <mpi.h>
#include <omp.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

/* Others say what came of an item, or that a thread has nothing to do, or only that they live. Rank 0 answers each
 * message once: with an item for the idle thread, with NONE, or with LEAVE. */
enum { TAG_MESSAGE = 1, TAG_ANSWER };
static const uint64_t NONE = UINT64_MAX, LEAVE = UINT64_MAX - 1;
/* s between two messages while there is nothing to say, or nothing to do. */
static const double PAUSE = 0.02;

/* What came of an item, as rank 0 takes it in, and as others send it, from `head` on. */
struct result {
  struct result *next;
  size_t size; /* of the body, B */
  struct head {
    uint64_t item; /* NONE: nothing came of any */
    uint64_t good; /* the body is JSON text, else a struct ss_error */
    uint64_t idle;
  } head;
  char body[];
};

/* Who has an item: the rank that was given it last, or one of these. */
enum { NOBODY = -1, RETURNED = -2 };

/* Another process, as rank 0 sees it. */
struct peer {
  struct result *result; /* its message on its way here, or NULL */
  uint64_t answer;
  MPI_Request in, out;
  double silent; /* s */
  bool lost;     /* silent, but perhaps only slow: what it has is free for others */
  bool gone;     /* MPI knows that it cannot be talked to */
  bool left;     /* it was told that all is done */
};

struct sharing {
  struct ss_communicator *comm;
  const struct ss_work *work;
  double patience;         /* s */
  unsigned threads;        /* that compute */
  double before;           /* when the clock was read last */
  atomic_bool over;        /* nothing is begun any more */
  _Atomic uint64_t failed; /* the first item that failed, or NONE */
  omp_lock_t lock;         /* for what follows: */
  struct ss_error error;   /* of the first that failed */
  struct result *first;    /* to be taken in by rank 0, or to be sent there */
  struct result **last;    /* where the next is added */
  /* rank 0 */
  int64_t *holder;   /* [count] */
  struct peer *peer; /* [ranks] */
  bool *done;        /* [count] taken in */
  size_t free;       /* no item below is free */
  size_t open;       /* all items below are done */
  /* others */
  uint64_t given;   /* by rank 0, and not yet begun; or NONE */
  atomic_bool idle; /* a thread wanted that, and there was none */
};

/* A handler can tell the program nothing but through a variable of its own. */
static volatile sig_atomic_t stopped;

static void stop(int signal) {
  stopped = signal;
}

/* Time as this process lived it: while it was stopped, or the machine slept, nobody was silent. In s since the last
 * call, at most a tenth. */
static double pass(struct sharing *s) {
  struct timespec now;
  (void)clock_gettime(CLOCK_MONOTONIC, &now);
  const double seconds = (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
  const double step = s->before > 0 ? fmin(seconds - s->before, 0.1) : 0;
  s->before = seconds;
  return step;
}

/* Half a millisecond: far below what an item takes that is worth sharing. */
static void nap(void) {
  (void)nanosleep(&(struct timespec){.tv_nsec = 500000}, NULL);
}

/* --- threads that compute --------------------------------------------------------------------------------- */

static void put(struct sharing *s, struct result *result) {
  omp_set_lock(&s->lock);
  result->next = NULL;
  *s->last = result;
  s->last = &result->next;
  omp_unset_lock(&s->lock);
}

static struct result *get(struct sharing *s) {
  omp_set_lock(&s->lock);
  struct result *result = s->first;
  if (result) s->first = result->next;
  if (!s->first) s->last = &s->first;
  omp_unset_lock(&s->lock);
  return result;
}

/* Behind an item that failed nothing needs to be computed. */
static size_t end_of(const struct sharing *s) {
  return s->failed < s->work->count ? s->failed : s->work->count;
}

static bool is_free(const struct sharing *s, size_t i) {
  return s->holder[i] == NOBODY || (s->holder[i] > 0 && s->peer[s->holder[i]].lost);
}

/* With the lock, in rank 0. What a lost rank has it may still compute. */
static uint64_t hand_out(struct sharing *s, uint32_t rank) {
  while (s->free < end_of(s) && !is_free(s, s->free)) s->free++;
  for (size_t i = s->free; i < end_of(s); i++) {
    if (!is_free(s, i) || s->holder[i] == rank) continue;
    s->holder[i] = rank;
    return i;
  }
  return NONE;
}

static uint64_t take(struct sharing *s) {
  omp_set_lock(&s->lock);
  const uint64_t i = s->comm->rank == 0 ? hand_out(s, 0) : s->given;
  s->given = NONE;
  s->idle = i == NONE;
  omp_unset_lock(&s->lock);
  return i;
}

/* What came of the item, as text; NULL: the error. */
static char *compute_item(const struct sharing *s, void *worker, size_t i, struct ss_error *error) {
  const struct ss_work *w = s->work;
  if (!ss_work_compute(w, worker, i, error)) return NULL;
  cJSON *tree = w->write(w->context, i);
  char *text = tree ? ss_json_exact(tree, false) : NULL;
  cJSON_Delete(tree);
  if (!text) (void)ss_fail_memory(error, "sharing work");
  const size_t size = text ? strlen(text) : 0, most = INT_MAX - sizeof(struct head);
  if (size <= most || s->comm->rank == 0) return text;
  (void)ss_fail(error, SS_MACHINE, "a result of %zu bytes: MPI takes at most %zu (run it without mpirun)", size,
                most);
  free(text);
  return NULL;
}

static void compute(struct sharing *s) {
  const struct ss_work *w = s->work;
  void *worker = w->open_worker ? w->open_worker(w->context, s->threads) : NULL;
  while (!s->over) {
    struct ss_error error;
    const uint64_t i = take(s);
    if (i == NONE) {
      nap();
      continue;
    }
    SS_AUTO_FREE char *text = compute_item(s, worker, i, &error);
    const size_t size = text ? strlen(text) : sizeof error;
    struct result *result = ss_alloc(sizeof *result + size, 1);
    if (result) {
      *result = (struct result){.size = size, .head = {.item = i, .good = text != NULL}};
      memcpy(result->body, text ? (void *)text : &error, size);
      put(s, result);
    } else ss_communicator_abort(s->comm, &error); /* not even room to say so */
  }
  if (worker) w->close_worker(worker);
}

/* --- others ----------------------------------------------------------------------------------------------- */

/* Until the message to or from rank 0 is through. */
static void finish(struct sharing *s, int code, MPI_Request *request) {
  const double limit = 2 * s->patience; /* rank 0 may be waiting for its patience with another to end */
  struct ss_error error;
  double silent = 0;
  int done = 0;
  while (ss_mpi_check(code, "sharing work", &error)) {
    code = MPI_Test(request, &done, MPI_STATUS_IGNORE);
    if (done) return;
    if (silent > limit) {
      (void)ss_fail(&error, SS_MACHINE, "rank 0 has been silent for %g s: it is taken for lost (--patience)", limit);
      break;
    }
    nap();
    silent += pass(s);
  }
  ss_communicator_abort(s->comm, &error);
}

/* Says what came of an item, and hears what to do. */
static uint64_t talk(struct sharing *s, struct result *result) {
  MPI_Request request;
  uint64_t answer;
  result->head.idle = s->idle;
  finish(s,
         MPI_Isend(&result->head, (int)(sizeof result->head + result->size), MPI_BYTE, 0, TAG_MESSAGE, MPI_COMM_WORLD,
                   &request),
         &request);
  finish(s, MPI_Irecv(&answer, sizeof answer, MPI_BYTE, 0, TAG_ANSWER, MPI_COMM_WORLD, &request), &request);
  omp_set_lock(&s->lock);
  if (answer < LEAVE) s->given = answer, s->idle = false;
  omp_unset_lock(&s->lock);
  return answer;
}

static void follow(struct sharing *s) {
  uint64_t answer = 0;
  double since = 0;
  while (answer != LEAVE) {
    SS_AUTO_FREE struct result *result = get(s);
    struct result nothing = {.head.item = NONE};
    if (!result && since < (s->idle && answer != NONE ? 0 : PAUSE)) {
      nap();
    } else {
      answer = talk(s, result ? result : &nothing);
      since = 0;
    }
    since += pass(s);
  }
  s->over = true;
}

/* --- rank 0 takes results in ------------------------------------------------------------------------------- */

/* mpirun ends all processes, and this one in a second. Between two results: what was finished is known. */
static _Noreturn void give_up(struct sharing *s) {
  struct ss_error error = {.status = SS_MACHINE};
  (void)ss_fail(&error, SS_MACHINE, "ended by signal %d, as mpirun does to all when one process is lost",
                (int)stopped);
  s->work->missing(s->work->context, s->done, &error);
  if (s->comm->tell) s->comm->tell(s->comm, &error);
  _exit((int)error.status);
}

static bool finish_item(const struct ss_work *w, const struct result *result, struct ss_error *error) {
  SS_AUTO_DOC struct ss_doc *doc = NULL;
  const size_t i = result->head.item;
  if (!result->head.good) return memcpy(error, result->body, sizeof *error), false;
  return ss_doc_parse("the result of a rank", result->body, result->size, &doc, error) &&
         w->read(w->context, i, ss_doc_root(doc), error) && (!w->finished || w->finished(w->context, i, error));
}

/* After an item that failed no other is finished; of those that failed the first counts. */
static void take_in(struct sharing *s) {
  struct ss_error error;
  while (!s->over) {
    if (stopped) give_up(s);
    SS_AUTO_FREE struct result *result = get(s);
    if (!result) {
      nap();
      continue;
    }
    const uint64_t i = result->head.item;
    const bool good = (result->head.good && s->failed != NONE) || finish_item(s->work, result, &error);
    s->done[i] = true;
    omp_set_lock(&s->lock);
    if (!good && i < s->failed) {
      s->failed = i;
      s->error = error;
    }
    while (s->open < s->work->count && s->done[s->open]) s->open++;
    s->over = s->open >= end_of(s);
    omp_unset_lock(&s->lock);
  }
}

/* --- rank 0 talks ------------------------------------------------------------------------------------------ */

static void lose(struct sharing *s, uint32_t rank) {
  struct ss_error error;
  size_t items = 0;
  omp_set_lock(&s->lock);
  s->peer[rank].lost = true;
  s->free = 0;
  for (size_t i = 0; i < s->work->count; i++) items += s->holder[i] == rank;
  omp_unset_lock(&s->lock);
  (void)ss_fail(&error, SS_MACHINE, "rank %u of %u has been silent for %g s: its %zu %s go to others", rank,
                s->comm->size, s->patience, items, s->work->what);
  if (s->comm->tell) s->comm->tell(s->comm, &error);
}

/* Whether the peer's message is here, all of it. False: it cannot be talked to. */
static bool receive(struct peer *p, uint32_t rank, int *there) {
  MPI_Message message;
  MPI_Status status;
  int size;
  if (!p->result) {
    if (MPI_Improbe((int)rank, TAG_MESSAGE, MPI_COMM_WORLD, there, &message, &status) != MPI_SUCCESS) return false;
    if (!*there) return true;
    if (MPI_Get_count(&status, MPI_BYTE, &size) != MPI_SUCCESS || size < (int)sizeof p->result->head) return false;
    p->result = ss_alloc(sizeof *p->result + (size_t)size, 1);
    if (!p->result) return false;
    p->result->size = (size_t)size - sizeof p->result->head;
    if (MPI_Imrecv(&p->result->head, size, MPI_BYTE, &message, &p->in) != MPI_SUCCESS) return false;
  }
  return MPI_Test(&p->in, there, MPI_STATUS_IGNORE) == MPI_SUCCESS;
}

/* Keeps the result, unless the item was given to another while the peer was silent. */
static void keep(struct sharing *s, uint32_t rank, struct result *result) {
  const uint64_t i = result->head.item;
  omp_set_lock(&s->lock);
  const bool wanted = i < s->work->count && s->holder[i] == rank;
  if (wanted) s->holder[i] = RETURNED;
  s->peer[rank].lost = false;
  omp_unset_lock(&s->lock);
  if (wanted) put(s, result);
  else free(result);
}

/* Hears the peer, if it says something, and answers. False: it cannot be talked to. */
static bool hear(struct sharing *s, uint32_t rank, bool *heard) {
  struct peer *p = &s->peer[rank];
  int there = 0;
  if (!receive(p, rank, &there)) return false;
  if (!there) return true;
  const bool idle = p->result->head.idle;
  keep(s, rank, p->result);
  *heard = true;
  p->result = NULL;
  p->silent = 0;
  p->left = s->over;
  /* it speaks again: it has heard the answer before */
  if (MPI_Wait(&p->out, MPI_STATUS_IGNORE) != MPI_SUCCESS) return false;
  omp_set_lock(&s->lock);
  p->answer = p->left ? LEAVE : idle ? hand_out(s, rank) : NONE;
  omp_unset_lock(&s->lock);
  return MPI_Isend(&p->answer, sizeof p->answer, MPI_BYTE, (int)rank, TAG_ANSWER, MPI_COMM_WORLD, &p->out) ==
             MPI_SUCCESS &&
         (!p->left || MPI_Wait(&p->out, MPI_STATUS_IGNORE) == MPI_SUCCESS);
}

/* False: all is done, and each of the others knows it or is lost. */
static bool hear_all(struct sharing *s) {
  const double step = pass(s);
  bool heard = false, expected = !s->over;
  for (uint32_t r = 1; r < s->comm->size; r++) {
    struct peer *p = &s->peer[r];
    if (!p->gone && !p->left && !hear(s, r, &heard)) p->gone = true;
    if (p->lost || (p->left && !p->gone)) continue;
    p->silent += step;
    expected = true;
    if (p->gone || p->silent > s->patience) lose(s, r);
  }
  if (!heard) nap();
  return expected;
}

static void lead(struct sharing *s) {
  while (hear_all(s)) continue;
  for (uint32_t r = 1; r < s->comm->size; r++) s->comm->lost += s->peer[r].lost;
}

/* --- all of it ---------------------------------------------------------------------------------------------- */

static bool start_threads(struct sharing *s, struct ss_error *error) {
  const int helpers = s->comm->rank == 0 ? 2 : 1, wanted = helpers + (int)s->threads;
  bool all = true;
  omp_set_dynamic(0);
#pragma omp parallel num_threads(wanted)
  {
    const int me = omp_get_thread_num();
    if (omp_get_num_threads() <= helpers) {
      if (me == 0) all = false;
    } else if (me == 0) {
      if (s->comm->rank == 0) lead(s);
      else follow(s);
    } else if (me < helpers) {
      take_in(s);
    } else {
      compute(s);
    }
  }
  return all || ss_fail(error, SS_MACHINE, "OpenMP did not start the %d threads that were asked for", wanted);
}

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

/* Collective. */
static bool count_threads(const struct ss_communicator *comm, unsigned jobs, unsigned *out, struct ss_error *error) {
  const unsigned helpers = comm->rank == 0 ? 2 : 1, limit = (unsigned)omp_get_thread_limit();
  if (!count_cores(out, error)) return false;
  if (jobs) *out = jobs;
  if (limit <= helpers)
    return ss_fail(error, SS_BAD_INPUT,
                   "OpenMP may start %u threads here, and a process that shares its work needs %u (set "
                   "OMP_THREAD_LIMIT to more, or nothing)",
                   limit, helpers + 1);
  if (*out > limit - helpers) *out = limit - helpers;
  return true;
}

static bool open_sharing(struct sharing *s, struct ss_error *error) {
  if (!count_threads(s->comm, s->work->jobs, &s->threads, error)) return false;
  s->last = &s->first;
  s->holder = ss_alloc(s->work->count, sizeof *s->holder);
  s->done = ss_alloc_zero(s->work->count, sizeof *s->done);
  s->peer = ss_alloc_zero(s->comm->size, sizeof *s->peer);
  for (uint32_t r = 0; s->peer && r < s->comm->size; r++) s->peer[r].out = MPI_REQUEST_NULL;
  for (size_t i = 0; s->holder && i < s->work->count; i++) s->holder[i] = NOBODY;
  return (s->holder && s->done && s->peer) || ss_fail_memory(error, "sharing work");
}

static void close_sharing(struct sharing *s) {
  for (struct result *r; (r = s->first); free(r)) s->first = r->next;
  free(s->holder);
  free(s->done);
  if (s->comm->lost == 0) free(s->peer); /* else MPI may still write into it */
}

static bool run(struct sharing *s, struct ss_error *error) {
  struct sigaction before, ours = {.sa_handler = stop, .sa_flags = SA_RESTART};
  const bool first = s->comm->rank == 0;
  stopped = 0;
  omp_init_lock(&s->lock);
  if (first) (void)sigaction(SIGTERM, &ours, &before);
  if (!start_threads(s, error)) ss_communicator_abort(s->comm, error);
  if (first) (void)sigaction(SIGTERM, &before, NULL);
  if (stopped) (void)raise(SIGTERM); /* all is computed: nothing is missing */
  omp_destroy_lock(&s->lock);
  if (!first || s->failed == NONE) return true;
  if (error) *error = s->error;
  return false;
}

bool ss_work_share(struct ss_communicator *comm, const struct ss_work *work, double patience,
                   struct ss_error *error) {
  if (!comm) return ss_work_run(work, error);
  struct sharing s = {
      .comm = comm, .work = work, .patience = patience, .over = work->count == 0, .failed = NONE, .given = NONE};
  const bool good = ss_communicator_agree(comm, open_sharing(&s, error), error) && run(&s, error);
  close_sharing(&s);
  return good;
}

/* --- commands of all processes ----------------------------------------------------------------------------- */

static void tell_error(const struct ss_communicator *comm, const struct ss_error *error) {
  if (comm->rank == 0) (void)fprintf(stderr, "sparsync: %s\n", error->text);
  else (void)fprintf(stderr, "sparsync: rank %" PRIu32 " of %" PRIu32 ": %s\n", comm->rank, comm->size, error->text);
}

bool ss_processes_run(bool understood,
                      bool (*work)(void *context, struct ss_communicator *comm, struct ss_error *error),
                      void *context, struct ss_error *error) {
  struct ss_communicator comm;
  if (!ss_communicator_open(&comm, error)) return ss_launch_read().rank != 0;
  comm.tell = tell_error;
  const bool good = ss_communicator_agree(&comm, understood, error) && work(context, &comm, error);
  if (comm.lost && !good) tell_error(&comm, error);
  if (comm.lost && good)
    (void)fprintf(stderr,
                  "sparsync: all is done, without %" PRIu32 " of %" PRIu32
                  " ranks; what mpirun says of an abort from here on concerns only them\n",
                  comm.lost, comm.size);
  const bool written = fflush(stdout) == 0;
  ss_communicator_close(&comm, !good ? error->status : written ? SS_OK : SS_MACHINE);
  return good || comm.rank != 0;
}

bool ss_processes_same(const struct ss_communicator *comm, const uint64_t *numbers, size_t count,
                       struct ss_error *error) {
  uint64_t at;
  const bool same = ss_communicator_same(comm, numbers, count, &at);
  if (!same)
    (void)ss_fail(error, SS_BAD_INPUT,
                  "this rank was given another scenario, other options or another trace than rank 0: start all ranks "
                  "with the same");
  return ss_communicator_agree(comm, same, error);
}
/* SPDX-License-Identifier: Apache-2.0 */
