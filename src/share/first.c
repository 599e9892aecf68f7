/* Rank 0: hands out items, and takes in what comes of them. */
#include "exec/patient.h"
#include "share/internal.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum state { FREE, GIVEN, ARRIVED, DONE };

/* Another process. */
struct peer {
  struct ss_made *coming; /* a message that is on its way, or NULL */
  MPI_Request out;        /* of the answer */
  struct ss_answer answer;
  double silent; /* s */
  bool lost, gone;
};

struct first {
  struct ss_sharing sharing; /* first: it is the sharing it stands in */
  struct peer *peer;         /* [crew's size] */
  uint64_t threads;          /* of all processes */
  struct ss_awake threads_running;
  bool ending;
  /* under the lock */
  unsigned char *state; /* [count] enum state */
  uint32_t *holder;     /* [count] rank that was given the item */
  size_t next;          /* none below is free */
  size_t open;          /* all below are done */
  size_t failed;        /* the first that failed; SIZE_MAX: none */
  struct ss_error error;
  struct ss_made_list arrived;
};

/* A handler can tell the program nothing but through a variable of its own. */
static volatile sig_atomic_t stopped;

static void stop(int signal) {
  stopped = signal;
}

/* --- items ---------------------------------------------------------------------------------------------- */

/* Behind an item that failed nothing needs to be computed. */
static size_t limit_of(const struct first *f) {
  return f->failed < f->sharing.work->count ? f->failed : f->sharing.work->count;
}

static bool hand(struct first *f, uint32_t rank, size_t *item) {
  for (const size_t limit = limit_of(f); f->next < limit; f->next++) {
    if (f->state[f->next] != FREE) continue;
    *item = f->next++;
    f->state[*item] = GIVEN;
    f->holder[*item] = rank;
    return true;
  }
  return false;
}

static bool take(struct ss_sharing *s, size_t *item) {
  struct first *f = (struct first *)s;
  omp_set_lock(&s->lock);
  const bool taken = hand(f, 0, item);
  omp_unset_lock(&s->lock);
  return taken;
}

static void deliver(struct ss_sharing *s, struct ss_made *made) {
  struct first *f = (struct first *)s;
  omp_set_lock(&s->lock);
  ss_made_push(&f->arrived, made);
  omp_unset_lock(&s->lock);
}

static bool settled(struct first *f) {
  omp_set_lock(&f->sharing.lock);
  const bool all = f->open >= limit_of(f);
  omp_unset_lock(&f->sharing.lock);
  return all;
}

/* --- what comes in --------------------------------------------------------------------------------------- */

static struct ss_made *next_arrival(struct first *f) {
  omp_set_lock(&f->sharing.lock);
  struct ss_made *made = ss_made_pop(&f->arrived);
  omp_unset_lock(&f->sharing.lock);
  return made;
}

/* An item that was taken from a silent process and given to another is no longer its own: the other may be writing
 * just where the result belongs. One that has arrived is given to nobody any more. */
static bool awaited(struct first *f, const struct ss_made *made) {
  omp_set_lock(&f->sharing.lock);
  const bool yes = f->state[made->item] == GIVEN && f->holder[made->item] == made->from;
  if (yes) f->state[made->item] = ARRIVED;
  omp_unset_lock(&f->sharing.lock);
  return yes;
}

static void take_one(struct first *f, struct ss_made *made) {
  const struct ss_shared_work *w = f->sharing.work;
  const size_t head = sizeof(uint64_t);
  if (!awaited(f, made)) return;
  if (made->good && made->bytes)
    made->good = w->unpack(w->context, made->item, made->bytes + head, made->size - head, &made->error);
  /* only this thread sets `failed` */
  if (made->good && f->failed == SIZE_MAX) made->good = w->finished(w->context, made->item, &made->error);
  omp_set_lock(&f->sharing.lock);
  f->state[made->item] = DONE;
  if (!made->good && made->item < f->failed) {
    f->failed = made->item;
    f->error = made->error;
  }
  while (f->open < w->count && f->state[f->open] == DONE) f->open++;
  omp_unset_lock(&f->sharing.lock);
}

