/* Tests that list themselves: TEST(what_it_shows) { ... } is one, and its program runs those of its file in their
 * order, or those alone that its argument names (* stands for any letters). With the headers that cmocka wants. */
#ifndef SS_TESTS_LISTED_H
#define SS_TESTS_LISTED_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define TEST(name)                                                                                                   \
  static void name(void **state);                                                                                    \
  __attribute__((constructor)) static void list_##name(void) {                                                       \
    list_test((struct CMUnitTest)cmocka_unit_test(name));                                                            \
  }                                                                                                                  \
  static void name(__attribute__((unused)) void **state)

void list_test(struct CMUnitTest test);

/* For a main of one's own, which is needed only where something is done `before` or `after` them all: its status. */
int run_listed(int argc, char **argv, CMFixtureFunction before, CMFixtureFunction after);

#endif
/* SPDX-License-Identifier: Apache-2.0 */
