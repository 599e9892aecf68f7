#include "base/json.h"
#include "report/columns.h"
#include "report/tables.h"
#include "study/learning.h"

bool ss_curves_csv(const void *report, FILE *stream, struct ss_error *error) {
  const struct ss_learning *curves = report;
  struct ss_table *table = ss_table_of("scheme", "label", "step", "loss");
  for (size_t i = 0; i < curves->count; i++)
    for (uint64_t t = 0; t < curves->curve[i].steps; t++) {
      ss_table_texts(table, curves->curve[i].setting->scheme->name, curves->curve[i].setting->label);
      ss_table_cell(table, "%" PRIu64, t);
      ss_table_cell(table, "%.17g", curves->curve[i].loss[t]);
    }
  return ss_table_print_free(table, true, stream, error);
}

bool ss_curves_plot_data(const void *report, FILE *stream, struct ss_error *error) {
  (void)error;
  const struct ss_learning *curves = report;
  const uint64_t window = (curves->task.steps + 49) / 50;
  fprintf(stream, "# step  loss  mean of the last %" PRIu64 " losses\n", window);
  for (size_t i = 0; i < curves->count; i++) {
    const struct ss_curve *c = &curves->curve[i];
    fputs(i > 0 ? "\n\n\"" : "\"", stream);
    for (const char *at = c->setting->label; *at; at++)
      fputc(*at == '"' || *at == '\\' || (unsigned char)*at < ' ' ? '?' : *at, stream);
    fputs("\"\n", stream);
    for (uint64_t t = 0; t < c->steps; t++)
      fprintf(stream, "%" PRIu64 " %.17g %.17g\n", t, c->loss[t],
              ss_curve_mean(c, t + 1 < window ? 0 : t + 1 - window, t + 1));
  }
  return true;
}

/* --- the table ------------------------------------------------------------------------------------------ */

static void print_selection(const struct ss_selection *s, FILE *stream) {
  if (s->k) fprintf(stream, "ranks send the %" PRIu64 " largest elements", s->k);
  else if (s->block) fprintf(stream, "ranks send the largest %.4g%% of the blocks of %u", 100 * s->density, s->block);
  else fprintf(stream, "ranks send the largest %.4g%%", 100 * s->density);
  fprintf(stream, " of each table; the rest %s\n", s->residual ? "waits for the next step" : "is lost");
  if (s->momentum > 0) fprintf(stream, "what waits are velocities, of momentum %.4g\n", s->momentum);
}

static void print_task(const struct ss_learning *curves, FILE *stream) {
  const struct ss_learn_task *c = &curves->task;
  const uint32_t ranks = c->ranks;
  char context[40] = "";
  if (c->shape.kind == SS_BAG) snprintf(context, sizeof context, "context %" PRIu32 ", ", c->shape.context);
  fprintf(stream,
          "%s: %s language model, two tables of %" PRIu64 " x %" PRIu32 ", %s%" PRIu32 " samples; %" PRIu32
          " rank%s, %" PRIu64 " steps; %s, lr %g%s\n",
          curves->text, c->shape.kind == SS_LSTM ? "an LSTM" : "a bag-of-words", c->shape.vocab, c->shape.width,
          context, c->shape.samples, ranks, ranks == 1 ? "" : "s", c->steps, ss_optimizer_names[c->optimizer.kind],
          c->optimizer.rate, c->split ? ", updates split into prior and delayed parts" : "");
  if (c->select.selects) print_selection(&c->select, stream);
  if (c->steps > ss_trace_iterations(c->text))
    fprintf(stream, "the text has %" PRIu64 " iterations, and is read again from there\n",
            ss_trace_iterations(c->text));
}

static void print_lossless(const struct ss_learning *curves, FILE *stream) {
  const struct ss_curve *exact = ss_curves_exact(curves);
  size_t lossless = 0, alike = 0;
  for (size_t i = 0; i < curves->count; i++) {
    const struct ss_curve *c = &curves->curve[i];
    lossless += ss_scheme_lossless(c->setting->scheme);
    alike += ss_scheme_lossless(c->setting->scheme) && ss_curve_same(c, exact);
  }
  if (lossless < 2) return;
  if (alike == lossless && alike == 2) fputs("Both lossless schemes have the identical curve, bit by bit.\n", stream);
  else if (alike == lossless)
    fprintf(stream, "All %zu lossless schemes have the identical curve, bit by bit.\n", alike);
  else
    fprintf(stream, "LOSSLESS SCHEMES DIFFER: %zu of %zu have the curve of %s.\n", alike, lossless,
            exact->setting->label);
}

