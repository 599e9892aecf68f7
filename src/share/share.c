#include "share/share.h"

#include "base/memory.h"

#include <limits.h>
#include <math.h>
#include <mpi.h>
#include <omp.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* From others to rank 0: who has idle threads asks, and who has none asks for nothing, as a sign of life. A result is
 * its head and what `pack` made of it, or an error. From rank 0: one answer to each ASK. */
enum { TAG_ASK = 1, TAG_RESULT, TAG_ANSWER };
enum { ITEMS_AT_ONCE = 16 };
/* s between two asks when the last brought nothing, and when there is nothing to ask for. */
static const double PAUSE = 0.02, SIGN_OF_LIFE = 0.25;
/* s that others wait, when one is lost, for rank 0 to write, and then for it to end them. */
enum { WRITING = 3600, ENDING = 3 };

enum answer_kind {
  ITEMS, /* none, perhaps: ask again soon */
  LEAVE, /* all is done, and all are there: go on to what is collective */
  STAY,  /* all is done, but one is lost: wait for EXIT */
  EXIT   /* rank 0 has written all */
};
struct answer {
  uint64_t kind, count, item[ITEMS_AT_ONCE];
};
struct head {
  uint64_t item, good;
};

enum state { FREE, GIVEN, RETURNED, DONE };
static const size_t NONE = SIZE_MAX;

struct item {
  enum state state;
  uint32_t holder;        /* the rank that was given it */
  bool good;              /* of one that was computed here; why not, says the error of all of them */
  unsigned char *message; /* from another process; NULL: computed here */
  int size;               /* B */
  size_t next;            /* of those that returned, in their order; or NONE */
};

/* Another process, as rank 0 sees it. */
struct peer {
  unsigned char *message; /* on its way here, or NULL */
  int size, tag;
  MPI_Request in, out;
  struct answer answer; /* on its way there */
  double silent;        /* s */
  uint64_t idle;        /* threads */
  bool asks, lost;
};

struct sharing {
  struct ss_communicator *comm;
  const struct ss_shared_work *work;
  unsigned threads;   /* that compute */
  double before;      /* when the clock was read last */
  struct peer *peer;  /* [ranks] in rank 0 */
  atomic_bool over;   /* nothing is begun any more */
  atomic_bool broken; /* memory is too short to go on */
  omp_lock_t lock;    /* for what follows: */
  struct item *item;  /* [count] */
  size_t first, last; /* returned: to be taken in by rank 0, or to be sent there */
  size_t failed;      /* the first that failed, or NONE; its error: */
  struct ss_error error;
  /* rank 0 */
  size_t free; /* no item below is free */
  size_t open; /* all items below are done */
  /* others */
  struct answer given;
  size_t taken; /* of the given */
  unsigned busy;
};

/* A handler can tell the program nothing but through a variable of its own. */
static volatile sig_atomic_t stopped;

static void stop(int signal) {
  stopped = signal;
}

/* --- both sides ------------------------------------------------------------------------------------------- */

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

static void check_memory(const struct sharing *s) {
  struct ss_error error;
  if (!s->broken) return;
  (void)ss_fail_memory(&error, "sharing work");
  ss_communicator_abort(s->comm, &error);
}

/* With the lock. What failed behind another that failed is of no interest. */
static void note_failure(struct sharing *s, size_t i, const struct ss_error *error) {
  if (i >= s->failed) return;
  s->failed = i;
  s->error = *error;
}

/* With the lock. */
static void put_returned(struct sharing *s, size_t i) {
  s->item[i].state = RETURNED;
  s->item[i].next = NONE;
  if (s->first == NONE) s->first = i;
  else s->item[s->last].next = i;
  s->last = i;
}

static bool get_returned(struct sharing *s, size_t *i) {
  omp_set_lock(&s->lock);
  *i = s->first;
  if (*i != NONE) s->first = s->item[*i].next;
  omp_unset_lock(&s->lock);
  return *i != NONE;
}

/* Behind an item that failed nothing needs to be computed. */
static size_t end_of(const struct sharing *s) {
  return s->failed < s->work->count ? s->failed : s->work->count;
}

