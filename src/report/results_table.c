/* The table of results: in words first, then the numbers, one block for each place of the grid. */
#include "report/results_table.h"
#include "base/file.h"
#include "base/memory.h"
#include "report/kernels.h"
#include "report/links.h"
#include "report/table.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <string.h>

/* As in `check`. */
static const double ROUNDING = 1e-9;

bool ss_result_same_place(const struct ss_result *a, const struct ss_result *b) {
  return a->ranks == b->ranks && a->at == b->at && a->cluster == b->cluster && strcmp(a->tensor, b->tensor) == 0;
}

static void print_at(const cJSON *a, FILE *stream) {
  char text[64];
  if (!cJSON_IsNumber(a)) snprintf(text, sizeof text, "...");
  else if (strstr(a->string, "bandwidth")) ss_units_format(text, sizeof text, SS_RATE, a->valuedouble);
  else if (strstr(a->string, "latency")) ss_units_format(text, sizeof text, SS_TIME, a->valuedouble);
  else snprintf(text, sizeof text, "%g", a->valuedouble);
  fprintf(stream, "%s = %s", a->string, cJSON_IsString(a) ? a->valuestring : text);
}

void ss_at_print(const cJSON *at, bool cluster_too, FILE *stream) {
  const char *between = "";
  for (const cJSON *a = at ? at->child : NULL; a; a = a->next) {
    if (!cluster_too && strcmp(a->string, "cluster") == 0) continue;
    fputs(between, stream);
    print_at(a, stream);
    between = ", ";
  }
}

bool ss_at_says_more(const cJSON *at) {
  for (const cJSON *a = at ? at->child : NULL; a; a = a->next)
    if (strcmp(a->string, "cluster") != 0) return true;
  return false;
}

void ss_result_print_place(const struct ss_result *p, FILE *stream) {
  fprintf(stream, "%u rank%s on %s%s", p->ranks, p->ranks == 1 ? "" : "s", p->cluster,
          ss_at_says_more(p->at) ? ", " : "");
  ss_at_print(p->at, false, stream);
}

static void print_place(const struct ss_result *p, FILE *stream) {
  ss_result_print_place(p, stream);
  fprintf(stream, ", %s%s", strcmp(p->tensor, "*") == 0 ? "all tensors together" : "tensor ",
          strcmp(p->tensor, "*") == 0 ? "" : p->tensor);
}

/* What ranks had and the winner leaves out: selected away by the scenario, or by the scheme. */
static void print_energy(const struct ss_result *p, FILE *stream) {
  if (!(p->energy < 1)) return;
  if (p->energy < 0.9995) fprintf(stream, "; it applies %.1f%% of the energy of what ranks had", 100 * p->energy);
  else fputs("; it applies more than 99.9% of the energy of what ranks had", stream);
}

void ss_results_rank(const struct ss_result *points, size_t n, const struct ss_result **best,
                     const struct ss_result **next) {
  *best = points;
  *next = NULL;
  for (size_t i = 1; i < n; i++)
    if (points[i].time < (*best)->time) *best = &points[i];
  for (size_t i = 0; i < n; i++)
    if (&points[i] != *best && (!*next || points[i].time < (*next)->time)) *next = &points[i];
}

/* Who is fastest by the median over draws; NULL: nothing was drawn. */
static const struct ss_result *fastest_drawn(const struct ss_result *points, size_t n) {
  const struct ss_result *best = NULL;
  for (size_t i = 0; i < n; i++)
    if (isfinite(points[i].fan.p50) && (!best || points[i].fan.p50 < best->fan.p50)) best = &points[i];
  return best;
}

static void print_fan(const struct ss_result *points, size_t n, const struct ss_result *best, FILE *stream) {
  const struct ss_result *drawn = fastest_drawn(points, n);
  char p5[32], p50[32], p95[32];
  if (!drawn) return;
  fprintf(stream, " On uneven links %s takes %s, from %s to %s in 90%% of the draws", drawn->setting.label,
          ss_units_format(p50, sizeof p50, SS_TIME, drawn->fan.p50),
          ss_units_format(p5, sizeof p5, SS_TIME, drawn->fan.p5),
          ss_units_format(p95, sizeof p95, SS_TIME, drawn->fan.p95));
  if (drawn->fan.p50 < best->fan.p50) fputs(", and is fastest by its median", stream);
  fputc('.', stream);
}

