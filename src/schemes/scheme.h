/* The table of a scheme.
 *
 * A scheme is one file with one constant of this type, listed in registry.h. Its `run` says, in rounds of
 * sim/collectives, what every rank sends and what it makes of what it gets, and reports what each rank ends with
 * (schemes/run.h). It is the same code that is simulated (all ranks live in the process) and executed (one does), on
 * all ranks or, inside a hierarchy, among the nodes.
 *
 * The comment at the head of its file ends with the time that a small input takes and the sum behind it, which
 * tests/cli/test_scheme_values.py reads and holds against the program. */
#pragma once

#include "machine/library.h"
#include "schemes/setting.h"

struct ss_cluster;
struct ss_run;

/* Who offers a scheme to somebody who trains with PyTorch: a library that is installed and called. The training
 * script of a paper is none. */
struct ss_offer {
  char by[32];               /* "": nobody */
  char how[160];             /* what is called, or set */
  char url[160];             /* where that is said */
  enum ss_library_kind over; /* the one library of collectives over which it runs; SS_NO_LIBRARY: any */
};

/* A scheme's table ends without a choice and an offer; the first that fits holds. One by "" excludes. */
struct ss_offered {
  const char *option,
      *choice; /* settings whose option stands at that choice, of a flag "true" or "false"; NULL: all */
  enum ss_hierarchy hierarchy; /* and this alone */
  struct ss_offer offer;
};

/* What a scheme sends, and with it what ranks end with. */
enum ss_content {
  SS_SENDS_ROWS,    /* the rows that ranks have: all end with the exact sum */
  SS_SENDS_DENSE,   /* the dense tensor, zeros too: all end with the exact sum; sizes do not depend on the content */
  SS_SENDS_TABLE,   /* rows of a table that is cut over ranks (model parallelism): each ends with the exact sum of its
                     * part. Rows stay whole under element granularity */
  SS_SENDS_LARGEST, /* the largest elements by value (the first options are SS_OPTION_DENSITY and SS_OPTION_K): all
                     * end with the same sum, and keep what was not applied */
  SS_SENDS_ESTIMATES, /* sketches of values, by elements: all end with the same estimates of the sum, nothing waits */
};

struct ss_scheme {
  const char *name, *summary;
  const char *source;               /* paper, section */
  const struct ss_option *options;  /* NULL: none */
  const struct ss_offered *offered; /* to PyTorch, and by whom; NULL: nobody */
  enum ss_content content;
  size_t state_size, rank_state_size; /* B kept from iteration to iteration, of all ranks together and of each */
  struct ss_traits traits;
  /* Changes traits that depend on options, or on ranks and nodes; NULL: none do. */
  void (*adapt)(const struct ss_setting *setting, struct ss_layout layout, struct ss_traits *traits);
  /* The rest of a name "NAME:REST" into options; NULL: the name has no rest. */
  bool (*parse)(const char *rest, struct ss_setting *setting, struct ss_error *error);
  /* Refuses wrong combinations of options and ranks; NULL: there are none. */
  bool (*check)(const struct ss_setting *setting, struct ss_layout layout, struct ss_error *error);
  /* Sets options as the cluster's library chooses them for a tensor of so many bytes, if the user said none; NULL:
   * libraries have no say. Asked only where there is something to choose (ss_setting_tune). */
  void (*tune)(struct ss_setting *setting, const struct ss_cluster *cluster, uint32_t ranks, uint64_t bytes);
  /* Not called for one rank where nothing is sent then: values are selected all the same. */
  bool (*run)(struct ss_run *run, struct ss_error *error);
};

/* Every rank ends with the exact sum. */
static inline bool ss_scheme_lossless(const struct ss_scheme *scheme) {
  return scheme->content < SS_SENDS_LARGEST;
}
/* Aggregates values: marks are values in units of 2^-20, as signed integers, of single elements. */
static inline bool ss_scheme_valued(const struct ss_scheme *scheme) {
  return scheme->content >= SS_SENDS_LARGEST;
}
/* Ends with estimates of the sum; nothing waits. */
static inline bool ss_scheme_estimates(const struct ss_scheme *scheme) {
  return scheme->content == SS_SENDS_ESTIMATES;
}
/* Needs the table cut over ranks. */
static inline bool ss_scheme_model_parallel(const struct ss_scheme *scheme) {
  return scheme->content == SS_SENDS_TABLE;
}

/* Who offers the scheme as it is set on a cluster with that library; NULL: nobody. */
const struct ss_offer *ss_setting_offer(const struct ss_setting *setting, const struct ss_library *library);
/* The offer itself where it holds on such a cluster: by somebody, and over its library, if it names one. Else NULL.
 */
const struct ss_offer *ss_offer_over(const struct ss_offer *offer, const struct ss_library *library);
/* {"by", "how", "url"}, and "over" of what needs a library that the cluster does not name; the caller's. Of NULL:
 * null. `library` NULL: nobody asks for a cluster. */
struct cJSON *ss_offer_json(const struct ss_offer *offer, const struct ss_library *library);
/* SPDX-License-Identifier: Apache-2.0 */
