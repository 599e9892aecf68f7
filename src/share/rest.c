/* All ranks but 0: ask for items, and send what comes of them. */
#include "share/internal.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* s: between two askings, when the last brought nothing; or when there is nothing to ask for. */
static const double PAUSE = 0.02, SIGN_OF_LIFE = 0.25;
/* s: when one is lost, for rank 0 to write, and to end this process. */
enum { STAY = 3600, GO = 3 };

struct rest {
  struct ss_sharing sharing; /* first: it is the sharing it stands in */
  struct ss_awake threads_running;
  double silent, since; /* s: since rank 0 was heard; since it was asked */
  double patience;      /* s */
  bool asked, eager, ended;
  struct ss_ask ask;
  struct ss_answer answer;
  MPI_Request ask_out, answer_in;
  struct ss_made_list sending;
  /* under the lock */
  size_t item[SS_ITEMS_AT_ONCE], items;
  unsigned busy;
  struct ss_made_list made;
};

/* --- items ----------------------------------------------------------------------------------------------- */

static bool take(struct ss_sharing *s, size_t *item) {
  struct rest *w = (struct rest *)s;
  omp_set_lock(&s->lock);
  const bool taken = w->items > 0;
  if (taken) {
    *item = w->item[0];
    memmove(w->item, w->item + 1, --w->items * sizeof *w->item);
    w->busy++;
  }
  omp_unset_lock(&s->lock);
  return taken;
}

/* The message about an item: its number, and what came of it. */
static bool write_made(const struct ss_shared_work *work, struct ss_made *made) {
  const uint64_t item = made->item;
  size_t size = sizeof made->error;
  SS_AUTO_FREE void *packed = made->good ? work->pack(work->context, made->item, &size) : NULL;
  if (made->good && !packed) made->good = ss_fail_memory(&made->error, "sending results");
  if (made->good && size > INT_MAX - sizeof item) {
    made->good = ss_fail(&made->error, SS_MACHINE,
                         "a result of %zu bytes: MPI takes at most %d (run it without mpirun)", size, INT_MAX);
  }
  if (!made->good) size = sizeof made->error;
  made->size = sizeof item + size;
  made->tag = made->good ? SS_TAG_RESULT : SS_TAG_FAILURE;
  made->bytes = ss_alloc(made->size, 1);
  if (!made->bytes) return false;
  memcpy(made->bytes, &item, sizeof item);
  memcpy(made->bytes + sizeof item, made->good ? packed : &made->error, size);
  return true;
}

static void deliver(struct ss_sharing *s, struct ss_made *made) {
  struct rest *w = (struct rest *)s;
  const bool written = write_made(s->work, made);
  omp_set_lock(&s->lock);
  if (written) ss_made_push(&w->made, made);
  else s->broken = true;
  w->busy--;
  omp_unset_lock(&s->lock);
  if (!written) ss_made_free(made);
}

/* --- talking --------------------------------------------------------------------------------------------- */

static void must(struct rest *w, int code, const char *what) {
  struct ss_error error;
  if (!ss_mpi_check(code, what, &error)) ss_communicator_abort(w->sharing.comm, &error);
}

static void send_made(struct rest *w) {
  for (;;) {
    omp_set_lock(&w->sharing.lock);
    struct ss_made *made = ss_made_pop(&w->made);
    omp_unset_lock(&w->sharing.lock);
    if (!made) return;
    must(w, MPI_Isend(made->bytes, (int)made->size, MPI_BYTE, 0, made->tag, MPI_COMM_WORLD, &made->request),
         "sending results");
    ss_made_push(&w->sending, made);
  }
}

/* Frees what has arrived; messages arrive in the order in which they were sent. */
static void finish_sending(struct rest *w) {
  int done = 1;
  while (w->sending.first && done) {
    must(w, MPI_Test(&w->sending.first->request, &done, MPI_STATUS_IGNORE), "sending results");
    if (done) ss_made_free(ss_made_pop(&w->sending));
  }
}

static void say(struct rest *w, int tag) {
  must(w, MPI_Irecv(&w->answer, sizeof w->answer, MPI_BYTE, 0, SS_TAG_ANSWER, MPI_COMM_WORLD, &w->answer_in),
       "asking for work");
  must(w, MPI_Isend(&w->ask, sizeof w->ask, MPI_BYTE, 0, tag, MPI_COMM_WORLD, &w->ask_out), "asking for work");
  w->asked = true;
  w->since = 0;
}

