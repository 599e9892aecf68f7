/* What was measured on a trace: sizes, bags, and what grows with ranks. */
#include "report/answers.h"

#include "library/request.h"
#include "report/table.h"

#include <cjson/cJSON.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

static double number_of(const cJSON *tensor, const char *field) {
  const cJSON *item = cJSON_GetObjectItemCaseSensitive(tensor, field);
  return cJSON_IsNumber(item) ? item->valuedouble : NAN;
}

static const char *text_of(const cJSON *tensor, const char *field) {
  return cJSON_GetObjectItemCaseSensitive(tensor, field)->valuestring;
}

static const cJSON *tensors_of(const struct ss_answer *a) {
  return ss_answer_list(a)->child;
}

/* --- by k: gamma of every k ranks, skewness of some numbers of row ranges -------------------------------------- */

struct by_k {
  uint32_t k;
  const cJSON *gamma, *skewness; /* skewness: where it was measured next, or here */
};

static struct by_k first_k(const cJSON *tensor) {
  return (struct by_k){1, cJSON_GetObjectItemCaseSensitive(tensor, "gamma")->child,
                       cJSON_GetObjectItemCaseSensitive(tensor, "skewness")->child};
}

static bool has_skewness(const struct by_k *at) {
  return at->skewness && strtoul(at->skewness->string, NULL, 10) == at->k;
}

static void next_k(struct by_k *at) {
  if (has_skewness(at)) at->skewness = at->skewness->next;
  at->gamma = at->gamma->next;
  at->k++;
}

/* --- CSV: one observation a row -------------------------------------------------------------------------------- */

static const char *const plain[] = {"density", "overlap", "lookups",       "coalesced",       "prior",
                                    "bags",    "pooling", "lookups_bytes", "coalesced_bytes", "prior_bytes"};

bool ss_stats_csv(const void *answer, FILE *stream, struct ss_error *error) {
  struct ss_table *table =
      ss_table_of("name", "rows", "row_width", "dtype", "density", "overlap", "lookups", "coalesced", "prior", "bags",
                  "pooling", "lookups_bytes", "coalesced_bytes", "prior_bytes", "k", "gamma", "skewness");
  for (const cJSON *t = tensors_of(answer); t; t = t->next)
    for (struct by_k at = first_k(t); at.gamma; next_k(&at)) {
      ss_table_cell(table, "%s", text_of(t, "name"));
      ss_table_cell(table, "%.0f", number_of(t, "rows"));
      ss_table_cell(table, "%.0f", number_of(t, "row_width"));
      ss_table_cell(table, "%s", text_of(t, "dtype"));
      for (size_t i = 0; i < sizeof plain / sizeof *plain; i++) ss_table_exact(table, number_of(t, plain[i]));
      ss_table_cell(table, "%" PRIu32, at.k);
      ss_table_exact(table, at.gamma->valuedouble);
      ss_table_exact(table, has_skewness(&at) ? at.skewness->valuedouble : NAN);
    }
  return ss_table_print_free(table, true, stream, error);
}

/* --- table ------------------------------------------------------------------------------------------------------ */

static struct ss_table *sizes_table(const struct ss_answer *a) {
  static const char *const rows[] = {"lookups", "coalesced", "prior"}, *const bytes[] = {"lookups_bytes",
                                                                                         "coalesced_bytes",
                                                                                         "prior_bytes"};
  struct ss_table *table = ss_table_of("<tensor", "rows", "density", "overlap", "lookups", "coalesced", "prior",
                                       "bytes of lookups", "coalesced", "prior");
  for (const cJSON *t = tensors_of(a); t; t = t->next) {
    ss_table_cell(table, "%s", text_of(t, "name"));
    ss_table_cell(table, "%.0f x %.0f %s", number_of(t, "rows"), number_of(t, "row_width"), text_of(t, "dtype"));
    ss_table_cell(table, "%.3g %%", number_of(t, "density") * 100);
    ss_table_number(table, "%.3f", number_of(t, "overlap"));
    for (int i = 0; i < 3; i++) ss_table_number(table, "%.1f", number_of(t, rows[i]));
    for (int i = 0; i < 3; i++) ss_table_quantity(table, SS_BYTES, number_of(t, bytes[i]));
  }
  return table;
}

/* Of the tensors that have bags; NULL: none has. */
static struct ss_table *bags_table(const struct ss_answer *a) {
  struct ss_table *table = NULL;
  for (const cJSON *t = tensors_of(a); t; t = t->next) {
    if (isnan(number_of(t, "bags"))) continue;
    if (!table) table = ss_table_of("<tensor", "bags", "lookups/bag");
    ss_table_cell(table, "%s", text_of(t, "name"));
    ss_table_cell(table, "%.1f", number_of(t, "bags"));
    ss_table_number(table, "%.4g", number_of(t, "pooling"));
  }
  return table;
}

static struct ss_table *curve_table(const struct ss_answer *a) {
  struct ss_table *table = ss_table_of("<tensor", "k", "gamma(k)", "skewness(k)");
  for (const cJSON *t = tensors_of(a); t; t = t->next)
    for (struct by_k at = first_k(t); at.gamma; next_k(&at)) {
      if (!has_skewness(&at)) continue;
      ss_table_cell(table, "%s", text_of(t, "name"));
      ss_table_cell(table, "%" PRIu32, at.k);
      ss_table_number(table, "%.4g", at.gamma->valuedouble);
      ss_table_number(table, "%.4g", at.skewness->valuedouble);
    }
  return table;
}

bool ss_stats_table(const void *answer, FILE *stream, struct ss_error *error) {
  const double first = ss_answer_number(answer, SS_WHOLE, "first_iteration");
  (void)fprintf(stream,
                "iterations %.0f to %.0f, %.0f ranks; rows and bytes are of one rank in one iteration, means over "
                "both\n\n",
                first, first + ss_answer_number(answer, SS_WHOLE, "iterations") - 1,
                ss_answer_number(answer, SS_WHOLE, "ranks"));
  if (!ss_table_print_free(sizes_table(answer), false, stream, error)) return false;
  (void)fputs("\n", stream);
  struct ss_table *bags = bags_table(answer);
  if (bags) {
    if (!ss_table_print_free(bags, false, stream, error)) return false;
    (void)fputs("\n", stream);
  }
  if (!ss_table_print_free(curve_table(answer), false, stream, error)) return false;
  (void)fputs("\n"
              "prior: unique rows that some rank looks up again in the next iteration\n"
              "gamma(k): unique rows of k ranks together, in units of one rank's\n"
              "skewness(k): densest of k even row ranges, in units of the rank's density\n",
              stream);
  return true;
}
