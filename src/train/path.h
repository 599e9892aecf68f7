/* The critical path: from the last forward pass back, each step to what ended last of all that it waited for. */
#ifndef SS_TRAIN_PATH_H
#define SS_TRAIN_PATH_H

#include "train/iterate.h"

/* What the path spends on one operation or task, over the recorded iterations. */
struct ss_path_part {
  enum ss_span_kind kind;
  uint32_t what; /* module, or task */
  double seconds;
};

/* Parts by falling seconds, which add up to the recorded time; an array of *count, to be freed. */
bool ss_path_find(const struct ss_timetable *timetable, const struct ss_iterated *iterated, struct ss_path_part **out,
                  size_t *count, struct ss_error *error) SS_MUST_CHECK;

#endif