void ss_results_words(const struct ss_result *points, size_t n, FILE *stream) {
  const struct ss_result *best, *next;
  char time[32];
  ss_results_rank(points, n, &best, &next);
  print_place(points, stream);
  ss_units_format(time, sizeof time, SS_TIME, best->time);
  if (!next || best->time == 0) {
    fprintf(stream, ": %s takes %s", best->setting.label, time);
  } else {
    fprintf(stream, ": %s is fastest, %s; ", best->setting.label, time);
    if (next->time == best->time) fprintf(stream, "so is %s", next->setting.label);
    else fprintf(stream, "%s takes %.2f times as long", next->setting.label, next->time / best->time);
  }
  fprintf(stream, ". %s is %s%s", best->setting.label, best->lossless ? "lossless" : "lossy",
          ss_scheme_model_parallel(best->setting.scheme) ? " and needs the table cut over ranks (model parallelism)"
                                                         : "");
  print_energy(best, stream);
  fputs(".", stream);
  if (best->dropped > 0)
    fprintf(stream, " %.1f%% of the lookups found no room and are not in it.", 100 * best->dropped);
  if (best->bound_by[0] && best->time > 0)
    fprintf(stream, " Its bottleneck is the %s, for %.0f%% of the time.", best->bound_by,
            100 * best->bound / best->time);
  print_fan(points, n, best, stream);
  fputc('\n', stream);
}

void ss_fan_cells(struct ss_table *table, const struct ss_fan *fan) {
  char p5[32], p95[32];
  if (isfinite(fan->p5))
    ss_table_cell(table, "%s..%s", ss_units_format(p5, sizeof p5, SS_TIME, fan->p5),
                  ss_units_format(p95, sizeof p95, SS_TIME, fan->p95));
  else ss_table_cell(table, "-");
  ss_table_quantity(table, SS_TIME, fan->p50);
}

static void percent_cell(struct ss_table *table, double value, double reference) {
  ss_table_number(table, "%+.1f%%", reference > 0 && isfinite(reference) ? 100 * (value / reference - 1) : NAN);
}

/* Whether ranks share links, of which a form for one flat class knows nothing. */
static bool shares_links(const struct ss_result *p) {
  for (size_t k = SS_NIC_OUT; k < SS_LINK_KINDS; k++)
    if (p->usage[k].links > 0) return true;
  return false;
}

/* The form and how far the time is from it: of a pair of bounds, whether it lies between them. */
static void form_cells(struct ss_table *table, const struct ss_result *p) {
  char low[32], high[32];
  if (isfinite(p->placed_s)) {
    ss_table_cell(table, "%s%s",
                  p->placed_exact ? "" : ">= ", ss_units_format(low, sizeof low, SS_TIME, p->placed_s));
    percent_cell(table, p->time, p->placed_s);
    return;
  }
  if (isfinite(p->formula_s) || !isfinite(p->formula_low_s) || !isfinite(p->formula_high_s)) {
    ss_table_quantity(table, SS_TIME, p->formula_s);
    percent_cell(table, p->time, shares_links(p) ? NAN : p->formula_s);
    return;
  }
  const bool within = p->time >= p->formula_low_s * (1 - ROUNDING) && p->time <= p->formula_high_s * (1 + ROUNDING);
  ss_table_cell(table, "%s..%s", ss_units_format(low, sizeof low, SS_TIME, p->formula_low_s),
                ss_units_format(high, sizeof high, SS_TIME, p->formula_high_s));
  ss_table_cell(table, "%s", within ? "within" : "outside");
}

double ss_results_dense(const struct ss_result *points, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (strcmp(points[i].setting.scheme->name, "allreduce") == 0) return points[i].time;
  return NAN;
}

