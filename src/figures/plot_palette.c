#include "figures/plot_palette.h"

#include "figures/plot.h"

/* By style. A scheme, the systems that are it, and what papers call it, without marks between letters; those that one
 * figure compares have colours of their own, and traces never stand beside schemes. */
enum { NAMES_MAX = 10, OWN = 16, OTHERS = 8 };
static const char *const own[OWN][NAMES_MAX] = {
    {"allreduce", "horovodallreduce", "dense", "backward", "biblekjv16", "lstm", "kjv", "kjvverses"},
    {"allgather", "agsparse", "horovodallgather", "table gradients", "wordnet64", "deepfm", "wordnet",
     "wordnetstream"},
    {"alltoall", "embrace", "dense gradients", "lstmbible4", "nmt", "nmtlike"},
    {"ps", "sparseps", "parallax", "parallaxps", "lookeduprows", "learnkjv8", "bert", "lstmlike"},
    {"zen", "balancedparallelism", "bp", "prior rows", "deepfmlike"},
    {"omnireduce", "forward"},
    {"sparcmlrd", "sparcml"},
    {"byteps", "delayed rows"},
    {"spardl"},
    {"oktopk"},
    {"topka"},
    {"topkdsa"},
    {"gtopk"},
    {"sparcmldsar", "embracehorizontal", "algorithm1"},
    {"sparcmlsplit", "embracehybridonly"},
    {"s2"},
};

/* Letters and digits alone, as far as they go: "Ok-Topk" is "oktopk". */
static bool same(const char *name, const char *series) {
  for (;;) {
    while (*name && !isalnum((unsigned char)*name)) name++;
    while (*series && !isalnum((unsigned char)*series)) series++;
    if (!*name || !*series) return !*name && !*series;
    if (*name++ != tolower((unsigned char)*series++)) return false;
  }
}

/* 0: none. */
static size_t own_style(const char *series) {
  for (size_t i = 0; i < OWN; i++)
    for (size_t k = 0; k < NAMES_MAX && own[i][k]; k++)
      if (same(own[i][k], series)) return i + 1;
  return 0;
}

/* The first series of that style has it. */
static bool takes_its_own(const char *const *series, size_t at) {
  const size_t style = own_style(series[at]);
  for (size_t i = 0; i < at; i++)
    if (style && own_style(series[i]) == style) return false;
  return style > 0;
}

/* One of those that are nobody's own, by its name: so that a label of the user's has it in every figure. */
static size_t style_of_name(const char *name) {
  uint32_t hash = 2166136261u; /* FNV-1a */
  for (; *name; name++) hash = (hash ^ (unsigned char)*name) * 16777619u;
  return OWN + 1 + (hash ^ hash >> 16) % OTHERS;
}

/* The first that is free from `style` on; those of labels go round. */
static size_t first_free(const bool *taken, size_t style, bool round) {
  for (; taken[style]; style++)
    if (round && style == OWN + OTHERS) style = OWN; /* the first of them comes behind the last */
  return style;
}

size_t ss_palette_style(const char *const *series, size_t count, size_t at) {
  bool taken[OWN + OTHERS + SS_PLOT_SERIES_MAX + 1] = {false};
  if (takes_its_own(series, at)) return own_style(series[at]);
  for (size_t i = 0; i < count; i++)
    if (takes_its_own(series, i)) taken[own_style(series[i])] = true;
  size_t style = 0;
  for (size_t i = 0, others = 0; i <= at; i++) {
    if (takes_its_own(series, i)) continue;
    const bool round = others++ < OTHERS;
    style = first_free(taken, round ? style_of_name(series[i]) : 1, round);
    taken[style] = true;
  }
  return style;
}
/* SPDX-License-Identifier: Apache-2.0 */
