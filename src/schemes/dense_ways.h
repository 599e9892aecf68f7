/* How libraries sum dense tensors: the ways among which the fastest is taken where nobody says which. */
#ifndef SS_SCHEMES_DENSE_WAYS_H
#define SS_SCHEMES_DENSE_WAYS_H

#include "machine/cluster.h"
#include "schemes/setting.h"

struct ss_dense_way {
  const char *algorithm; /* of `allreduce` */
  const char *name;      /* in results */
  enum ss_hierarchy hierarchy;
};

/* Flat rings come last, as it is known what they take at the least; where they take as long as another way, they are
 * the ones that are named. */
enum { SS_DENSE_WAYS = 5, SS_DENSE_RINGS = SS_DENSE_WAYS - 1 };
extern const struct ss_dense_way ss_dense_ways[SS_DENSE_WAYS];

/* The name in results of a setting of `allreduce` as NCCL chose it (ss_setting_tune): "nccl ring simple". */
const char *ss_dense_library_name(const struct ss_setting *setting);
/* A name of one or of the other, as a constant; NULL: it is none. */
const char *ss_dense_way_name(const char *text);

/* The setting is of `allreduce` and names no way of its own. */
bool ss_dense_is_open(const struct ss_setting *setting);
/* Makes it one of that way; false: ranks that sit so have no such way, or it is not worth playing, or NCCL chooses.
 */
bool ss_dense_way_take(const struct ss_dense_way *way, const struct ss_cluster *cluster, uint32_t ranks,
                       struct ss_setting *setting);

#endif