static void add_row(struct ss_table *table, const struct ss_result *p, double dense, bool drawn) {
  ss_table_cell(table, "%s", p->setting.label);
  ss_table_quantity(table, SS_TIME, p->time);
  if (drawn) ss_fan_cells(table, &p->fan);
  if (strcmp(p->device, "none") != 0) ss_table_quantity(table, SS_TIME, p->kernel);
  ss_table_number(table, "%.2fx", p->time > 0 ? dense / p->time : NAN);
  ss_table_quantity(table, SS_BYTES, p->sent_max);
  ss_table_quantity(table, SS_BYTES, p->received_max);
  if (isfinite(p->push_imbalance)) ss_table_cell(table, "%.2f/%.2f", p->push_imbalance, p->pull_imbalance);
  else ss_table_cell(table, "-");
  ss_table_cell(table, "%s", p->exact == SS_UNKNOWN ? "-" : p->exact == SS_YES ? "yes" : "NO");
  ss_table_number(table, "%.1f%%", 100 * p->energy);
  form_cells(table, p);
  ss_table_quantity(table, SS_TIME, p->paper_s);
  char bound[SS_BOUND_TEXT_SIZE];
  ss_table_cell(table, "%s", ss_bound_text(p, bound));
}

struct ss_table *ss_results_block(const struct ss_result *points, size_t n) {
  static const char *const all[] = {"<scheme",  "time",        "5%..95%",   "median",     "kernels",
                                    "vs dense", "sent/rank",   "recv/rank", "imbalance",  "exact",
                                    "energy",   "closed form", "off by",    "as printed", "<bottleneck"};
  enum { ALL = sizeof all / sizeof *all };
  const char *heads[ALL];
  const bool kernels = strcmp(points->device, "none") != 0, drawn = fastest_drawn(points, n) != NULL;
  size_t columns = 0;
  for (size_t i = 0; i < ALL; i++) {
    const bool of_draws = i == 2 || i == 3, of_kernels = i == 4;
    if ((drawn || !of_draws) && (kernels || !of_kernels)) heads[columns++] = all[i];
  }
  struct ss_table *table = ss_table_new(columns, heads);
  const double dense = ss_results_dense(points, n);
  for (size_t i = 0; i < n; i++) add_row(table, &points[i], dense, drawn);
  return table;
}

static bool have_links(const struct ss_result *points, size_t n) {
  for (size_t i = 0; i < n; i++)
    for (size_t k = 0; k < SS_LINK_KINDS; k++)
      if (points[i].usage[k].links > 0) return true;
  return false;
}

static bool print_block(const struct ss_result *points, size_t n, bool links, FILE *stream, struct ss_error *error) {
  ss_results_words(points, n, stream);
  bool ok = ss_table_print_free(ss_results_block(points, n), false, stream, error);
  fputc('\n', stream);
  if (ok && strcmp(points->device, "none") != 0) {
    ok = ss_table_print_free(ss_kernels_rows(points, n), false, stream, error);
    fputc('\n', stream);
  }
  /* Of tensors that follow each other no link is busy with several; those of one exchange have links. */
  if (!ok || !links || !have_links(points, n)) return ok;
  ok = ss_table_print_free(ss_links_rows(points, n), false, stream, error);
  fputc('\n', stream);
  return ok;
}

const struct ss_column_note ss_column_notes[] = {
    {"vs dense", "how many times faster than the all-reduce of the dense tensor", NULL},
    {"imbalance", "ZEN's ratios of Push and Pull: the largest part against an even one, worst of an iteration", NULL},
    {"exact", "every rank's result equals the brute-force sum, made in this run", NULL},
    {"energy", "of what ranks had (gradients and old residuals), the share that was applied", NULL},
    {"closed form",
     "models/costs with this trace's mean nnz and gamma, on the cluster's nodes and cards where the form's",
     "pattern tells what these make of it (>=: a bound), else on one flat class of links"},
    {"off by", "simulated against closed form: the price of imbalance, and of order where the form is a bound;",
     "or whether it lies within the bounds; - where ranks share links and the form knows only a flat class"},
    {"as printed", "the paper's own form", NULL},
    {"bottleneck", "the link or port that bounds the run, and the share of the time that what it has to carry takes",
     NULL},
    {NULL, NULL, NULL}};