static void take_in(struct ss_sharing *s) {
  struct first *f = (struct first *)s;
  while (!ss_sharing_over(s)) {
    struct ss_made *made = next_arrival(f);
    if (!made) {
      ss_share_nap();
      continue;
    }
    take_one(f, made);
    ss_made_free(made);
  }
}

/* --- who is there ---------------------------------------------------------------------------------------- */

static void lose(struct first *f, uint32_t rank) {
  const struct ss_shared_work *w = f->sharing.work;
  size_t items = 0;
  f->peer[rank].lost = true;
  omp_set_lock(&f->sharing.lock);
  for (size_t i = w->count; i-- > 0;) {
    if (f->state[i] != GIVEN || f->holder[i] != rank) continue;
    f->state[i] = FREE;
    items++;
    if (i < f->next) f->next = i;
  }
  omp_unset_lock(&f->sharing.lock);
  w->lost(w->context, rank, items);
}

static void mind_silence(struct first *f) {
  const double step = ss_awake_step(&f->threads_running);
  for (uint32_t r = 1; r < f->sharing.comm->size; r++) {
    struct peer *p = &f->peer[r];
    if (p->lost || p->gone) continue;
    p->silent += step;
    if (p->silent > f->sharing.work->patience) lose(f, r);
  }
}

/* --- talking --------------------------------------------------------------------------------------------- */

/* Many at once while there are many: an item may take less than asking for one. */
static uint64_t portion(const struct first *f, uint64_t idle) {
  const uint64_t left = limit_of(f) - (f->next < limit_of(f) ? f->next : limit_of(f)), each = left / (8 * f->threads);
  const uint64_t wanted = idle > each ? idle : each;
  return wanted < SS_ITEMS_AT_ONCE ? wanted : SS_ITEMS_AT_ONCE;
}

static bool send_answer(struct first *f, uint32_t rank) {
  struct peer *p = &f->peer[rank];
  return MPI_Isend(&p->answer, sizeof p->answer, MPI_BYTE, (int)rank, SS_TAG_ANSWER, MPI_COMM_WORLD, &p->out) ==
         MPI_SUCCESS;
}

static bool answer(struct first *f, uint32_t rank, uint64_t idle) {
  struct peer *p = &f->peer[rank];
  /* it asks again: it has heard the answer before */
  if (ss_patient_waitall(1, &p->out, MPI_STATUSES_IGNORE) != MPI_SUCCESS) return false;
  p->answer = (struct ss_answer){.kind = f->ending ? SS_ANSWER_END : SS_ANSWER_ITEMS};
  omp_set_lock(&f->sharing.lock);
  const uint64_t most = f->ending || idle == 0 ? 0 : portion(f, idle);
  for (size_t item; p->answer.count < most && hand(f, rank, &item);) p->answer.item[p->answer.count++] = item;
  omp_unset_lock(&f->sharing.lock);
  return send_answer(f, rank);
}

/* What a message says of an item; false when it cannot be one. */
static bool read_made(const struct first *f, struct ss_made *made) {
  uint64_t item;
  if (made->size < sizeof item) return false;
  memcpy(&item, made->bytes, sizeof item);
  if (item >= f->sharing.work->count) return false;
  made->item = item;
  made->good = made->tag == SS_TAG_RESULT;
  if (made->good) return true;
  if (made->size != sizeof item + sizeof made->error) return false;
  memcpy(&made->error, made->bytes + sizeof item, sizeof made->error);
  return true;
}

