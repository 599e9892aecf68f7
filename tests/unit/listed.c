#include "listed.h"

#include <fnmatch.h>
#include <stdio.h>

static struct CMUnitTest listed[100]; /* cmocka passes over what has no name */
static size_t count;

void list_test(struct CMUnitTest test) {
  assert_true(count < sizeof listed / sizeof *listed);
  listed[count++] = test;
}

int run_listed(int argc, char **argv, CMFixtureFunction before, CMFixtureFunction after) {
  size_t chosen = count;
  for (size_t i = 0; i < count && argc > 1; i++)
    if (fnmatch(argv[1], listed[i].name, 0) != 0) listed[i].name = NULL, chosen--;
  if (chosen == 0) return fprintf(stderr, "no test is called %s\n", argc > 1 ? argv[1] : "anything"), 2;
  return cmocka_run_group_tests(listed, before, after);
}

/* A file may have its own. */
__attribute__((weak)) int main(int argc, char **argv) {
  return run_listed(argc, argv, NULL, NULL);
}
/* SPDX-License-Identifier: Apache-2.0 */
