/* Workloads as they are read, and the rows that they look up. */
#include "support.h"

#include "train/lookups.h"

/* A workload with one table whose rows are given as counts. */
static bool read(const char *head, const char *counts, struct ss_workload *out, struct ss_error *error) {
  char text[512];
  struct ss_doc *doc;
  (void)snprintf(text, sizeof text,
                 "{\"name\": \"w\"%s, \"modules\": [{\"name\": \"table\", \"kind\": \"embedding\", \"rows\": 100, "
                 "\"row_width\": 4, \"counts\": {%s}}]}",
                 head, counts);
  *error = (struct ss_error){0};
  assert_true(ss_doc_parse("test", text, strlen(text), &doc, error));
  const bool ok = ss_workload_read(ss_doc_root(doc), out, error);
  ss_doc_free(doc);
  return ok;
}

TEST(counts_must_be_possible) {
  static const struct {
    const char *head, *counts, *says; /* NULL: taken */
  } cases[] = {
      {"", "\"lookups\": 32, \"coalesced\": 16, \"prior\": 16", NULL},
      {"", "\"lookups\": 32, \"coalesced\": 16, \"prior\": 17", "17 prior rows"},
      {"", "\"lookups\": 15, \"coalesced\": 16, \"prior\": 4", "16 distinct rows in 15 lookups"},
      {"", "\"lookups\": 1, \"coalesced\": 0, \"prior\": 0", "0 distinct rows in 1 lookups"},
      {"", "\"lookups\": 0, \"coalesced\": 0, \"prior\": 0", NULL},
      {"", "\"lookups\": 300, \"coalesced\": 101, \"prior\": 4", "101 distinct rows of a table of 100"},
      {", \"tokens\": 0.5", "\"lookups\": 1, \"coalesced\": 1, \"prior\": 1", NULL},
      {", \"tokens\": 0", "\"lookups\": 1, \"coalesced\": 1, \"prior\": 1", "tokens"},
      {", \"tokens\": 1e308", "\"lookups\": 1, \"coalesced\": 1, \"prior\": 1", "tokens: 1e+308 is above"},
  };
  for (size_t i = 0; i < COUNT(cases); i++) {
    struct ss_workload w;
    struct ss_error error;
    assert_int_equal(read(cases[i].head, cases[i].counts, &w, &error), cases[i].says == NULL);
    if (cases[i].says && !strstr(error.text, cases[i].says)) fail_msg("%s", error.text);
    ss_workload_free(&w);
  }
}

/* How many rows ranks `a` and `b` share. */
static uint64_t shared(const struct ss_lookups *l, uint32_t a, uint32_t b) {
  uint64_t common = 0;
  for (uint64_t i = l->distinct_first[a]; i < l->distinct_first[a + 1]; i++)
    for (uint64_t k = l->distinct_first[b]; k < l->distinct_first[b + 1]; k++)
      common += l->distinct[i] == l->distinct[k];
  return common;
}

/* Three ranks with 16 rows each of 100: all the same, or none. */
TEST(ranks_share_what_is_said) {
  static const struct {
    const char *overlap;
    uint64_t common;
  } cases[] = {{"full", 16}, {"none", 0}};
  for (size_t i = 0; i < COUNT(cases); i++) {
    char counts[128];
    struct ss_workload w;
    struct ss_lookups l;
    struct ss_error error;
    const struct ss_feeding feeding = {.merge = 1, .ranks = 3};
    (void)snprintf(counts, sizeof counts, "\"lookups\": 32, \"coalesced\": 16, \"prior\": 8, \"overlap\": \"%s\"",
                   cases[i].overlap);
    if (!read("", counts, &w, &error) || !ss_lookups_make(&w, w.module, &feeding, &l, &error))
      fail_msg("%s", error.text);
    for (uint32_t a = 0; a < 3; a++)
      for (uint32_t b = 0; b < 3; b++) assert_int_equal(shared(&l, a, b), a == b ? 16 : cases[i].common);
    ss_lookups_free(&l);
    ss_workload_free(&w);
  }
}
/* SPDX-License-Identifier: Apache-2.0 */
