/* Which style a series has: its own in every figure, and never another's. */
#include "figures/plot.h"
#include "figures/plot_palette.h"
#include "schemes/registry.h"
#include "study/trainings.h"

// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(list) (sizeof(list) / sizeof *(list))

static size_t alone(const char *name) {
  return ss_palette_style(&name, 1, 0);
}

/* As schemes, as systems and as papers write them, whatever stands beside. */
static void schemes_keep_theirs(void **state) {
  (void)state;
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

static void no_two_are_alike(void **state) {
  (void)state;
  const char *series[SS_PLOT_SERIES_MAX];
  static const char *const more[] = {"AllReduce", "zen:format=coo", "a", "b", "horovod-allreduce", "c", ""};
  size_t count = 0;
  for (size_t i = 0; i < COUNT(more); i++) series[count++] = more[i];
  for (const struct ss_scheme *const *s = ss_schemes(); *s; s++) series[count++] = (*s)->name;
  for (size_t i = 0; i < count; i++)
    for (size_t k = 0; k < i; k++)
      assert_int_not_equal(ss_palette_style(series, count, i), ss_palette_style(series, count, k));
}

/* The i-th (from 0 on) quoted colour behind `name` in a file of plots/. */
static void colour_of(const char *file, const char *name, size_t i, char colour[8]) {
  static char text[8192];
  FILE *stream = fopen(file, "r");
  assert_non_null(stream);
  text[fread(text, 1, sizeof text - 1, stream)] = '\0';
  fclose(stream);
  const char *at = strstr(text, name);
  for (size_t k = 0; at && k <= i; k++) at = strstr(at + 1, "'#");
  assert_non_null(at);
  snprintf(colour, 8, "%.7s", at + 1);
}

/* Figure 6 draws its boxes as series, `train --gantt` by its own list. */
static void timelines_look_alike(void **state) {
  (void)state;
  for (size_t i = 0; i < SS_SHADES; i++) {
    char gantt[8], series[8];
    colour_of("plots/gantt.gp", "array shade", i, gantt);
    colour_of("plots/style.gp", "array colour", ss_palette_style(ss_shade_names, SS_SHADES, i) - 1, series);
    assert_string_equal(gantt, series);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(schemes_keep_theirs), cmocka_unit_test(no_two_are_alike),
                                     cmocka_unit_test(timelines_look_alike)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