bool ss_results_count_kernels(const struct ss_results *points) {
  for (size_t i = 0; i < points->count; i++)
    if (strcmp(points->point[i].device, "none") != 0) return true;
  return false;
}

void ss_print_time_note(uint64_t iterations, bool counted, FILE *stream) {
  fprintf(stream, "one synchronisation of the tensor, mean over %llu iteration%s; %s", (unsigned long long)iterations,
          iterations == 1 ? "" : "s",
          counted ? "kernels included where a device is given" : "kernels not counted (--device quick counts them)");
}

static void print_notes(const struct ss_results *points, FILE *stream) {
  fputs("time         ", stream);
  ss_print_time_note(points->point->iterations, ss_results_count_kernels(points), stream);
  fputc('\n', stream);
  if (fastest_drawn(points->point, points->count))
    fputs("5%..95%      on the links of the cluster's \"jitter\": where 90% of its draws end, and their median; all "
          "else "
          "is\n             of even links\n",
          stream);
  if (ss_results_count_kernels(points))
    fputs("kernels      of the rank or server that computes longest, mean over iterations; below, by kernel\n",
          stream);
  for (const struct ss_column_note *n = ss_column_notes; n->head; n++) {
    fprintf(stream, "%-12s %s\n", n->head, n->text);
    if (n->more) fprintf(stream, "%-12s %s\n", "", n->more);
  }
  for (size_t i = 0; i < points->count; i++) {
    const struct ss_result *q = &points->point[i];
    bool seen = !q->erratum;
    for (size_t k = 0; k < i && !seen; k++) seen = points->point[k].erratum == q->erratum;
    if (!seen) fprintf(stream, "  of %s: %s\n", q->setting.label, q->erratum);
  }
}

static bool print_blocks(struct ss_results_writer *w, const struct ss_result *points, size_t count, bool links,
                         struct ss_error *error) {
  if (w->written == 0 && count > 0) fprintf(w->stream, "%s: %s\n\n", w->scenario, points->trace);
  w->written += count;
  for (size_t i = 0, n; i < count; i += n) {
    for (n = 1; i + n < count && ss_result_same_place(&points[i], &points[i + n]);) n++;
    if (!print_block(points + i, n, links, w->stream, error)) return false;
  }
  return true;
}

static bool table_more(struct ss_results_writer *w, const struct ss_result *points, size_t count,
                       struct ss_error *error) {
  return print_blocks(w, points, count, false, error);
}

static bool links_more(struct ss_results_writer *w, const struct ss_result *points, size_t count,
                       struct ss_error *error) {
  return print_blocks(w, points, count, true, error);
}

static bool table_end(struct ss_results_writer *w, const struct ss_results *points, struct ss_error *error) {
  (void)error;
  if (points->count > 0) print_notes(points, w->stream);
  return true;
}

static bool links_end(struct ss_results_writer *w, const struct ss_results *points, struct ss_error *error) {
  if (!table_end(w, points, error)) return false;
  fputs("busiest      of the links of a kind, the share of the time in which bytes flow on it; then the mean of all, "
        "and\n"
        "             what the link carries that carries most, and the mean, in an iteration\n",
        w->stream);
  return true;
}

const struct ss_results_form ss_results_as_table = {NULL, table_more, table_end};
const struct ss_results_form ss_results_with_links = {NULL, links_more, links_end};

/* --- in brief ----------------------------------------------------------------------------------------------- */

enum { BAR_LETTERS = 24 };

/* What the brief table shows besides what it always has. */
struct brief {
  struct ss_table *table;
  bool places; /* there are several: each has its name before its first row */
  bool energy; /* some scheme leaves part of the gradients out */
};

