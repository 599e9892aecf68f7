#include "share/share.h"

#include "base/json_text.h"
#include "base/memory.h"

#include <cjson/cJSON.h>
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

/* Others report to rank 0: what came of an item, or that a thread has nothing to do, or only that they live. Behind a
 * report comes the result it speaks of. Rank 0 answers each report once, with an item for the idle thread. */
enum { TAG_REPORT = 1, TAG_RESULT, TAG_ANSWER };
/* s between two reports while there is nothing to say, or nothing to do. */
static const double PAUSE = 0.02;
/* s that others wait, when one is lost, for rank 0 to write, and then for it to end them. */
enum { WRITING = 3600, ENDING = 3 };
static const size_t NONE = SIZE_MAX;

struct report {
  uint64_t item, size; /* of the result that follows, B; 0: none does */
  uint64_t good;       /* or that is an error */
  uint64_t idle;
};
struct answer {
  enum answer_kind {
    GO_ON, /* with the item, if there is one */
    LEAVE, /* all is done, and all are there: go on to what is collective */
    STAY,  /* all is done, but one is lost: wait for EXIT */
    EXIT   /* rank 0 has written all */
  } kind;
  uint64_t item;
};

struct item {
  enum { FREE, GIVEN, RETURNED } state; /* elsewhere than in rank 0 FREE: not here */
  uint32_t holder;                      /* the rank that was given it last */
  void *bytes;                          /* the result; NULL: it failed */
  size_t size;                          /* B */
  size_t next;                          /* of those that returned, in their order; or NONE */
};

/* Another process, as rank 0 sees it. */
struct peer {
  struct report report;
  void *body; /* its result, on its way here, or NULL */
  struct answer answer;
  MPI_Request in, out;
  double silent; /* s */
  bool asks;     /* its report waits for an answer */
  bool lost;     /* silent, but perhaps only slow */
  bool gone;     /* MPI knows that it cannot be talked to */
};