/* None while items are left here: so whatever rank 0 gives has room. */
static unsigned idle_threads(struct rest *w) {
  omp_set_lock(&w->sharing.lock);
  const unsigned idle = w->items > 0 ? 0 : w->sharing.work->threads - w->busy;
  omp_unset_lock(&w->sharing.lock);
  return idle;
}

static void ask(struct rest *w) {
  w->ask.idle = idle_threads(w);
  if (w->since >= SIGN_OF_LIFE || (w->ask.idle > 0 && (w->eager || w->since >= PAUSE))) say(w, SS_TAG_ASK);
}

/* True: rank 0 has answered. */
static bool hear(struct rest *w) {
  int done;
  must(w, MPI_Test(&w->answer_in, &done, MPI_STATUS_IGNORE), "asking for work");
  if (!done) return false;
  must(w, MPI_Wait(&w->ask_out, MPI_STATUS_IGNORE), "asking for work"); /* it was answered: it has arrived */
  w->asked = false;
  w->silent = w->since = 0;
  return true;
}

/* Rank 0 has written all, and ends all soon. */
static _Noreturn void leave(void) {
  (void)sleep(GO);
  _exit(SS_OK);
}

/* To one that was taken for lost, and comes back when all is done, that is the first answer. */
static void accept(struct rest *w) {
  if (w->answer.kind == SS_ANSWER_GO) leave();
  omp_set_lock(&w->sharing.lock);
  for (uint64_t i = 0; i < w->answer.count && w->items < SS_ITEMS_AT_ONCE; i++)
    w->item[w->items++] = w->answer.item[i];
  omp_unset_lock(&w->sharing.lock);
  w->eager = w->answer.count > 0;
  w->ended = w->answer.kind == SS_ANSWER_END;
}

static void wait_a_little(struct rest *w) {
  const double step = ss_awake_step(&w->threads_running);
  struct ss_error error;
  w->since += step;
  w->silent += step;
  omp_set_lock(&w->sharing.lock);
  const bool broken = w->sharing.broken;
  omp_unset_lock(&w->sharing.lock);
  if (broken) {
    (void)ss_fail_memory(&error, "sharing work");
    ss_communicator_abort(w->sharing.comm, &error);
  }
  if (w->silent > w->patience) {
    (void)ss_fail(&error, SS_MACHINE, "rank 0 has been silent for %g s: it is taken for lost (--patience)",
                  w->patience);
    ss_communicator_abort(w->sharing.comm, &error);
  }
  ss_share_nap();
}

/* Rank 0 writes, and then has MPI end all. An mpirun that was told to go on when a process dies (Open MPI's
 * --enable-recovery) does not do that; any other would take a process that ends before for a failure. */
static _Noreturn void stay(struct rest *w) {
  w->patience = STAY;
  must(w, MPI_Irecv(&w->answer, sizeof w->answer, MPI_BYTE, 0, SS_TAG_ANSWER, MPI_COMM_WORLD, &w->answer_in),
       "waiting for rank 0");
  for (int done = 0; !done;) {
    must(w, MPI_Test(&w->answer_in, &done, MPI_STATUS_IGNORE), "waiting for rank 0");
    wait_a_little(w);
  }
  leave();
}

/* Says what is still to be said, then goodbye. Rank 0 answers that when it has heard it of all, or is tired of
 * waiting for one. */
static void part(struct rest *w) {
  w->patience *= 4;
  while (w->sending.first) {
    finish_sending(w);
    if (w->sending.first) wait_a_little(w);
  }
  say(w, SS_TAG_BYE);
  while (!hear(w)) wait_a_little(w);
  if (w->answer.kind == SS_ANSWER_STAY) stay(w);
}

static void talk(struct ss_sharing *s) {
  struct rest *w = (struct rest *)s;
  while (!w->ended) {
    send_made(w);
    finish_sending(w);
    if (!w->asked) ask(w);
    if (w->asked && hear(w)) accept(w);
    else wait_a_little(w);
  }
  ss_sharing_end(s);
  part(w);
}

bool ss_share_rest(struct ss_communicator *comm, const struct ss_shared_work *work, struct ss_error *error) {
  struct rest w = {.sharing = {.comm = comm, .work = work, .take = take, .deliver = deliver, .talk = talk},
                   .patience = work->patience,
                   .eager = true};
  const bool good = ss_sharing_run(&w.sharing, error);
  if (!good) ss_communicator_abort(comm, error);
  for (struct ss_made *made; (made = ss_made_pop(&w.made));) ss_made_free(made);
  return good;
}