static void write_place(const void *point, FILE *stream) {
  print_place(point, stream);
}

static size_t block_length(const struct ss_result *points, size_t count) {
  size_t n = 1;
  while (n < count && ss_result_same_place(points, &points[n])) n++;
  return n;
}

static double slowest(const struct ss_result *points, size_t n) {
  double most = 0;
  for (size_t i = 0; i < n; i++) most = fmax(most, points[i].time);
  return most;
}

static void open_brief(struct brief *b, const struct ss_results *results) {
  static const char *const all[] = {"<at",    "<scheme", "time",        "vs dense",       "busiest rank",
                                    "energy", "exact",   "<bottleneck", "<time, as a bar"};
  enum { HEADS = sizeof all / sizeof *all, AT = 0, ENERGY = 5 };
  const char *heads[HEADS];
  size_t count = 0;
  b->places = block_length(results->point, results->count) < results->count;
  for (size_t i = 0; i < results->count; i++) b->energy = b->energy || results->point[i].energy < 1;
  for (size_t i = 0; i < HEADS; i++)
    if ((i != AT || b->places) && (i != ENERGY || b->energy)) heads[count++] = all[i];
  b->table = ss_table_new(count, heads);
}

static void add_brief_row(const struct brief *b, const char *place, const struct ss_result *p, double dense,
                          double most) {
  static const char bar[BAR_LETTERS + 1] = "########################";
  char bound[SS_BOUND_TEXT_SIZE];
  if (b->places) ss_table_cell(b->table, "%s", place);
  ss_table_cell(b->table, "%s", p->setting.label);
  ss_table_quantity(b->table, SS_TIME, p->time);
  ss_table_number(b->table, "%.2fx", p->time > 0 ? dense / p->time : NAN);
  ss_table_quantity(b->table, SS_BYTES, fmax(p->sent_max, p->received_max));
  if (b->energy) ss_table_number(b->table, "%.1f%%", 100 * p->energy);
  ss_table_texts(b->table, p->exact == SS_UNKNOWN ? "-" : p->exact == SS_YES ? "yes" : "NO", ss_bound_text(p, bound));
  ss_table_cell(b->table, "%.*s", most > 0 ? (int)fmax(1, BAR_LETTERS * p->time / most) : 0, bar);
}

static bool add_brief_rows(const struct brief *b, const struct ss_result *points, size_t n, struct ss_error *error) {
  const double dense = ss_results_dense(points, n), most = slowest(points, n);
  SS_AUTO_FREE char *place = ss_written(write_place, points);
  if (!place) return ss_fail_memory(error, "printing results");
  for (size_t i = 0; i < n; i++) add_brief_row(b, i == 0 ? place : "", &points[i], dense, most);
  return true;
}

/* The sentences do not wait for the last point. */
static bool brief_more(struct ss_results_writer *w, const struct ss_result *points, size_t count,
                       struct ss_error *error) {
  (void)error;
  w->written += count;
  for (size_t i = 0, n; i < count; i += n) {
    n = block_length(points + i, count - i);
    ss_results_words(points + i, n, w->stream);
  }
  return true;
}

static bool brief_end(struct ss_results_writer *w, const struct ss_results *results, struct ss_error *error) {
  struct brief b = {.table = NULL};
  bool ok = true;
  if (results->count == 0) return true;
  open_brief(&b, results);
  for (size_t i = 0, n; ok && i < results->count; i += n) {
    n = block_length(results->point + i, results->count - i);
    ok = add_brief_rows(&b, results->point + i, n, error);
  }
  fputc('\n', w->stream);
  if (!ok) ss_table_free(b.table);
  if (!ok || !ss_table_print_free(b.table, false, w->stream, error)) return false;
  fputs("\ntime: ", w->stream);
  ss_print_time_note(results->point->iterations, ss_results_count_kernels(results), w->stream);
  fputs("\n--wide: closed forms beside the times, imbalance, and what every column means\n", w->stream);
  return true;
}

const struct ss_results_form ss_results_in_brief = {NULL, brief_more, brief_end};
