#include "base/json.h"
#include "base/suggest.h"
#include "query/field.h"
#include "report/columns.h"
#include "report/decision.h"
#include "report/results_table.h"
#include "report/tables.h"

static void print_dense(const cJSON *row, FILE *stream) {
  const double dense = ss_json_number(row, "dense_s"), time = ss_json_number(row, "time_s");
  const char *scheme = ss_json_word(row, "scheme");
  const char *name = ss_json_word(row, "dense");
  if (!isfinite(ss_vs_dense(dense, time)) || (scheme && strcmp(scheme, "allreduce") == 0)) return;
  const double low = ss_json_number(row, "dense_ratio_low"), high = ss_json_number(row, "dense_ratio_high");
  if (isfinite(low)) fprintf(stream, "; %.2f to %.2f", low, high);
  else fprintf(stream, "; %.2f", dense / time);
  fputs(" times as fast as a library's dense all-reduce", stream);
  if (name) fprintf(stream, " (%s)", name);
}

static void print_loss(const cJSON *row, FILE *stream) {
  const double energy = ss_json_number(row, "energy");
  const char *scheme = ss_json_word(row, "scheme");
  const bool lossless = cJSON_IsTrue(ss_json_get(row, "lossless"));
  fputs(lossless ? ". Lossless" : ". LOSSY", stream);
  ss_energy_print(lossless, energy, stream);
  if (scheme && !lossless && !isfinite(energy)) fprintf(stream, " (by how much, only a proven run knows)");
  fputc('.', stream);
}

static void print_unfit(const cJSON *row, FILE *stream) {
  const cJSON *unfit = ss_json_get(row, "unfit");
  for (const cJSON *p = unfit ? unfit->child : NULL; p; p = p->next)
    ss_unfit_print(ss_json_word(p, "label"), ss_json_number(p, "peak_bytes"),
                   ss_json_number(row, "device_memory_bytes"), p == unfit->child, stream);
  if (cJSON_GetArraySize(unfit) > 0) fputc('.', stream);
}

static bool is_sum(const cJSON *row) {
  return strcmp(ss_json_word(row, "tensor"), "*") == 0;
}

static void print_words(const cJSON *row, FILE *stream) {
  if (!is_sum(row)) fprintf(stream, "%s: ", ss_json_word(row, "tensor"));
  else fprintf(stream, "all tensors%s: ", ss_json_word(row, "label") ? " together" : "");
  ss_decision_print(row, stream);
  if (isfinite(ss_json_number(row, "next_time_s")))
    fprintf(stream, " (of %.0f candidates)", ss_json_number(row, "candidates"));
  else fputs(", the only candidate", stream);
  print_dense(row, stream);
  print_loss(row, stream);
  print_unfit(row, stream);
  fputc('\n', stream);
}

static bool same_cell(const cJSON *a, const cJSON *b) {
  return b && ss_json_number(a, "ranks") == ss_json_number(b, "ranks") &&
         cJSON_Compare(ss_field_at(a, "at"), ss_field_at(b, "at"), true);
}

static void print_heading(const cJSON *row, FILE *stream) {
  ss_cell_print(ss_json_number(row, "ranks"), ss_json_word(row, "cluster"), ss_json_get(row, "at"), NULL, stream);
  fputc('\n', stream);
}

void ss_plan_words(const cJSON *rows, FILE *stream) {
  for (const cJSON *r = rows->child; r; r = r->next) {
    if (r == rows->child || !same_cell(r, r->prev)) print_heading(r, stream);
    print_words(r, stream);
  }
  ss_offers_print(rows, stream);
}

/* Who comes next, with a word where it is lossy; `out` has room for the label. */
static const char *marked(const cJSON *row, const char *field, const char *lossless, char *out, size_t size) {
  const cJSON *flag = ss_json_get(row, lossless);
  const char *name = ss_decision_name(row, field);
  out[0] = '\0';
  ss_append(out, size - sizeof " (lossy)", "%s", name);
  ss_append(out, size, "%s", cJSON_IsFalse(flag) ? " (lossy)" : "");
  return out;
}

