/* Training systems: which scheme synchronises sparse and dense gradients, and how their tasks are scheduled
 * (docs/training.md). Read from models/systems/. */
#pragma once

#include "base/json.h"
#include "schemes/select.h"
#include "schemes/simulate.h"

enum ss_schedule { SS_FIFO, SS_PRIORITY, SS_HORIZONTAL, SS_2D };

struct ss_system {
  char name[96];
  struct ss_setting sparse, dense;
  bool exchanges;            /* `sparse` cuts tables over ranks: an embedding has two exchanges */
  struct ss_setting lookups; /* the other one */
  enum ss_schedule schedule;
  uint64_t bucket;       /* B, of `fifo`; 0: no fusion */
  bool bucket_estimated; /* its source says so */
  uint64_t partition;    /* B, of `priority`; 0: whole tensors */
  struct ss_selection select;
  bool baseline;
};

/* "fifo", "priority", "horizontal", "2d" */
const char *ss_schedule_name(enum ss_schedule schedule);
/* The same scheme with the same options; labels do not count. */
bool ss_setting_same(const struct ss_setting *a, const struct ss_setting *b);
extern const struct ss_object_spec ss_system_fields;
bool ss_system_read(struct ss_node node, struct ss_system *out, struct ss_error *error) SS_MUST_CHECK;