static void add_words(cJSON *record, const struct ss_curve *c, double reference) {
  char text[200];
  const char *same = ss_json_word(record, "same_as");
  ss_json_add_number(record, "vs_exact", ss_curve_end(c) - reference);
  if (!c->sound) snprintf(text, sizeof text, "WRONG: %s", c->mismatch);
  else if (c->diverged) snprintf(text, sizeof text, "diverged at step %" PRIu64, c->steps);
  else snprintf(text, sizeof text, same ? "that of %s" : "its own", same);
  ss_json_add_text(record, "curve", text);
}

static bool print_schemes(const struct ss_learning *curves, FILE *stream, struct ss_error *error) {
  static const struct ss_column columns[] = {
      {"<scheme", "label", NULL},        {"first loss", "loss_first", "%.4f"},
      {"last loss", "loss_end", "%.4f"}, {"?to target", "steps_to_target", "%.0f"},
      {"vs exact", "vs_exact", "%+.4f"}, {"sent a step", "bytes_sent_max", "B"},
      {"energy", "energy", "%.4g%%"},    {"lost", "energy_lost", "%.4g%%"},
      {"error", "error_l2", "%.4g%%"},   {"<curve", "curve", NULL}};
  const struct ss_curve *exact = ss_curves_exact(curves), *curve = curves->curve;
  cJSON *root = ss_curves_json(curves), *records = cJSON_DetachItemFromObjectCaseSensitive(root, "curves");
  for (cJSON *r = records ? records->child : NULL; r; r = r->next)
    add_words(r, curve++, exact ? ss_curve_end(exact) : NAN);
  cJSON_Delete(root);
  return ss_records_print(columns, records, false, stream, error);
}

/* Losses by step, a column for each curve that no other before it has. */
static bool print_steps(const struct ss_learning *curves, FILE *stream, struct ss_error *error) {
  const uint64_t steps = curves->task.steps, every = curves->every ? curves->every : (steps + 19) / 20;
  SS_AUTO_FREE const char **heads = ss_alloc(curves->count + 1, sizeof *heads);
  if (!heads) return ss_fail_memory(error, "printing curves");
  size_t columns = 1;
  heads[0] = "step";
  for (size_t i = 0; i < curves->count; i++)
    if (ss_curves_same(curves, i) == i) heads[columns++] = curves->curve[i].setting->label;
  struct ss_table *table = ss_table_new(columns, heads);
  for (uint64_t t = 0; t < steps; t = t + 1 < steps && steps - 1 - t < every ? steps - 1 : t + every) {
    ss_table_cell(table, "%" PRIu64, t);
    for (size_t i = 0; i < curves->count; i++) {
      if (ss_curves_same(curves, i) != i) continue;
      if (t < curves->curve[i].steps) ss_table_cell(table, "%.4f", curves->curve[i].loss[t]);
      else ss_table_cell(table, "-");
    }
  }
  return ss_table_print_free(table, false, stream, error);
}

bool ss_curves_table(const void *report, FILE *stream, struct ss_error *error) {
  const struct ss_learning *curves = report;
  bool lossy = false, estimates = false;
  for (size_t i = 0; i < curves->count; i++) {
    lossy = lossy || !ss_scheme_lossless(curves->curve[i].setting->scheme);
    estimates = estimates || ss_scheme_estimates(curves->curve[i].setting->scheme);
  }
  print_task(curves, stream);
  print_lossless(curves, stream);
  fputc('\n', stream);
  if (!print_schemes(curves, stream, error)) return false;
  fputs("\nlosses: nats a word, among the word itself and the samples; last: mean over the last tenth of the steps; "
        "vs exact:\nthe difference from the lossless curve. sent: by the rank that sends most, all tables, values "
        "of 4 B.\n",
        stream);
  if (lossy)
    fputs("energy: of the result over that of gradients and old residuals; lost: what is neither applied nor kept.\n",
          stream);
  if (estimates) fputs("error: of the estimate, relative, in l2 norm over decoded elements.\n", stream);
  fputc('\n', stream);
  return print_steps(curves, stream, error);
}
/* SPDX-License-Identifier: Apache-2.0 */
