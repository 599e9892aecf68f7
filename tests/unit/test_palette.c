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

/* Up to 24 series no colour comes twice, though most are nobody's own. */
TEST(colours_come_once) {
  static const char *const own[] = {"n", "zen", "allreduce"};
  char label[21][8];
  const char *series[24];
  for (size_t i = 0; i < 21; i++) {
    snprintf(label[i], sizeof label[i], "mine %zu", i);
    series[i] = label[i];
  }
  for (size_t i = 0; i < 3; i++) series[21 + i] = own[i];
  for (size_t i = 0; i < 24; i++) {
    const size_t style = ss_palette_style(series, 24, i);
    assert_in_range(style, 1, 24);
    for (size_t k = 0; k < i; k++) assert_int_not_equal(style, ss_palette_style(series, 24, k));
  }
  assert_int_equal(ss_palette_style(series, 24, 22), alone("zen"));
}

/* A label of the user's, among whatever schemes: "ours" was green beside some and blue beside others. */
TEST(labels_keep_theirs) {
  static const char *const figures[][4] = {{"ours", "zen", "allreduce", "ps"},
                                           {"allgather", "alltoall", "ours", "s2"}};
  assert_int_equal(ss_palette_style(figures[0], 4, 0), alone("ours"));
  assert_int_equal(ss_palette_style(figures[1], 4, 2), alone("ours"));
  assert_true(alone("ours") > 16);
}

/* The colours of plots/style.gp: none is hard to see on white (3:1 as WCAG 2 asks of graphics), and labels' are not
 * schemes'. */
TEST(colours_are_seen_on_white) {
  char line[400];
  unsigned seen[24] = {0}, n = 0;
  FILE *file = fopen("plots/style.gp", "r");
  assert_non_null(file);
  while (fgets(line, sizeof line, file)) {
    if (strncmp(line, "array colour[24] = [", 20) != 0 && line[0] != ' ') continue;
    for (char *c = line; n < 24 && (c = strstr(c, "'#")); c += 9) seen[n++] = (unsigned)strtoul(c + 2, NULL, 16);
  }
  fclose(file);
  assert_int_equal(n, 24);
  for (unsigned i = 0; i < n; i++) {
    double light = 0;
    const double weight[] = {0.2126, 0.7152, 0.0722};
    for (int k = 0; k < 3; k++) {
      const double share = (seen[i] >> (16 - 8 * k) & 255) / 255.0;
      light += weight[k] * (share <= 0.04045 ? share / 12.92 : pow((share + 0.055) / 1.055, 2.4));
    }
    assert_true(1.05 / (light + 0.05) >= 3);
    for (unsigned k = 0; k < i; k++) assert_int_not_equal(seen[i], seen[k]);
  }
}
/* SPDX-License-Identifier: Apache-2.0 */
