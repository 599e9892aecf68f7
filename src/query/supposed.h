/* What the object of a request supposes of a tensor and of the links, where there is no trace: cost and crossover.
 */
#pragma once

#include "cost/suppose.h"
#include "query/answers.h"
#include "study/scenario_fields.h"

/* Of the tensor, of links, and what else both have but ranks. */
#define SS_OF_TENSOR(member) SS_STORED(struct ss_supposition, member)
#define SS_TENSOR_EXTRAS                                                                                             \
  {"lookups", "as a share of the rows (density)", SS_IS_SHARE, SS_OF_TENSOR(lookups)},                               \
      {"row_width", NULL, SS_IS_COUNT(1, UINT32_MAX), SS_OF_TENSOR(row_width)},                                      \
      {"value_bytes", NULL, SS_IS_COUNT(1, 16), SS_OF_TENSOR(value_bytes)},                                          \
      {"index_bytes", NULL, SS_IS_COUNT(0, 16), SS_OF_TENSOR(index_bytes)},                                          \
      {"servers", NULL, SS_IS_COUNT(1, 1u << 20), SS_OF_TENSOR(servers)},                                            \
      {"k", NULL, SS_IS_COUNT(1, UINT32_MAX), SS_OF_TENSOR(k)},                                                      \
      {"teams", NULL, SS_IS_COUNT(1, 1u << 20), SS_OF_TENSOR(teams)},                                                \
      {"block", NULL, SS_IS_COUNT(1, 1u << 20), SS_OF_TENSOR(block)}, {                                              \
    "gamma", "random, full, none, or the ratio of 1, 2, ... ranks: 1,1.8", SS_IS_EITHER(ss_gamma_forms),             \
        .read = ss_gamma_read                                                                                        \
  }
#define SS_TENSOR_FIELDS                                                                                             \
  {"M", "of the dense tensor", .kind = SS_SPEC_POSITIVE, .dimension = SS_BYTES, SS_OF_TENSOR(bytes)},                \
      {"density", NULL, SS_IS_SHARE, .most = 1, SS_OF_TENSOR(density)}, SS_TENSOR_EXTRAS
struct ss_supposed_links {
  double latency, bandwidth; /* 0: as the cluster has it */
  struct ss_nodes_change nodes;
};
#define SS_OF_LINKS(member) SS_STORED(struct ss_supposed_links, member)
#define SS_LINKS_FIELDS                                                                                              \
  {"latency", NULL, .kind = SS_SPEC_POSITIVE, .dimension = SS_TIME, SS_OF_LINKS(latency)},                           \
      {"bandwidth", NULL, SS_IS_RATE, SS_OF_LINKS(bandwidth)},                                                       \
      {"gpus_per_node", NULL, SS_IS_COUNT(1, 1u << 20), SS_OF_LINKS(nodes.gpus_per_node)},                           \
      {"nics", NULL, SS_IS_COUNT(1, 1u << 20), SS_OF_LINKS(nodes.nics)},                                             \
      {"intra_latency", NULL, SS_IS_TIME, SS_OF_LINKS(nodes.intra_latency)}, {                                       \
    "intra_bandwidth", NULL, SS_IS_RATE, SS_OF_LINKS(nodes.intra_bandwidth)                                          \
  }
#define SS_SUPPOSED_FIELDS                                                                                           \
  SS_TENSOR_FIELDS, SS_LINKS_FIELDS, {"cluster", "(p3.16xlarge-25g)", SS_IS_EITHER(ss_cluster_forms)}, {             \
    "files", "closed forms of one's own, beside those of models/costs", SS_IS_EITHER(ss_texts_forms)                 \
  }
extern const struct ss_field_spec ss_gamma_forms[];
bool ss_gamma_read(struct ss_node node, void *supposition, struct ss_error *error) SS_MUST_CHECK;

/* `needs_bytes`, `needs_density`: "M", "density" must be there. *out has the defaults. */
bool ss_supposed_read(struct ss_node object, bool needs_bytes, bool needs_density, struct ss_supposition *out,
                      struct ss_error *error) SS_MUST_CHECK;
/* An error where something is said that only closed forms have. */
bool ss_supposed_can_be_played(struct ss_node object, const struct ss_supposition *with,
                               struct ss_error *error) SS_MUST_CHECK;
/* "cluster" (p3.16xlarge-25g), with what the object says of its links and nodes. */
bool ss_supposed_cluster(struct ss_node object, const struct ss_request *request, struct ss_cluster *out,
                         struct ss_error *error) SS_MUST_CHECK;
/* Tells what the object says of the tensor and changes nothing: each is asked for with other values. Nothing is drawn
 * for that. */
typedef bool ss_object_answerer(struct ss_node object, struct ss_request *request, struct ss_error *error);
void ss_supposed_tell_idle(struct ss_node object, const struct ss_request *request, ss_object_answerer *answer);
/* A scheme as ss_duel_side_read takes it, of a text or an object; the document's or the arena's. */
bool ss_supposed_scheme(struct ss_node node, struct ss_arena *arena, const char **out,
                        struct ss_error *error) SS_MUST_CHECK;
/* SPDX-License-Identifier: Apache-2.0 */