struct ss_table *ss_plan_block(cJSON *rows) {
  const struct ss_column columns[] = {{"?<at", "place", NULL},
                                      {"<scheme", "chosen", NULL},
                                      {SS_RANGED(rows, "time", "time_low_s"), "time", NULL},
                                      {"<next", "second", NULL},
                                      {SS_RANGED(rows, "takes", "next_ratio_low"), "takes", NULL},
                                      {SS_RANGED(rows, "?vs dense", "dense_ratio_low"), "vs_dense", NULL},
                                      {"?<rival", "contender", NULL},
                                      {"lossless", "loses", NULL},
                                      {"?energy", "applied", "%.1f%%"}};
  ss_places_add(rows);
  for (cJSON *r = rows->child; r; r = r->next) {
    const double time = ss_json_number(r, "time_s"), next = ss_json_number(r, "next_time_s"),
                 energy = ss_json_number(r, "energy");
    char second[640], other[640];
    const char *rival = ss_json_word(r, "rival"), *name = ss_json_word(r, "next");
    const bool told = !rival || (name && strcmp(rival, name) == 0);
    marked(r, "next", "next_lossless", second, sizeof second);
    marked(r, "rival", "rival_lossless", other, sizeof other);
    ss_json_add(r, SS_T("chosen", ss_decision_name(r, "label")), SS_T("second", isfinite(next) ? second : NULL),
                SS_T("contender", told ? NULL : other),
                SS_T("loses", !cJSON_IsTrue(ss_json_get(r, "lossless")) ? "no"
                              : energy < 1                              ? "of selected"
                                                                        : "yes"),
                SS_N("applied", energy < 1 ? energy : NAN));
    ss_time_add(r, "time", time, ss_json_number(r, "time_low_s"), ss_json_number(r, "time_high_s"));
    ss_ratio_add(r, "takes", next / time, ss_json_number(r, "next_ratio_low"), ss_json_number(r, "next_ratio_high"));
    ss_ratio_add(r, "vs_dense", ss_vs_dense(ss_json_number(r, "dense_s"), time), ss_json_number(r, "dense_ratio_low"),
                 ss_json_number(r, "dense_ratio_high"));
  }
  return ss_records_table(columns, rows);
}

/* Rows of one tensor and place, but for the hierarchy of the sweep. */
static bool is_rival(const cJSON *a, const cJSON *b) {
  const cJSON *here = ss_json_get(a, "at"), *there = ss_json_get(b, "at");
  bool same = a != b && ss_json_get(here, "hierarchy") && cJSON_GetArraySize(here) == cJSON_GetArraySize(there) &&
              ss_json_number(a, "ranks") == ss_json_number(b, "ranks") &&
              strcmp(ss_json_word(a, "tensor"), ss_json_word(b, "tensor")) == 0;
  for (const cJSON *m = same ? here->child : NULL; m; m = m->next)
    same = same && (strcmp(m->string, "hierarchy") == 0 || cJSON_Compare(m, ss_json_get(there, m->string), true));
  return same;
}

/* The cheapest of the row and its rivals; NULL: it has none, or one before it, which told. */
static const cJSON *best_of_hierarchies(const cJSON *rows, const cJSON *row) {
  const cJSON *best = row;
  bool passed = false, rivals = false;
  for (const cJSON *o = rows->child; o; o = o->next) {
    passed = passed || o == row;
    if (!is_rival(row, o)) continue;
    if (!passed) return NULL;
    rivals = true;
    if (ss_json_number(o, "time_s") < ss_json_number(best, "time_s")) best = o;
  }
  return rivals ? best : NULL;
}

void ss_plan_hierarchies(const cJSON *rows, FILE *stream) {
  for (const cJSON *r = rows->child; r; r = r->next) {
    const cJSON *best = best_of_hierarchies(rows, r);
    if (!best) continue;
    fputs("Of all hierarchies ", stream);
    ss_decision_print_name(best, "label", stream);
    fprintf(stream, " is the cheapest for %s, ", is_sum(best) ? "all tensors" : ss_json_word(best, "tensor"));
    ss_decision_print_time(best, stream);
    fputs(", on ", stream);
    print_heading(best, stream);
  }
}

static void print_notes(const cJSON *rows, struct ss_iterations_played iterations, bool estimated, FILE *stream) {
  struct ss_counted counted = {.estimated = estimated};
  for (const cJSON *r = rows->child; r; r = r->next) ss_counted_add(&counted, ss_json_word(r, "device"));
  fputs("time      ", stream);
  ss_print_time_note(iterations, counted, stream);
  fputs("\nnext      the second by time\n"
        "takes     how many times as long as the scheme that takes\n",
        stream);
  for (const cJSON *r = rows->child; r; r = r->next) {
    if (!ss_json_word(r, "contender")) continue;
    fputs("rival     may be the fastest instead, where that is not the next\n", stream);
    break;
  }
  if (ss_records_have(rows, "dense_s"))
    fputs("vs dense  how many times faster than the dense all-reduce that a library would take there\n", stream);
  if (ss_records_have(rows, "time_low_s")) fprintf(stream, "(90%%)     %s\n", ss_range_note);
}

bool ss_plan_table(const cJSON *plan, struct ss_iterations_played iterations, bool estimated, FILE *stream,
                   struct ss_error *error) {
  const cJSON *rows = ss_field_at(plan, "plan");
  if (cJSON_GetArraySize(rows) == 0) return true;
  SS_AUTO_JSON cJSON *own = cJSON_Duplicate(rows, true);
  if (!own) return ss_fail_memory(error, "writing a plan");
  fprintf(stream, "%s: %s\n\n", ss_json_word(plan, "scenario"), ss_json_word(rows->child, "trace"));
  ss_plan_words(own, stream);
  ss_plan_hierarchies(own, stream);
  fputc('\n', stream);
  struct ss_table *table = ss_plan_block(own);
  ss_table_fold(table);
  if (!ss_table_print_free(table, false, stream, error)) return false;
  fputc('\n', stream);
  print_notes(own, iterations, estimated, stream);
  return true;
}
/* SPDX-License-Identifier: Apache-2.0 */
