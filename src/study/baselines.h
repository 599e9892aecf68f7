/* Stored results against new ones: which points moved, which are new, which are gone. */
#ifndef SS_STUDY_BASELINES_H
#define SS_STUDY_BASELINES_H

#include "base/json.h"
#include "study/study.h"

/* What the results come of, to be stored beside them: {"scenario", "clusters": {NAME: {...}}, "devices"}, without
 * names, notes, sources and expectations; the caller's, NULL when memory is short. */
struct cJSON *ss_study_inputs(const struct ss_study *study);

enum ss_change { SS_MOVED, SS_NEW, SS_MISSING };

/* One field of a point that moved. NaN: null there. */
struct ss_moved_field {
  const struct ss_result_field *field;
  double was, now;
};

struct ss_changed_point {
  enum ss_change change;
  const struct ss_result *point; /* NULL: missing */
  struct ss_node stored;         /* absent: new */
  struct ss_moved_field *field;  /* [fields] of points that moved */
  size_t fields;
  bool verdict_changed; /* "exact" is not what it was */
};

struct ss_diff {
  const char *baseline; /* its name */
  struct cJSON *inputs; /* [{"input", "was", "now"}] that are not what they were; NULL: the baseline has none */
  double tolerance;
  struct ss_changed_point *changed; /* in printed order, the missing last */
  size_t count, moved, fresh, missing, same;
};

/* `stored` is what ss_results_read gave of JSON, `inputs` what the points come of. Points meet by label, ranks,
 * tensor and place in the sweep. Bytes, messages, rounds and k must be the same; other numbers may differ by
 * `tolerance`, relative. Fields that the stored points do not have are not compared. Both must outlive the diff. */
bool ss_diff_make(struct ss_doc *stored, const struct cJSON *inputs, const struct ss_results *points,
                  double tolerance, struct ss_diff *out, struct ss_error *error) SS_MUST_CHECK;
void ss_diff_free(struct ss_diff *diff);

#endif