/* Keeps the message, or frees it. False: it cannot be understood. */
static bool handle(struct first *f, struct ss_made *made) {
  struct peer *p = &f->peer[made->from];
  struct ss_ask ask = {0};
  bool good = true;
  if (made->tag == SS_TAG_RESULT || made->tag == SS_TAG_FAILURE) {
    good = read_made(f, made);
    if (good) {
      deliver(&f->sharing, made);
      return true;
    }
  } else if (made->tag == SS_TAG_BYE) {
    p->gone = true;
  } else {
    if (made->size == sizeof ask) memcpy(&ask, made->bytes, sizeof ask);
    good = made->size == sizeof ask && answer(f, made->from, ask.idle);
  }
  ss_made_free(made);
  return good;
}

/* Begins to receive, if there is something. */
static bool begin_message(struct peer *p, uint32_t rank, bool *begun) {
  MPI_Message message;
  MPI_Status status;
  int there, size;
  *begun = false;
  if (MPI_Improbe((int)rank, MPI_ANY_TAG, MPI_COMM_WORLD, &there, &message, &status) != MPI_SUCCESS) return false;
  if (!there) return true;
  if (MPI_Get_count(&status, MPI_BYTE, &size) != MPI_SUCCESS || size < 0) return false;
  struct ss_made *made = ss_alloc_zero(1, sizeof *made);
  if (made) made->bytes = ss_alloc((size_t)size, 1);
  if (!made || !made->bytes) {
    ss_made_free(made);
    return false;
  }
  made->from = rank;
  made->size = (size_t)size;
  made->tag = status.MPI_TAG;
  p->coming = made;
  *begun = true;
  return MPI_Imrecv(made->bytes, size, MPI_BYTE, &message, &made->request) == MPI_SUCCESS;
}