static bool hand_out(struct sharing *s, uint32_t rank, size_t *i) {
  while (s->free < end_of(s) && s->item[s->free].state != FREE) s->free++;
  if (s->free >= end_of(s)) return false;
  *i = s->free++;
  s->item[*i].state = GIVEN;
  s->item[*i].holder = rank;
  return true;
}

static bool take(struct sharing *s, size_t *i) {
  omp_set_lock(&s->lock);
  const bool taken = s->comm->rank == 0 ? hand_out(s, 0, i) : s->taken < s->given.count;
  if (taken && s->comm->rank != 0) *i = s->given.item[s->taken++];
  s->busy += taken;
  omp_unset_lock(&s->lock);
  return taken;
}

static void compute(struct sharing *s) {
  const struct ss_shared_work *w = s->work;
  void *worker = w->open_worker(w->context, s->threads);
  struct ss_error error;
  if (!worker) s->broken = true;
  for (size_t i; worker && !s->over;) {
    if (!take(s, &i)) {
      nap();
      continue;
    }
    const bool good = w->compute(w->context, worker, i, &error);
    omp_set_lock(&s->lock);
    s->item[i].good = good;
    if (!good) note_failure(s, i, &error);
    put_returned(s, i);
    s->busy--;
    omp_unset_lock(&s->lock);
  }
  if (worker) w->close_worker(worker);
}

/* --- others ----------------------------------------------------------------------------------------------- */

static void must(const struct sharing *s, int code) {
  struct ss_error error;
  if (!ss_mpi_check(code, "sharing work", &error)) ss_communicator_abort(s->comm, &error);
}

/* Until the message to or from rank 0 is through. */
static void finish(struct sharing *s, MPI_Request *request, double limit) {
  struct ss_error error;
  int done;
  for (double silent = 0;; silent += pass(s)) {
    must(s, MPI_Test(request, &done, MPI_STATUS_IGNORE));
    if (done) return;
    check_memory(s);
    if (silent > limit) break;
    nap();
  }
  (void)ss_fail(&error, SS_MACHINE, "rank 0 has been silent for %g s: it is taken for lost (--patience)", limit);
  ss_communicator_abort(s->comm, &error);
}

/* Rank 0 may be waiting for its patience with another to end. */
static double limit_of(const struct sharing *s) {
  return 2 * s->work->patience;
}

/* The result as bytes, the caller's; NULL: it is the error that counts. */
static void *pack(struct sharing *s, size_t i, size_t *size, struct ss_error *error) {
  const struct ss_shared_work *w = s->work;
  if (!s->item[i].good) {
    omp_set_lock(&s->lock);
    *error = s->error;
    omp_unset_lock(&s->lock);
    return NULL;
  }
  void *packed = w->pack(w->context, i, size);
  if (!packed) (void)ss_fail_memory(error, "sending results");
  if (!packed || *size <= INT_MAX - sizeof(struct head)) return packed;
  (void)ss_fail(error, SS_MACHINE, "a result of %zu bytes: MPI takes at most %d (run it without mpirun)", *size,
                INT_MAX);
  free(packed);
  return NULL;
}

static void send_result(struct sharing *s, size_t i) {
  struct ss_error error;
  size_t size = 0;
  MPI_Request request;
  SS_AUTO_FREE void *packed = pack(s, i, &size, &error);
  const struct head head = {i, packed != NULL};
  if (!packed) size = sizeof error;
  SS_AUTO_FREE unsigned char *message = ss_alloc(sizeof head + size, 1);
  if (!message) {
    s->broken = true;
    return;
  }
  memcpy(message, &head, sizeof head);
  memcpy(message + sizeof head, packed ? packed : &error, size);
  must(s, MPI_Isend(message, (int)(sizeof head + size), MPI_BYTE, 0, TAG_RESULT, MPI_COMM_WORLD, &request));
  finish(s, &request, limit_of(s));
}

static void receive_answer(struct sharing *s, struct answer *answer, double limit) {
  MPI_Request request;
  must(s, MPI_Irecv(answer, sizeof *answer, MPI_BYTE, 0, TAG_ANSWER, MPI_COMM_WORLD, &request));
  finish(s, &request, limit);
}

/* Rank 0 writes, and then has MPI end all. An mpirun that was told to go on when a process dies (Open MPI's
 * --enable-recovery) does not do that; any other would take a process that ends before for a failure. A process that
 * was taken for lost, and comes back when all is done, hears EXIT first. */
