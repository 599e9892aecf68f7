/* What the object of a request supposes of a tensor and of the links, where there is no trace: cost and crossover.
 */
#ifndef SS_QUERY_SUPPOSED_H
#define SS_QUERY_SUPPOSED_H

#include "base/memory.h"
#include "cost/suppose.h"
#include "query/answers.h"

/* The keys that are read here, and "ranks". */
#define SS_SUPPOSED_KEYS                                                                                             \
  "M", "density", "lookups", "row_width", "value_bytes", "gamma", "servers", "k", "teams", "index_bytes", "block",   \
      "files", "bandwidth", "ranks", "cluster", "latency", "gpus_per_node", "nics", "intra_latency",                 \
      "intra_bandwidth"

enum { SS_FORM_FILES_MAX = 64 };

/* "files": closed forms of one's own, beside those of models/costs. */
struct ss_supposed_files {
  const char *name[SS_FORM_FILES_MAX];
  size_t count;
};
bool ss_supposed_files(struct ss_node object, struct ss_supposed_files *out, struct ss_error *error) SS_MUST_CHECK;

/* `needs_bytes`, `needs_density`: "M", "density" must be there. *out has the defaults. */
bool ss_supposed_read(struct ss_node object, bool needs_bytes, bool needs_density, struct ss_supposition *out,
                      struct ss_error *error) SS_MUST_CHECK;
/* An error where something is said that only closed forms have. */
bool ss_supposed_can_be_played(struct ss_node object, const struct ss_supposition *with,
                               struct ss_error *error) SS_MUST_CHECK;
/* "cluster" (p3.16xlarge-25g), with what the object says of its links and nodes. */
bool ss_supposed_cluster(struct ss_node object, const struct ss_request *request, struct ss_cluster *out,
                         struct ss_error *error) SS_MUST_CHECK;
/* A scheme as ss_duel_side_read takes it, of a text or an object; the document's or the arena's. */
bool ss_supposed_scheme(struct ss_node node, struct ss_arena *arena, const char **out,
                        struct ss_error *error) SS_MUST_CHECK;

#endif
