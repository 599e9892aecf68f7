/* Sharing work: what both sides have in common. share.h is for everybody else. */
#ifndef SS_SHARE_INTERNAL_H
#define SS_SHARE_INTERNAL_H

#include "base/memory.h"
#include "share/share.h"

#include <mpi.h>
#include <omp.h>

/* From others to rank 0: who is idle asks; what became of an item begins with its number. ASK and BYE are also signs
 * of life. From rank 0: one answer to each ASK, and one to BYE. */
enum { SS_TAG_ASK = 1, SS_TAG_RESULT, SS_TAG_FAILURE, SS_TAG_BYE, SS_TAG_ANSWER };

enum { SS_ITEMS_AT_ONCE = 16 };

struct ss_ask {
  uint64_t idle; /* threads */
};

enum ss_answer_kind {
  SS_ANSWER_ITEMS, /* none, perhaps: ask again soon */
  SS_ANSWER_END,   /* begin nothing any more, and say BYE */
  SS_ANSWER_LEAVE, /* all are there: go on together */
  SS_ANSWER_STAY,  /* one is lost: what is collective would wait for it. Stay until rank 0 has written all: */
  SS_ANSWER_GO     /* it has */
};
struct ss_answer {
  uint64_t kind, count, item[SS_ITEMS_AT_ONCE];
};

/* What became of an item. */
struct ss_made {
  struct ss_made *next;
  size_t item;
  uint32_t from; /* rank */
  bool good;
  struct ss_error error;
  /* between processes: the message, its tag, and MPI's request while it travels. Of a result here: NULL. */
  unsigned char *bytes;
  size_t size;
  int tag;
  MPI_Request request;
};
struct ss_made_list {
  struct ss_made *first, *last;
};

/* In one process. The functions are of rank 0 (share_first.c) or of the others (share_rest.c). */
struct ss_sharing {
  struct ss_communicator *comm;
  const struct ss_shared_work *work;
  omp_lock_t lock;                                     /* for all that several threads touch: */
  bool over;                                           /* nothing is begun any more */
  bool broken;                                         /* there is no memory to say what became of an item */
  bool (*take)(struct ss_sharing *self, size_t *item); /* false: nothing to do just now */
  void (*deliver)(struct ss_sharing *self, struct ss_made *made);
  void (*talk)(struct ss_sharing *self);    /* until there is nobody to talk to */
  void (*take_in)(struct ss_sharing *self); /* until it is over; NULL: nothing comes in */
};

bool ss_share_first(struct ss_communicator *comm, const struct ss_shared_work *work,
                    struct ss_error *error) SS_MUST_CHECK;
bool ss_share_rest(struct ss_communicator *comm, const struct ss_shared_work *work,
                   struct ss_error *error) SS_MUST_CHECK;

/* Talks and computes until both are done. */
bool ss_sharing_run(struct ss_sharing *sharing, struct ss_error *error) SS_MUST_CHECK;
bool ss_sharing_over(struct ss_sharing *sharing);
void ss_sharing_end(struct ss_sharing *sharing); /* it is over */

/* With the lock held, where several threads touch the list. */
void ss_made_push(struct ss_made_list *list, struct ss_made *made);
struct ss_made *ss_made_pop(struct ss_made_list *list); /* NULL: none */
void ss_made_free(struct ss_made *made);

/* Half a millisecond: far below what an item takes that is worth sharing. */
void ss_share_nap(void);

/* Time as this process lived it: while it was stopped, or the machine slept, nobody was silent. */
struct ss_awake {
  double before;
};
/* s since the last call, at most a tenth. */
double ss_awake_step(struct ss_awake *threads_running);

#endif