static _Noreturn void stay(struct sharing *s, struct answer *answer) {
  while (answer->kind != EXIT) receive_answer(s, answer, WRITING);
  (void)sleep(ENDING);
  _exit(SS_OK);
}

/* Threads that have nothing to do. None while items are left here: so whatever rank 0 gives has room. */
static uint64_t idle_threads(struct sharing *s) {
  omp_set_lock(&s->lock);
  const uint64_t idle = s->taken < s->given.count ? 0 : s->threads - s->busy;
  omp_unset_lock(&s->lock);
  return idle;
}

static void ask(struct sharing *s, uint64_t idle, struct answer *answer) {
  MPI_Request request;
  must(s, MPI_Isend(&idle, sizeof idle, MPI_BYTE, 0, TAG_ASK, MPI_COMM_WORLD, &request));
  receive_answer(s, answer, limit_of(s));
  finish(s, &request, limit_of(s));
  if (answer->count == 0) return;
  omp_set_lock(&s->lock);
  s->given = *answer;
  s->taken = 0;
  omp_unset_lock(&s->lock);
}

static void follow(struct sharing *s) {
  struct answer answer = {.kind = ITEMS, .count = 1};
  for (double since = 0; answer.kind == ITEMS; since += pass(s)) {
    for (size_t i; get_returned(s, &i);) send_result(s, i);
    const uint64_t idle = idle_threads(s);
    if (since < (idle == 0 ? SIGN_OF_LIFE : answer.count == 0 ? PAUSE : 0)) {
      check_memory(s);
      nap();
      continue;
    }
    ask(s, idle, &answer);
    since = 0;
  }
  s->over = true;
  if (answer.kind != LEAVE) stay(s, &answer);
}

/* --- rank 0 takes results in ------------------------------------------------------------------------------- */

static bool take_in_one(struct sharing *s, size_t i, struct ss_error *error) {
  const struct ss_shared_work *w = s->work;
  const struct item *item = &s->item[i];
  struct head head;
  if (item->message) {
    const unsigned char *rest = item->message + sizeof head;
    const size_t size = (size_t)item->size - sizeof head;
    memcpy(&head, item->message, sizeof head);
    if (!head.good) memcpy(error, rest, sizeof *error);
    if (!head.good || !w->unpack(w->context, i, rest, size, error)) return false;
  }
  omp_set_lock(&s->lock);
  const bool failed = s->failed != NONE;
  omp_unset_lock(&s->lock);
  return failed || w->finished(w->context, i, error);
}

/* mpirun ends all processes, and this one in a second. Between two results: what was finished is known. */
static _Noreturn void give_up(struct sharing *s) {
  const struct ss_shared_work *w = s->work;
  struct ss_error error = {.status = SS_MACHINE};
  (void)ss_fail(&error, SS_MACHINE, "ended by signal %d, as mpirun does to all when one process is lost",
                (int)stopped);
  bool *done = ss_alloc_zero(w->count, sizeof *done);
  omp_set_lock(&s->lock);
  for (size_t i = 0; done && i < w->count; i++) done[i] = s->item[i].state == DONE;
  omp_unset_lock(&s->lock);
  if (done) w->missing(w->context, done, &error);
  if (s->comm->tell) s->comm->tell(s->comm, &error);
  _exit((int)error.status);
}

static void take_in(struct sharing *s) {
  struct ss_error error;
  for (size_t i; !s->over;) {
    if (stopped) give_up(s);
    if (!get_returned(s, &i)) {
      nap();
      continue;
    }
    const bool good = take_in_one(s, i, &error);
    free(s->item[i].message);
    s->item[i].message = NULL;
    omp_set_lock(&s->lock);
    if (!good) note_failure(s, i, &error);
    s->item[i].state = DONE;
    while (s->open < s->work->count && s->item[s->open].state == DONE) s->open++;
    s->over = s->open >= end_of(s);
    omp_unset_lock(&s->lock);
  }
}

/* --- rank 0 talks ------------------------------------------------------------------------------------------ */

