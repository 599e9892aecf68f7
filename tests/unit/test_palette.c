/* Which style a series has: its own in every figure, and never another's. */
#include "listed.h"

#include "figures/plot.h"
#include "figures/plot_palette.h"
#include "schemes/registry.h"

// clang-format off
#include <stdint.h> // clang-format on

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(list) (sizeof(list) / sizeof *(list))

static size_t alone(const char *name) {
  return ss_palette_style(&name, 1, 0);
}

/* As schemes, as systems and as papers write them, whatever stands beside. */
TEST(schemes_keep_theirs) {
  static const char *const figure[] = {"machines", "Ok-Topk",   "zen", "SparDL, 2 teams",
                                       "AGsparse", "AllReduce", "PS"};
  static const char *const names[][2] = {{"AllReduce", "allreduce"},
                                         {"AllReduce", "horovod-allreduce"},
                                         {"AGsparse", "allgather"},
                                         {"Ok-Topk", "oktopk"},
                                         {"ZEN", "zen"},
                                         {"PS", "Sparse PS"}};
  for (size_t i = 0; i < COUNT(names); i++) assert_int_equal(alone(names[i][0]), alone(names[i][1]));
  static const char *const same[] = {NULL, "oktopk", "zen", NULL, "allgather", "allreduce", "ps"};
  for (size_t i = 0; i < COUNT(figure); i++)
    if (same[i]) assert_int_equal(ss_palette_style(figure, COUNT(figure), i), alone(same[i]));
}

TEST(no_two_are_alike) {
  const char *series[SS_PLOT_SERIES_MAX];
  static const char *const more[] = {"AllReduce", "zen:format=coo", "a", "b", "horovod-allreduce", "c", ""};
  size_t count = 0;
  for (size_t i = 0; i < COUNT(more); i++) series[count++] = more[i];
  for (const struct ss_scheme *const *s = ss_schemes(); *s; s++) series[count++] = (*s)->name;
  for (size_t i = 0; i < count; i++)
    for (size_t k = 0; k < i; k++)
      assert_int_not_equal(ss_palette_style(series, count, i), ss_palette_style(series, count, k));
}