struct sharing {
  struct ss_communicator *comm;
  const struct ss_work *work;
  double patience;       /* s */
  unsigned threads;      /* that compute */
  double before;         /* when the clock was read last */
  atomic_bool over;      /* nothing is begun any more */
  atomic_size_t failed;  /* the first item that failed, or NONE */
  omp_lock_t lock;       /* for what follows: */
  struct ss_error error; /* of the first that failed */
  struct item *item;     /* [count] */
  size_t first, last;    /* returned: to be taken in by rank 0, or to be sent there */
  /* rank 0 */
  struct peer *peer; /* [ranks] */
  bool *done;        /* [count] taken in */
  size_t free;       /* no item below is free */
  size_t open;       /* all items below are done */
  /* others */
  size_t given;     /* by rank 0, and not yet begun; or NONE */
  atomic_bool idle; /* a thread wanted that, and there was none */
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

/* With the lock. What failed behind another that failed is of no interest. */
static void note_failure(struct sharing *s, size_t i, const struct ss_error *error) {
  if (i >= s->failed) return;
  s->failed = i;
  s->error = *error;
}

/* With the lock. Without bytes there is an error. */
static void put_returned(struct sharing *s, size_t i, void *bytes, size_t size, const struct ss_error *error) {
  struct item *item = &s->item[i];
  if (!bytes) note_failure(s, i, error);
  *item = (struct item){.state = RETURNED, .holder = item->holder, .bytes = bytes, .size = size, .next = NONE};
  if (s->first == NONE) s->first = i;
  else s->item[s->last].next = i;
  s->last = i;
}

static size_t get_returned(struct sharing *s) {
  omp_set_lock(&s->lock);
  const size_t i = s->first;
  if (i != NONE) s->first = s->item[i].next;
  omp_unset_lock(&s->lock);
  return i;
}

/* Behind an item that failed nothing needs to be computed. */
static size_t end_of(const struct sharing *s) {
  return s->failed < s->work->count ? s->failed : s->work->count;
}

/* With the lock, in rank 0. */
static size_t hand_out(struct sharing *s, uint32_t rank) {
  while (s->free < end_of(s) && s->item[s->free].state != FREE) s->free++;
  if (s->free >= end_of(s)) return NONE;
  s->item[s->free] = (struct item){.state = GIVEN, .holder = rank};
  return s->free++;
}

static size_t take(struct sharing *s) {
  omp_set_lock(&s->lock);
  const size_t i = s->comm->rank == 0 ? hand_out(s, 0) : s->given;
  s->given = NONE;
  s->idle = i == NONE;
  omp_unset_lock(&s->lock);
  return i;
}

/* What came of the item, as text; NULL: the error. */
static char *compute_item(const struct ss_work *w, void *worker, size_t i, struct ss_error *error) {
  if (!ss_work_compute(w, worker, i, error)) return NULL;
  cJSON *tree = w->write(w->context, i);
  char *text = tree ? ss_json_exact(tree, false) : NULL;
  cJSON_Delete(tree);
  if (!text) (void)ss_fail_memory(error, "sharing work");
  return text;
}

static void compute(struct sharing *s) {
  const struct ss_work *w = s->work;
  void *worker = w->open_worker ? w->open_worker(w->context, s->threads) : NULL;
  while (!s->over) {
    struct ss_error error;
    const size_t i = take(s);
    if (i == NONE) {
      nap();
      continue;
    }
    char *text = compute_item(w, worker, i, &error);
    omp_set_lock(&s->lock);
    put_returned(s, i, text, text ? strlen(text) : 0, &error);
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
  double silent = 0;
  int done;
  while (silent <= limit) {
    must(s, MPI_Test(request, &done, MPI_STATUS_IGNORE));
    if (done) return;
    nap();
    silent += pass(s);
  }
  (void)ss_fail(&error, SS_MACHINE, "rank 0 has been silent for %g s: it is taken for lost (--patience)", limit);
  ss_communicator_abort(s->comm, &error);
}

static void receive_answer(struct sharing *s, struct answer *answer, double limit) {
  MPI_Request request;
  must(s, MPI_Irecv(answer, sizeof *answer, MPI_BYTE, 0, TAG_ANSWER, MPI_COMM_WORLD, &request));
  finish(s, &request, limit);
}

/* What is sent of an item: its result, or the error. */
static const void *result_of(struct sharing *s, size_t i, struct report *report, struct ss_error *error) {
  const struct item *item = &s->item[i];
  omp_set_lock(&s->lock);
  *error = s->error;
  omp_unset_lock(&s->lock);
  const bool fits = item->size <= INT_MAX;
  if (!fits)
    (void)ss_fail(error, SS_MACHINE, "a result of %zu bytes: MPI takes at most %d (run it without mpirun)",
                  item->size, INT_MAX);
  report->item = i;
  report->good = item->bytes && fits;
  report->size = report->good ? item->size : sizeof *error;
  return report->good ? item->bytes : error;
}

/* Says what came of item i, if it is one, and hears what to do. */
static void send_report(struct sharing *s, size_t i, struct answer *answer) {
  const double limit = 2 * s->patience; /* rank 0 may be waiting for its patience with another to end */
  struct report report = {.idle = s->idle};
  MPI_Request sent[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  struct ss_error error;
  const void *result = i == NONE ? NULL : result_of(s, i, &report, &error);
  must(s, MPI_Isend(&report, sizeof report, MPI_BYTE, 0, TAG_REPORT, MPI_COMM_WORLD, &sent[0]));
  if (result) must(s, MPI_Isend(result, (int)report.size, MPI_BYTE, 0, TAG_RESULT, MPI_COMM_WORLD, &sent[1]));
  for (int k = 0; k < 2; k++) finish(s, &sent[k], limit);
  receive_answer(s, answer, limit);
  omp_set_lock(&s->lock);
  if (result) {
    free(s->item[i].bytes);
    s->item[i] = (struct item){.state = FREE};
  }
  /* After a silence rank 0 may give what a thread is in the middle of. */
  if (answer->item != NONE && s->item[answer->item].state == FREE) {
    s->item[answer->item].state = GIVEN;
    s->given = answer->item;
    s->idle = false;
  }
  omp_unset_lock(&s->lock);
}

/* Rank 0 writes, and then has MPI end all. An mpirun that was told to go on when a process dies (Open MPI's
 * --enable-recovery) does not do that; any other would take a process that ends before for a failure. A process that
 * was taken for lost, and comes back when all is done, hears EXIT first. */
static _Noreturn void stay(struct sharing *s, struct answer *answer) {
  while (answer->kind != EXIT) receive_answer(s, answer, WRITING);
  (void)sleep(ENDING);
  _exit(SS_OK);
}

static void follow(struct sharing *s) {
  struct answer answer = {.kind = GO_ON};
  double since = 0;
  while (answer.kind == GO_ON) {
    const size_t i = get_returned(s);
    if (i == NONE && since < (s->idle && answer.item != NONE ? 0 : PAUSE)) {
      nap();
    } else {
      send_report(s, i, &answer);
      since = 0;
    }
    since += pass(s);
  }
  s->over = true;
  if (answer.kind != LEAVE) stay(s, &answer);
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

static bool finish_item(const struct ss_work *w, size_t i, const struct item *item, struct ss_error *error) {
  SS_AUTO_DOC struct ss_doc *doc = NULL;
  return ss_doc_parse("the result of a rank", item->bytes, item->size, &doc, error) &&
         w->read(w->context, i, ss_doc_root(doc), error) && (!w->finished || w->finished(w->context, i, error));
}

static void take_in(struct sharing *s) {
  const struct ss_work *w = s->work;
  struct ss_error error;
  while (!s->over) {
    if (stopped) give_up(s);
    const size_t i = get_returned(s);
    if (i == NONE) {
      nap();
      continue;
    }
    struct item *item = &s->item[i];
    const bool good = s->failed != NONE || finish_item(w, i, item, &error);
    free(item->bytes);
    item->bytes = NULL;
    s->done[i] = true;
    omp_set_lock(&s->lock);
    if (!good) note_failure(s, i, &error);
    while (s->open < w->count && s->done[s->open]) s->open++;
    s->over = s->open >= end_of(s);
    omp_unset_lock(&s->lock);
  }
}

/* --- rank 0 talks ------------------------------------------------------------------------------------------ */

static void lose(struct sharing *s, uint32_t rank) {
  struct ss_error error;
  size_t items = 0;
  s->peer[rank].lost = true;
  omp_set_lock(&s->lock);
  for (size_t i = s->work->count; i-- > 0;) {
    if (s->item[i].state != GIVEN || s->item[i].holder != rank) continue;
    s->item[i].state = FREE;
    items++;
    if (i < s->free) s->free = i;
  }
  omp_unset_lock(&s->lock);
  (void)ss_fail(&error, SS_MACHINE, "rank %u of %u has been silent for %g s: its %zu %s go to others", rank,
                s->comm->size, s->patience, items, s->work->what);
  if (s->comm->tell) s->comm->tell(s->comm, &error);
}

/* Keeps the result that the peer sent, unless the item was given to another while the peer was silent. */
static void keep_result(struct sharing *s, uint32_t rank) {
  struct peer *p = &s->peer[rank];
  const struct item *item = &s->item[p->report.item];
  omp_set_lock(&s->lock);
  if (item->state != RETURNED && item->holder == rank) {
    put_returned(s, p->report.item, p->report.good ? p->body : NULL, p->report.size, p->body);
    if (p->report.good) p->body = NULL;
  }
  omp_unset_lock(&s->lock);
  free(p->body);
  p->body = NULL;
}

static bool expect_report(struct peer *p, uint32_t rank) {
  return MPI_Irecv(&p->report, sizeof p->report, MPI_BYTE, (int)rank, TAG_REPORT, MPI_COMM_WORLD, &p->in) ==
         MPI_SUCCESS;
}

static bool send_answer(struct peer *p, uint32_t rank, struct answer answer) {
  /* it reports again: it has heard the answer before */
  if (MPI_Wait(&p->out, MPI_STATUS_IGNORE) != MPI_SUCCESS) return false;
  p->answer = answer;
  p->asks = false;
  return MPI_Isend(&p->answer, sizeof p->answer, MPI_BYTE, (int)rank, TAG_ANSWER, MPI_COMM_WORLD, &p->out) ==
         MPI_SUCCESS;
}

/* Hears the peer, if it says something, and answers it, until all is over. False: it cannot be talked to. */
static bool hear(struct sharing *s, uint32_t rank, bool *heard) {
  struct peer *p = &s->peer[rank];
  struct answer answer = {.kind = GO_ON, .item = NONE};
  int there = 0;
  if (p->asks) return true;
  if (MPI_Test(&p->in, &there, MPI_STATUS_IGNORE) != MPI_SUCCESS) return false;
  if (!there) return true;
  *heard = true;
  p->lost = false;
  p->silent = 0;
  if (p->report.size > 0 && !p->body) {
    p->body = ss_alloc(p->report.size, 1);
    return p->body && MPI_Irecv(p->body, (int)p->report.size, MPI_BYTE, (int)rank, TAG_RESULT, MPI_COMM_WORLD,
                                &p->in) == MPI_SUCCESS;
  }
  if (p->body) keep_result(s, rank);
  p->asks = true;
  if (s->over) return true;
  omp_set_lock(&s->lock);
  if (p->report.idle) answer.item = hand_out(s, rank);
  omp_unset_lock(&s->lock);
  return send_answer(p, rank, answer) && expect_report(p, rank);
}

/* False: there is no other process that is neither lost nor waits for the last answer. */
static bool hear_all(struct sharing *s) {
  const double step = pass(s);
  bool heard = false, expected = false;
  for (uint32_t r = 1; r < s->comm->size; r++) {
    struct peer *p = &s->peer[r];
    if (!p->gone && !hear(s, r, &heard)) p->gone = true;
    if (p->lost || p->asks) continue;
    p->silent += step;
    expected = true;
    if (p->gone || p->silent > s->patience) lose(s, r);
  }
  if (!heard) nap();
  return expected;
}

/* All that are there are told whether all are. */
static void part(struct sharing *s) {
  for (uint32_t r = 1; r < s->comm->size; r++) s->comm->lost += s->peer[r].lost;
  for (uint32_t r = 1; r < s->comm->size; r++) {
    struct peer *p = &s->peer[r];
    if (p->lost) continue;
    if (send_answer(p, r, (struct answer){.kind = s->comm->lost ? STAY : LEAVE, .item = NONE}) && s->comm->lost == 0)
      (void)MPI_Wait(&p->out, MPI_STATUS_IGNORE);
  }
}

static void lead(struct sharing *s) {
  for (uint32_t r = 1; r < s->comm->size; r++) s->peer[r].gone = !expect_report(&s->peer[r], r);
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
  s->done = ss_alloc_zero(s->work->count, sizeof *s->done);
  s->peer = ss_alloc_zero(s->comm->size, sizeof *s->peer);
  for (uint32_t r = 0; s->peer && r < s->comm->size; r++) s->peer[r].out = MPI_REQUEST_NULL;
  return (s->item && s->done && s->peer) || ss_fail_memory(error, "sharing work");
}

static void close_sharing(struct sharing *s) {
  for (size_t i = 0; s->item && i < s->work->count; i++) free(s->item[i].bytes);
  free(s->item);
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
  struct sharing s = {.comm = comm,
                      .work = work,
                      .patience = patience,
                      .over = work->count == 0,
                      .failed = NONE,
                      .first = NONE,
                      .given = NONE};
  const bool good = ss_communicator_agree(comm, open_sharing(&s, error), error) && run(&s, error);
  close_sharing(&s);
  return good;
}

_Noreturn void ss_communicator_part(const struct ss_communicator *comm, enum ss_status status) {
  static const struct answer leave = {.kind = EXIT, .item = SIZE_MAX};
  for (int r = 1; r < (int)comm->size; r++) {
    MPI_Request request;
    if (MPI_Isend(&leave, sizeof leave, MPI_BYTE, r, TAG_ANSWER, MPI_COMM_WORLD, &request) == MPI_SUCCESS)
      (void)MPI_Request_free(&request); /* it may never arrive */
  }
  (void)sleep(1); /* on its way, at least */
  (void)MPI_Abort(MPI_COMM_WORLD, (int)status);
  _exit((int)status);
}