static void lose(struct sharing *s, uint32_t rank) {
  struct ss_error error;
  size_t items = 0;
  s->peer[rank].lost = true;
  s->peer[rank].asks = false;
  omp_set_lock(&s->lock);
  for (size_t i = s->work->count; i-- > 0;) {
    if (s->item[i].state != GIVEN || s->item[i].holder != rank) continue;
    s->item[i].state = FREE;
    items++;
    if (i < s->free) s->free = i;
  }
  omp_unset_lock(&s->lock);
  (void)ss_fail(&error, SS_MACHINE, "rank %u of %u has been silent for %g s: its %zu %s go to others", rank,
                s->comm->size, s->work->patience, items, s->work->what);
  if (s->comm->tell) s->comm->tell(s->comm, &error);
}

/* It was only slow: what no other has begun is its own again, for it may be in the middle of it. */
static void take_back(struct sharing *s, uint32_t rank) {
  s->peer[rank].lost = false;
  omp_set_lock(&s->lock);
  for (size_t i = 0; i < s->work->count; i++)
    if (s->item[i].state == FREE && s->item[i].holder == rank) s->item[i].state = GIVEN;
  omp_unset_lock(&s->lock);
}

static bool send_answer(struct peer *p, uint32_t rank) {
  p->asks = false;
  return MPI_Isend(&p->answer, sizeof p->answer, MPI_BYTE, (int)rank, TAG_ANSWER, MPI_COMM_WORLD, &p->out) ==
         MPI_SUCCESS;
}

/* Many items at once while there are many: one may take less than asking for it. */
static bool answer(struct sharing *s, uint32_t rank) {
  struct peer *p = &s->peer[rank];
  /* it asks again: it has heard the answer before */
  if (MPI_Wait(&p->out, MPI_STATUS_IGNORE) != MPI_SUCCESS) return false;
  p->answer = (struct answer){.kind = ITEMS};
  omp_set_lock(&s->lock);
  const uint64_t left = s->free < end_of(s) ? end_of(s) - s->free : 0;
  uint64_t most = left / (8 * (uint64_t)s->threads * s->comm->size); /* about: as if all had as many threads */
  if (most < p->idle) most = p->idle;
  if (most > ITEMS_AT_ONCE) most = ITEMS_AT_ONCE;
  for (size_t i; p->idle > 0 && p->answer.count < most && hand_out(s, rank, &i);)
    p->answer.item[p->answer.count++] = i;
  omp_unset_lock(&s->lock);
  return send_answer(p, rank);
}

/* Keeps the result that the peer's message holds, unless the item was given to another while the peer was silent: the
 * other may be writing where the result belongs. False: it is no result. */
static bool keep_result(struct sharing *s, uint32_t rank) {
  struct peer *p = &s->peer[rank];
  struct head head;
  if ((size_t)p->size < sizeof head) return false;
  memcpy(&head, p->message, sizeof head);
  if (head.item >= s->work->count || (!head.good && (size_t)p->size != sizeof head + sizeof s->error)) return false;
  struct item *item = &s->item[head.item];
  omp_set_lock(&s->lock);
  if (item->state == GIVEN && item->holder == rank) {
    item->good = true;
    item->message = p->message;
    item->size = p->size;
    p->message = NULL;
    put_returned(s, head.item);
  }
  omp_unset_lock(&s->lock);
  return true;
}

/* Begins to receive, if there is something. False: the peer cannot be talked to. */
static bool begin_message(struct peer *p, uint32_t rank) {
  MPI_Message message;
  MPI_Status status;
  int there;
  if (MPI_Improbe((int)rank, MPI_ANY_TAG, MPI_COMM_WORLD, &there, &message, &status) != MPI_SUCCESS) return false;
  if (!there) return true;
  if (MPI_Get_count(&status, MPI_BYTE, &p->size) != MPI_SUCCESS || p->size < 0) return false;
  p->tag = status.MPI_TAG;
  p->message = ss_alloc((size_t)p->size, 1);
  return p->message && MPI_Imrecv(p->message, p->size, MPI_BYTE, &message, &p->in) == MPI_SUCCESS;
}

