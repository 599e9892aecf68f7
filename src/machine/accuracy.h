/* How far off a cluster's times may be: its "accuracy", as `calibrate network` writes it (docs/calibration.md,
 * "Accuracy").
 *
 * An error is |ln(predicted / measured)|, told as the factor whose logarithm it is. It depends on what is asked: a
 * collective that was measured, another made of the same kind of messages, a kind that was not measured; and grows
 * with the distance to what was. Point answers do not depend on any of it. */
#pragma once

#include "machine/library.h"

enum ss_accuracy_class {
  SS_AS_MEASURED,    /* a collective that was measured */
  SS_NEW_COLLECTIVE, /* one that was not, of a kind of messages that was */
  SS_NEW_KIND,       /* of a kind of messages that was not */
  SS_NODES_DOUBLED,  /* in addition, each doubling of nodes between what is asked and the nearest that was measured */
  SS_SIZE_DOUBLED,   /* in addition, each doubling of bytes beyond the least and the most that were */
  SS_ACCURACY_CLASSES
};
extern const char *const ss_accuracy_names[]; /* "measured", ..., as files call them; ended by NULL */

/* Messages: of rings, trees, doublings and halvings between nodes; of exchanges between them; inside a node. */
enum ss_message_kind { SS_CHAIN, SS_EXCHANGE, SS_INSIDE, SS_MESSAGE_KINDS };
extern const char *const ss_message_kind_names[]; /* "chain", ...; ended by NULL */

/* Half of the errors are within the one factor, 90% within the other. */
struct ss_spread {
  double half, most; /* at least 1; 0: not said */
};

/* B of calls, the least and the most. */
struct ss_size_span {
  uint64_t least, most;
};

struct ss_accuracy {
  struct ss_spread of[SS_ACCURACY_CLASSES];
  struct ss_spread noise;    /* of one call about the median of those like it; half 0: not said */
  struct ss_size_span bytes; /* that were measured, as enum ss_collective has them; most 0: not said */
  struct {
    struct ss_size_span of[SS_COLLECTIVES];
  } calls;                       /* those of each collective; most 0: as of all */
  uint32_t nodes_min, nodes_max; /* that were measured; 0: not said */
  uint32_t collectives;          /* a bit (1 << enum ss_collective) each that was measured */
  bool kind[SS_MESSAGE_KINDS];   /* was measured */
  bool known;                    /* the cluster says something of all this */
  bool pooled;                   /* errors are those of other machines: its own were not judged */
  char doubt[200];               /* why the fit is doubtful, the first reason; "": it is not */
};

extern const struct ss_object_spec ss_accuracy_fields;
/* An absent node says nothing. */
bool ss_accuracy_read(struct ss_node node, struct ss_accuracy *out, struct ss_error *error) SS_MUST_CHECK;
/* Do both say the same of every time? */
bool ss_accuracy_same(const struct ss_accuracy *a, const struct ss_accuracy *b);

/* What is asked of a cluster, as far as its accuracy goes. */
struct ss_accuracy_question {
  uint32_t collective; /* of enum ss_collective; SS_COLLECTIVES: none of them */
  enum ss_message_kind kind;
  uint32_t nodes;
  uint64_t bytes;
};
/* Which of the first three classes it is of; NULL, or: how many doublings it is beyond the nodes and the bytes that
 * were measured. */
enum ss_accuracy_class ss_accuracy_class_of(const struct ss_accuracy *accuracy,
                                            const struct ss_accuracy_question *question, double *nodes_doubled,
                                            double *size_doubled);
/* The bytes that calls of the collective had which were measured, or (not said of it; SS_COLLECTIVES) those of all.
 */
const struct ss_size_span *ss_accuracy_sizes(const struct ss_accuracy *accuracy, uint32_t collective);
/* How far off that call is because it has more, or fewer, bytes than calls of its collective (SS_COLLECTIVES: than
 * any) that were measured: as many times the class as it is doublings beyond them. 0 B ask nothing. */
struct ss_spread ss_accuracy_beyond(const struct ss_accuracy *accuracy, uint32_t collective, uint64_t bytes);
/* The two factors of the answer: logarithms of the class and of what is added for each doubling add up like
 * independent errors, as the root of the sum of their squares. Those of classes of which nothing is said are 0. */
struct ss_spread ss_accuracy_spread(const struct ss_accuracy *accuracy, const struct ss_accuracy_question *question);
/* SPDX-License-Identifier: Apache-2.0 */