/* *heard: something came. False: this process cannot be talked to. */
static bool hear(struct first *f, uint32_t rank, bool *heard) {
  struct peer *p = &f->peer[rank];
  int done;
  bool begun = true;
  if (!p->coming && !begin_message(p, rank, &begun)) return false;
  if (!begun) return true;
  if (MPI_Test(&p->coming->request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS) return false;
  if (!done) return true;
  struct ss_made *made = p->coming;
  p->coming = NULL;
  p->silent = 0;
  p->lost = false; /* it was only slow */
  *heard = true;
  return handle(f, made);
}

static _Noreturn void give_up(struct first *f) {
  const struct ss_shared_work *w = f->sharing.work;
  struct ss_error error = {.status = SS_MACHINE};
  (void)ss_fail(&error, SS_MACHINE, "ended by signal %d, as mpirun does to all when one process is lost",
                (int)stopped);
  SS_AUTO_FREE bool *done = ss_alloc_zero(w->count, sizeof *done);
  omp_set_lock(&f->sharing.lock);
  for (size_t i = 0; done && i < w->count; i++) done[i] = f->state[i] == DONE;
  omp_unset_lock(&f->sharing.lock);
  if (done) w->missing(w->context, done, &error);
  f->sharing.comm->last_words(f->sharing.comm, &error);
  _exit((int)error.status); /* the others are being ended, and so is this process in a second */
}

static void abandon(struct first *f, const char *why) {
  struct ss_error error;
  (void)ss_fail(&error, SS_MACHINE, "%s", why);
  ss_communicator_abort(f->sharing.comm, &error);
}

static void hear_all(struct first *f) {
  bool heard = false;
  for (uint32_t r = 1; r < f->sharing.comm->size; r++) {
    struct peer *p = &f->peer[r];
    if (!p->gone && !hear(f, r, &heard) && !p->lost) lose(f, r);
  }
  mind_silence(f);
  omp_set_lock(&f->sharing.lock);
  const bool broken = f->sharing.broken;
  omp_unset_lock(&f->sharing.lock);
  if (broken) abandon(f, "out of memory while sharing work");
  if (stopped) give_up(f);
  if (!heard) ss_share_nap();
}

static bool somebody_is_there(const struct first *f) {
  for (uint32_t r = 1; r < f->sharing.comm->size; r++)
    if (!f->peer[r].lost && !f->peer[r].gone) return true;
  return false;
}

/* Everybody who is there is told whether all are. */
static void part(struct first *f) {
  struct ss_communicator *comm = f->sharing.comm;
  for (uint32_t r = 1; r < comm->size; r++) comm->lost += f->peer[r].lost;
  for (uint32_t r = 1; r < comm->size; r++) {
    struct peer *p = &f->peer[r];
    if (p->lost) continue;
    (void)ss_patient_waitall(1, &p->out, MPI_STATUSES_IGNORE);
    p->answer = (struct ss_answer){.kind = comm->lost ? SS_ANSWER_STAY : SS_ANSWER_LEAVE};
    if (!send_answer(f, r)) continue;
    if (comm->lost == 0) (void)ss_patient_waitall(1, &p->out, MPI_STATUSES_IGNORE);
  }
}

static void talk(struct ss_sharing *s) {
  struct first *f = (struct first *)s;
  while (!settled(f)) hear_all(f);
  f->ending = true;
  ss_sharing_end(s);
  while (somebody_is_there(f)) hear_all(f);
  part(f);
}

/* --- all of it ------------------------------------------------------------------------------------------- */

static void close_first(struct first *f) {
  for (struct ss_made *made; (made = ss_made_pop(&f->arrived));) ss_made_free(made);
  /* MPI may still write into what belongs to a lost process */
  if (f->sharing.comm->lost == 0) free(f->peer);
  free(f->state);
  free(f->holder);
}

static bool open_first(struct first *f, struct ss_error *error) {
  const size_t size = f->sharing.comm->size, count = f->sharing.work->count;
  const uint64_t mine = f->sharing.work->threads;
  f->peer = ss_alloc_zero(size, sizeof *f->peer);
  f->state = ss_alloc_zero(count, sizeof *f->state);
  f->holder = ss_alloc_zero(count, sizeof *f->holder);
  for (size_t r = 0; f->peer && r < size; r++) f->peer[r].out = MPI_REQUEST_NULL;
  f->threads = mine * size; /* about: for portions it will do */
  return (f->peer && f->state && f->holder) || ss_fail_memory(error, "sharing work");
}

bool ss_share_first(struct ss_communicator *comm, const struct ss_shared_work *work, struct ss_error *error) {
  struct first f = {
      .sharing = {.comm = comm, .work = work, .take = take, .deliver = deliver, .talk = talk, .take_in = take_in},
      .failed = SIZE_MAX};
  struct sigaction before, ours = {.sa_handler = stop, .sa_flags = SA_RESTART};
  if (!open_first(&f, &f.error)) ss_communicator_abort(comm, &f.error);
  stopped = 0;
  (void)sigaction(SIGTERM, &ours, &before);
  if (!ss_sharing_run(&f.sharing, &f.error)) ss_communicator_abort(comm, &f.error);
  (void)sigaction(SIGTERM, &before, NULL);
  if (stopped) (void)raise(SIGTERM); /* too late for words: all is computed */
  close_first(&f);
  if (f.failed == SIZE_MAX) return true;
  if (error) *error = f.error;
  return false;
}

_Noreturn void ss_communicator_part(const struct ss_communicator *comm, enum ss_status status) {
  static const struct ss_answer go = {.kind = SS_ANSWER_GO};
  for (int r = 1; r < (int)comm->size; r++) {
    MPI_Request request;
    if (MPI_Isend(&go, sizeof go, MPI_BYTE, r, SS_TAG_ANSWER, MPI_COMM_WORLD, &request) == MPI_SUCCESS)
      (void)MPI_Request_free(&request); /* it may never arrive */
  }
  (void)sleep(1); /* on its way, at least */
  (void)MPI_Abort(MPI_COMM_WORLD, (int)status);
  _exit((int)status);
}
