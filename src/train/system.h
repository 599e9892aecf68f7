/* Training systems: which scheme synchronises sparse and dense gradients, and how their tasks are scheduled
 * (docs/training.md). Read from models/systems/. */
#pragma once

#include "base/json.h"
#include "schemes/scheme.h"
#include "schemes/select.h"
#include "schemes/simulate.h"

enum ss_schedule { SS_FIFO, SS_PRIORITY, SS_HORIZONTAL, SS_2D };

/* What tasks carry, as channels tell them apart: dense tensors, and the rows of embeddings by the kind of their task
 * (in the order of enum ss_task_kind). */
enum ss_cargo { SS_CARGO_GRADIENT, SS_CARGO_LOOKUPS, SS_CARGO_PRIOR, SS_CARGO_DELAYED, SS_CARGO_DENSE, SS_CARGOES };
enum { SS_CHANNELS_MAX = 8 };

/* What communication costs beside the wire; 0: nothing. */
struct ss_software {
  double call;          /* s before each task's play */
  double copy;          /* B/s at which dense buckets are filled before it, and emptied after it; 0: at once */
  double cycle;         /* s: channels choose at multiples of it alone */
  double step;          /* s an iteration on the compute stream, in even shares before each forward pass */
  double step_per_byte; /* s/B of a module's gradient, likewise */
};

/* Which tasks are under way at once, and what that costs. */
struct ss_concurrency {
  uint32_t channels;           /* 0 is 1 */
  uint8_t channel[SS_CARGOES]; /* which one carries it */
  bool shared_kernels;         /* kernels of plays take turns with operations on the ranks' compute streams */
  double interference;         /* an operation takes 1 + so many times as long while a play is under way */
  struct ss_software software;
};

/* Must plays be played on a network, as they may meet each other or computing? */
static inline bool ss_concurrency_needs_network(const struct ss_concurrency *concurrency) {
  return concurrency->channels > 1 || concurrency->shared_kernels;
}

/* What goes together, by names of modules, in the order in which it goes. */
struct ss_buckets {
  const char *where;       /* they stand, for messages: "FILE: system.bucket" */
  const char *const *name; /* of all lists, one behind the other */
  const uint32_t *end;     /* [lists] of each in them */
  uint32_t lists;          /* 0: there are none */
};

/* Which messages are copied through the memory of machines. */
enum ss_staging { SS_STAGED_NOTHING, SS_STAGED_TABLES, SS_STAGED_ALL };

struct ss_system {
  struct ss_arena arena; /* of `listed` */
  char name[96];
  struct ss_setting sparse, dense;
  bool exchanges;            /* `sparse` cuts tables over ranks: an embedding has two exchanges */
  struct ss_setting lookups; /* the other one */
  enum ss_schedule schedule;
  uint64_t bucket;          /* B, of `fifo`; 0: no fusion */
  uint64_t first_bucket;    /* B, of the first one; 0: as all */
  struct ss_buckets listed; /* of `fifo`, instead of a size */
  bool bucket_estimated;    /* its source says so */
  uint64_t partition;       /* B, of `priority`; 0: whole tensors */
  struct ss_selection select;
  struct ss_concurrency concurrency;
  enum ss_staging staging;
  bool baseline;
  struct ss_offer offer; /* by "": nobody */
};

/* "fifo", "priority", "horizontal", "2d" */
const char *ss_schedule_name(enum ss_schedule schedule);
/* Does training go on with other gradients than the sum? */
bool ss_system_lossy(const struct ss_system *system);
/* The same scheme with the same options; labels do not count. */
bool ss_setting_same(const struct ss_setting *a, const struct ss_setting *b);
extern const struct ss_object_spec ss_system_fields;
/* What `out` holds is its own, to be freed also after a failure. */
bool ss_system_read(struct ss_node node, struct ss_system *out, struct ss_error *error) SS_MUST_CHECK;
void ss_system_free(struct ss_system *system);
/* SPDX-License-Identifier: Apache-2.0 */