/* Hears the peer, if it says something, and answers it. False: it cannot be talked to. */
static bool hear(struct sharing *s, uint32_t rank, bool *heard) {
  struct peer *p = &s->peer[rank];
  int done = 0;
  bool good = true;
  if (!p->message && !begin_message(p, rank)) return false;
  if (p->message && MPI_Test(&p->in, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS) return false;
  if (done) {
    p->silent = 0;
    *heard = true;
    if (p->lost) take_back(s, rank);
    if (p->tag == TAG_RESULT) {
      good = keep_result(s, rank);
    } else if ((good = p->size == sizeof p->idle)) {
      memcpy(&p->idle, p->message, sizeof p->idle);
      p->asks = true;
    }
    free(p->message);
    p->message = NULL;
  }
  return good && (!p->asks || s->over || answer(s, rank));
}

/* False: there is no other process that has not yet asked for more than there is. */
static bool hear_all(struct sharing *s) {
  const double step = pass(s);
  bool heard = false, expected = false;
  for (uint32_t r = 1; r < s->comm->size; r++) {
    struct peer *p = &s->peer[r];
    const bool good = hear(s, r, &heard);
    if (p->lost || p->asks) continue;
    p->silent += step;
    expected = true;
    if (!good || p->silent > s->work->patience) lose(s, r);
  }
  check_memory(s);
  if (!heard) nap();
  return expected;
}

/* All that are there are told whether all are. */
static void part(struct sharing *s) {
  for (uint32_t r = 1; r < s->comm->size; r++) s->comm->lost += s->peer[r].lost;
  for (uint32_t r = 1; r < s->comm->size; r++) {
    struct peer *p = &s->peer[r];
    if (p->lost || MPI_Wait(&p->out, MPI_STATUS_IGNORE) != MPI_SUCCESS) continue;
    p->answer = (struct answer){.kind = s->comm->lost ? STAY : LEAVE};
    if (send_answer(p, r) && s->comm->lost == 0) (void)MPI_Wait(&p->out, MPI_STATUS_IGNORE);
  }
}

static void lead(struct sharing *s) {
  while (!s->over) (void)hear_all(s);
  while (hear_all(s)) continue;
  part(s);
}

/* --- all of it ---------------------------------------------------------------------------------------------- */

static bool start_threads(struct sharing *s, struct ss_error *error) {
  const int aside = s->comm->rank == 0 ? 2 : 1, wanted = aside + (int)s->threads;
  bool all = true;
  omp_set_dynamic(0);
#pragma omp parallel num_threads(wanted)
  {
    const int me = omp_get_thread_num();
    if (omp_get_num_threads() <= aside) {
      if (me == 0) all = false;
    } else if (me == 0) {
      if (s->comm->rank == 0) lead(s);
      else follow(s);
    } else if (me < aside) {
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

static bool open_sharing(struct sharing *s, struct ss_error *error) {
  if (!count_threads(s->comm, s->work->jobs, &s->threads, error)) return false;
  s->item = ss_alloc_zero(s->work->count, sizeof *s->item);
  s->peer = ss_alloc_zero(s->comm->size, sizeof *s->peer);
  for (uint32_t r = 0; s->peer && r < s->comm->size; r++) s->peer[r].out = MPI_REQUEST_NULL;
  return (s->item && s->peer) || ss_fail_memory(error, "sharing work");
}

static void close_sharing(struct sharing *s) {
  for (size_t i = 0; s->item && i < s->work->count; i++) free(s->item[i].message);
  free(s->item);
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

bool ss_communicator_share(struct ss_communicator *comm, const struct ss_shared_work *work, struct ss_error *error) {
  struct sharing s = {.comm = comm, .work = work, .first = NONE, .failed = NONE, .over = work->count == 0};
  const bool good = ss_communicator_agree(comm, open_sharing(&s, error), error) && run(&s, error);
  close_sharing(&s);
  return good;
}

_Noreturn void ss_communicator_part(const struct ss_communicator *comm, enum ss_status status) {
  static const struct answer leave = {.kind = EXIT};
  for (int r = 1; r < (int)comm->size; r++) {
    MPI_Request request;
    if (MPI_Isend(&leave, sizeof leave, MPI_BYTE, r, TAG_ANSWER, MPI_COMM_WORLD, &request) == MPI_SUCCESS)
      (void)MPI_Request_free(&request); /* it may never arrive */
  }
  (void)sleep(1); /* on its way, at least */
  (void)MPI_Abort(MPI_COMM_WORLD, (int)status);
  _exit((int)status);
}
