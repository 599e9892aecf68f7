/* The table of results: in words first, then the numbers, one block for each cell of the grid. */
#include "report/results_table.h"

#include "base/file.h"
#include "report/columns.h"
#include "report/decision.h"
#include "report/links.h"
#include "study/plan.h"

/* As in `check`. */
static const double ROUNDING = 1e-9;

void ss_at_print(const cJSON *at, FILE *stream) {
  char text[SS_AT_TEXT_SIZE];
  const char *between = "";
  for (const cJSON *a = at ? at->child : NULL; a; a = a->next) {
    fprintf(stream, "%s%s = %s", between, a->string, ss_at_text(a, text));
    between = ", ";
  }
}

void ss_cell_print(double ranks, const char *cluster, const cJSON *at, const char *tensor, FILE *stream) {
  char text[SS_AT_TEXT_SIZE];
  fprintf(stream, "%.0f rank%s on %s", ranks, ranks == 1 ? "" : "s", cluster);
  for (const cJSON *a = at ? at->child : NULL; a; a = a->next)
    if (strcmp(a->string, "cluster") != 0) fprintf(stream, ", %s = %s", a->string, ss_at_text(a, text));
  if (tensor && strcmp(tensor, "*") == 0) fputs(", all tensors together", stream);
  else if (tensor) fprintf(stream, ", tensor %s", tensor);
}

static void print_cell(const void *result, FILE *stream) {
  const struct ss_result *p = result;
  ss_cell_print(p->ranks, p->cluster, p->at, p->tensor, stream);
}

/* Who is fastest by the median over draws; NULL: nothing was drawn. */
static const struct ss_result *fastest_drawn(const struct ss_result *results, size_t n) {
  const struct ss_result *best = NULL;
  for (size_t i = 0; i < n; i++)
    if (isfinite(results[i].fan.p50) && (!best || results[i].fan.p50 < best->fan.p50)) best = &results[i];
  return best;
}

static void print_fan(const struct ss_result *results, size_t n, const struct ss_result *best, FILE *stream) {
  const struct ss_result *drawn = fastest_drawn(results, n);
  if (!drawn) return;
  fprintf(stream, " On uneven links %s%s takes %s, from %s to %s in 90%% of the draws", drawn->setting.label,
          drawn == best ? "" : ss_result_needs(drawn), ss_shown(SS_TIME, drawn->fan.p50),
          ss_shown(SS_TIME, drawn->fan.p5), ss_shown(SS_TIME, drawn->fan.p95));
  if (drawn->fan.p50 < best->fan.p50) fputs(", and is fastest by its median", stream);
  fputc('.', stream);
}

/* How much of what is played was captured. */
static void print_captured(const struct ss_result *best, FILE *stream) {
  if (!best->extrapolated_from) return;
  fprintf(stream, " %u of the ranks were captured", best->extrapolated_from);
  if (isfinite(best->off)) fprintf(stream, "; half of them predict all within a factor of %.2f.", best->off);
  else fputs(", too few to say how far off it is.", stream);
}

/* Who is fastest in the cell; *list is to be freed. */
static bool decide(const struct ss_result *results, size_t n, struct ss_candidate **list, struct ss_decision *out) {
  struct ss_error ignored;
  *list = ss_alloc(n, sizeof **list);
  if (*list) ss_results_candidates(results, n, *list);
  return *list && ss_decide(*list, n, NULL, out, &ignored);
}

size_t ss_results_winner(const struct ss_result *results, size_t n) {
  SS_AUTO_FREE struct ss_candidate *list = NULL;
  struct ss_decision d;
  return decide(results, n, &list, &d) && !d.rival ? (size_t)(d.best - list) : SIZE_MAX;
}

/* As plan would say it. */
static bool print_decision(const struct ss_result *results, size_t n, FILE *stream) {
  SS_AUTO_FREE struct ss_candidate *list = NULL;
  struct ss_decision d;
  if (!decide(results, n, &list, &d)) return false;
  ss_decision_tell(&d, stream);
  return true;
}

void ss_unfit_print(const char *label, double peak, double memory, bool first, FILE *stream) {
  char held[32], there[32];
  ss_units_format(held, sizeof held, SS_BYTES, peak);
  ss_units_format(there, sizeof there, SS_BYTES, memory);
  if (first) fprintf(stream, " Does not fit into %s of memory", there);
  fprintf(stream, "%s %s (%s)", first ? ":" : ",", label, held);
}

static void print_unfit(const struct ss_result *results, size_t n, FILE *stream) {
  bool any = false;
  for (const struct ss_result *p = results; p < results + n; p++) {
    if (ss_result_fits(p)) continue;
    ss_unfit_print(p->setting.label, p->peak, p->device_memory, !any, stream);
    any = true;
  }
  if (any) fputc('.', stream);
}

/* Of the time in which nothing is on the bottleneck; kernels may run behind messages of others. */
static void print_waiting(const struct ss_result *p, double share, FILE *stream) {
  enum { LITTLE = 5 };
  const double computing = 100 * fmin(p->kernel / p->time, share);
  if (!(100 * share >= LITTLE)) return;
  fprintf(stream, "; the other %.0f%% it waits for other ranks", 100 * share);
  if (computing >= 1) fprintf(stream, " (kernels: up to %.0f%%)", computing);
}

/* A link that waits while messages start is not busy. */
static void print_bottleneck(const struct ss_result *p, FILE *stream) {
  const double startup = p->bound_startup > 0 ? p->bound_startup : 0;
  if (!p->bound_by[0] || !(p->time > 0)) return;
  fprintf(stream, " Its bottleneck is the %s: bytes take %.0f%% of the time", p->bound_by,
          100 * (p->bound - startup) / p->time);
  if (startup >= 0.005 * p->time) fprintf(stream, ", start-ups of messages %.0f%%", 100 * startup / p->time);
  fputs(" (numbers as given)", stream);
  print_waiting(p, 1 - p->bound / p->time, stream);
  fputc('.', stream);
}

/* "16 ranks on CLUSTER, tensor NAME: zen is fastest, ..." of a table's results, with the line's end. */
static void print_words(const struct ss_result *results, size_t n, FILE *stream) {
  const struct ss_result *best, *next;
  ss_results_rank(results, n, &best, &next);
  print_cell(results, stream);
  fputs(": ", stream);
  if (!print_decision(results, n, stream)) fputs("memory is short", stream);
  fprintf(stream, ". %s is %s", best->setting.label, best->lossless ? "lossless" : "lossy");
  ss_energy_print(best->lossless, best->energy, stream);
  fputs(".", stream);
  if (best->dropped > 0)
    fprintf(stream, " %.1f%% of the lookups found no room and are not in it.", 100 * best->dropped);
  print_bottleneck(best, stream);
  print_unfit(results, n, stream);
  print_captured(best, stream);
  print_fan(results, n, best, stream);
  fputc('\n', stream);
}

double ss_vs_dense(double dense, double time) {
  return dense > 0 && time > 0 ? dense / time : NAN;
}

/* Three digits, without an exponent. */
static void put_number(double value, char text[32]) {
  snprintf(text, 32, "%.*f", value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2, value);
}

static void add_range(char *text, size_t size, double low, double high) {
  char from[32], to[32];
  const size_t used = strlen(text);
  if (!(low < high)) return;
  put_number(low, from);
  put_number(high, to);
  snprintf(text + used, size - used, " %s..%s", from, to);
}

void ss_time_add(cJSON *record, const char *name, double time, double low, double high) {
  char text[128], one[40];
  double unit;
  if (!isfinite(time)) return;
  ss_units_format(text, sizeof text, SS_TIME, time);
  snprintf(one, sizeof one, "1%s", strchr(text, ' '));
  if (ss_units_parse(one, SS_TIME, &unit, NULL)) add_range(text, sizeof text, low / unit, high / unit);
  cJSON_AddStringToObject(record, name, text);
}

void ss_ratio_add(cJSON *record, const char *name, double ratio, double low, double high) {
  char text[128];
  if (!isfinite(ratio)) return;
  snprintf(text, sizeof text, "%.2fx", ratio);
  add_range(text, sizeof text, low, high);
  cJSON_AddStringToObject(record, name, text);
}

void ss_count_add(cJSON *record, const char *name, const char *unit, double count, double low, double high) {
  char text[128];
  if (!isfinite(count)) return;
  if (low < high) snprintf(text, sizeof text, "%.0f%s %.0f..%.0f", count, unit, low, high);
  else snprintf(text, sizeof text, "%.*f%s", *unit ? 1 : 0, count, unit);
  cJSON_AddStringToObject(record, name, text);
}

bool ss_records_have(const cJSON *records, const char *field) {
  for (const cJSON *r = records ? records->child : NULL; r; r = r->next)
    if (isfinite(ss_json_number(r, field))) return true;
  return false;
}

void ss_range_add(cJSON *record, const char *name, double low, double high) {
  char text[80];
  if (!isfinite(low)) return;
  snprintf(text, sizeof text, "%s..%s", ss_shown(SS_TIME, low), ss_shown(SS_TIME, high));
  cJSON_AddStringToObject(record, name, text);
}

/* --- where records stand -------------------------------------------------------------------------------------- */

size_t ss_places_vary(const cJSON *records, const cJSON *list[SS_PLACES], bool numeric) {
  static const char *const own[] = {"ranks", "cluster", "tensor"};
  const cJSON *first = records ? records->child : NULL, *at = ss_json_get(first, "at");
  size_t n = 0;
  const cJSON *field[SS_PLACES];
  size_t fields = 0;
  for (size_t i = 0; i < 2; i++) field[fields++] = ss_json_get(first, own[i]);
  for (const cJSON *a = at ? at->child : NULL; a && fields < SS_PLACES - 1; a = a->next)
    if (strcmp(a->string, "ranks") != 0 && strcmp(a->string, "cluster") != 0) field[fields++] = a;
  field[fields++] = ss_json_get(first, own[2]);
  for (size_t i = 0; i < fields; i++) {
    bool varies = false;
    for (const cJSON *r = first; field[i] && r && !varies; r = r->next)
      varies = !cJSON_Compare(ss_place_of(r, field[i]->string), field[i], true);
    if (varies && (!numeric || cJSON_IsNumber(field[i]))) list[n++] = field[i];
  }
  return n;
}

const cJSON *ss_place_of(const cJSON *record, const char *field) {
  const cJSON *own = ss_json_get(record, field);
  return own ? own : ss_json_get(ss_json_get(record, "at"), field);
}

void ss_place_print(const cJSON *value, FILE *stream) {
  const char *dot = strrchr(value->string, '.');
  char text[SS_AT_TEXT_SIZE];
  if (strcmp(value->string, "ranks") == 0)
    fprintf(stream, "%.0f rank%s", value->valuedouble, value->valuedouble == 1 ? "" : "s");
  else if (strcmp(value->string, "tensor") == 0)
    fputs(strcmp(value->valuestring, "*") == 0 ? "all tensors" : value->valuestring, stream);
  else if (strcmp(value->string, "cluster") == 0) fputs(value->valuestring, stream);
  else fprintf(stream, "%s %s", dot ? dot + 1 : value->string, ss_at_text(value, text));
}

/* Of a record: in the words of what varies. */
struct placing {
  const cJSON *record, **varies;
  size_t count;
};

static void write_place(const void *context, FILE *stream) {
  const struct placing *p = context;
  for (size_t i = 0; i < p->count; i++) {
    const cJSON *value = ss_place_of(p->record, p->varies[i]->string);
    fputs(i ? ", " : "", stream);
    if (value) ss_place_print(value, stream);
  }
}

void ss_places_add(cJSON *records) {
  const cJSON *varies[SS_PLACES];
  const size_t count = ss_places_vary(records, varies, false);
  SS_AUTO_FREE char *before = NULL;
  for (cJSON *r = records && count ? records->child : NULL; r; r = r->next) {
    char *place = ss_written(write_place, &(struct placing){r, varies, count});
    ss_json_add_text(r, "place", place && before && strcmp(before, place) == 0 ? "" : place);
    free(before);
    before = place;
  }
}

/* --- the table's rows ----------------------------------------------------------------------------------------- */

/* Whether ranks share links, of which a form for one flat class knows nothing. */
static bool shares_links(const struct ss_result *p) {
  for (size_t k = SS_NIC_OUT; k < SS_LINK_KINDS; k++)
    if (p->usage[k].links > 0) return true;
  return false;
}

/* The form and how far the time is from it: of a pair of bounds, whether it lies between them. */
static void add_form(cJSON *record, const struct ss_result *p) {
  char text[80] = "", off[32] = "";
  const double form = isfinite(p->placed_s) ? p->placed_s : p->formula_s;
  if (isfinite(form)) {
    snprintf(text, sizeof text, "%s%s", isfinite(p->placed_s) && !p->placed_exact ? ">= " : "",
             ss_shown(SS_TIME, form));
    if (form > 0 && (isfinite(p->placed_s) || !shares_links(p)))
      snprintf(off, sizeof off, "%+.1f%%", 100 * (p->time / form - 1));
  } else if (isfinite(p->formula_low_s) && isfinite(p->formula_high_s)) {
    snprintf(text, sizeof text, "%s..%s", ss_shown(SS_TIME, p->formula_low_s), ss_shown(SS_TIME, p->formula_high_s));
    snprintf(off, sizeof off,
             p->time >= p->formula_low_s * (1 - ROUNDING) && p->time <= p->formula_high_s * (1 + ROUNDING)
                 ? "within"
                 : "outside");
  }
  ss_json_add(record, SS_T("form", text[0] ? text : NULL), SS_T("off_by", off[0] ? off : NULL));
}

static double slowest(const struct ss_result *results, size_t n) {
  double most = 0;
  for (size_t i = 0; i < n; i++) most = fmax(most, results[i].time);
  return most;
}

/* `most`: the time of the slowest of its cell. */
static cJSON *record_of(const struct ss_result *p, double dense, double most) {
  static const char bar[] = "############";
  const int length = most > 0 ? (int)fmax(1, (sizeof bar - 1) * p->time / most) : 0;
  char text[SS_BOUND_TEXT_SIZE];
  cJSON *o = ss_result_json(p);
  if (!o) return NULL;
  ss_links_add_words(ss_json_get(o, "links"));
  ss_range_add(o, "fan", p->fan.p5, p->fan.p95);
  ss_time_add(o, "time", p->time, p->time_low, p->time_high);
  if (p->extrapolated_from) ss_json_add_number(o, "half", p->by_half / p->captured);
  if (strcmp(p->device, "none") != 0) ss_json_add_number(o, "counted_s", p->kernel);
  ss_ratio_add(o, "vs_dense", ss_vs_dense(dense, p->time), p->dense_low, p->dense_high);
  snprintf(text, sizeof text, "%.2f/%.2f", p->push_imbalance, p->pull_imbalance);
  ss_json_add_text(o, "imbalance", isfinite(p->push_imbalance) ? text : NULL);
  add_form(o, p);
  ss_json_add(o, SS_T("bottleneck", ss_bound_text(p, text)), SS_N("applied", p->energy < 1 ? p->energy : NAN),
              SS_N("busiest", fmax(p->sent_max, p->received_max)),
              SS_T("unproven", p->exact == SS_YES  ? NULL
                               : p->exact == SS_NO ? "NO"
                                                   : "-"));
  text[0] = '\0';
  strncat(text, bar, (size_t)length);
  ss_json_add_text(o, "bar", text);
  return o;
}

cJSON *ss_results_records(const struct ss_result *results, size_t count) {
  cJSON *records = cJSON_CreateArray();
  for (size_t first = 0, n; records && first < count; first += n) {
    n = ss_results_in_cell(results + first, count - first);
    const double dense = ss_results_dense(results + first, n).seconds, most = slowest(results + first, n);
    for (size_t i = first; i < first + n; i++)
      if (!cJSON_AddItemToArray(records, record_of(&results[i], dense, most))) {
        cJSON_Delete(records);
        return NULL;
      }
  }
  return records;
}

struct ss_table *ss_results_block(const cJSON *records) {
  const struct ss_column columns[] = {{"<scheme", "label", NULL},
                                      {SS_RANGED(records, "time", "time_low_s"), "time", NULL},
                                      {"?by half", "half", "%.3fx"},
                                      {"?5%..95%", "fan", NULL},
                                      {"?median", "time_p50_s", "s"},
                                      {"?kernels", "counted_s", "s"},
                                      {SS_RANGED(records, "?vs dense", "dense_ratio_low"), "vs_dense", NULL},
                                      {"sent/rank", "bytes_sent_max", "B"},
                                      {"recv/rank", "bytes_received_max", "B"},
                                      {"held/rank", "peak_bytes", "B"},
                                      {"imbalance", "imbalance", NULL},
                                      {"exact", "exact", NULL},
                                      {"energy", "energy", "%.1f%%"},
                                      {"closed form", "form", NULL},
                                      {"off by", "off_by", NULL},
                                      {"as printed", "paper_s", "s"},
                                      {"<bottleneck", "bottleneck", NULL}};
  return ss_records_table(columns, records);
}

struct ss_table *ss_results_links(const cJSON *records) {
  static const struct ss_column columns[] = {{"<scheme", "label", NULL},
                                             {"?egress", "links.egress.busy", NULL},
                                             {"?ingress", "links.ingress.busy", NULL},
                                             {"?NIC out", "links.nic-out.busy", NULL},
                                             {"?NIC in", "links.nic-in.busy", NULL},
                                             {"?uplink", "links.uplink.busy", NULL},
                                             {"?downlink", "links.downlink.busy", NULL},
                                             {"?bus", "links.bus.busy", NULL}};
  return ss_records_table(columns, records);
}

/* A row for each scheme and kernel, of the rank or server that computes longest. */
static bool print_kernels(const cJSON *records, FILE *stream, struct ss_error *error) {
  static const struct ss_column columns[] = {
      {"<scheme", "label", NULL},   {"<kernel", "key", NULL},         {"time", "s", "s"},
      {"calls", "calls", "%.4g"},   {"elements", "elements", "%.4g"}, {"moved", "bytes", "B"},
      {"<known from", "from", NULL}};
  cJSON *kernels = ss_record_members(records, "kernels");
  for (cJSON *k = kernels ? kernels->child : NULL; k; k = k->next)
    ss_json_add_text(
        k, "from", cJSON_IsTrue(ss_json_get(k, "estimated")) ? "memory bandwidth (estimated)" : "the device's line");
  const bool ok = ss_records_print(columns, kernels, false, stream, error);
  fputc('\n', stream);
  return ok;
}

/* A row for each scheme and kind of link. Of tensors that follow each other no link is busy with several: they have
 * none. */
static bool print_links(const cJSON *records, FILE *stream, struct ss_error *error) {
  static const struct ss_column columns[] = {{"<scheme", "label", NULL},      {"<links", "kind", NULL},
                                             {"count", "count", "%.0f"},      {"busiest", "busy_max", "%.1f%%"},
                                             {"mean", "busy_mean", "%.1f%%"}, {"carries most", "bytes_max", "B"},
                                             {"mean", "bytes_mean", "B"}};
  cJSON *links = ss_record_members(records, "links");
  if (links && !links->child) {
    cJSON_Delete(links);
    return true;
  }
  const bool ok = ss_records_print(columns, links, false, stream, error);
  fputc('\n', stream);
  return ok;
}

static bool print_block(const struct ss_result *results, size_t n, bool links, FILE *stream, struct ss_error *error) {
  SS_AUTO_JSON cJSON *records = ss_results_records(results, n);
  struct ss_table *table = ss_results_block(records);
  ss_table_fold(table);
  print_words(results, n, stream);
  if (!ss_table_print_free(table, false, stream, error)) return false;
  fputc('\n', stream);
  return (strcmp(results->device, "none") == 0 || print_kernels(records, stream, error)) &&
         (!links || print_links(records, stream, error));
}

static bool count_kernels(const struct ss_results *results) {
  for (size_t i = 0; i < results->count; i++)
    if (strcmp(results->result[i].device, "none") != 0) return true;
  return false;
}

void ss_counted_add(struct ss_counted *counted, const char *device) {
  if (strcmp(device, "none") == 0) return;
  if (!counted->device) counted->device = device;
  else if (strcmp(counted->device, device) != 0) counted->device = "several devices";
}

struct ss_counted ss_results_counted(const struct ss_result *results, size_t n) {
  struct ss_counted counted = {0};
  for (size_t i = 0; i < n; i++) {
    ss_counted_add(&counted, results[i].device);
    for (int k = 0; k < SS_KERNELS; k++) counted.estimated = counted.estimated || results[i].kernels[k].estimated;
  }
  return counted;
}

struct ss_iterations_played ss_results_iterations(const struct ss_results *results) {
  struct ss_iterations_played n = {results->count ? results->result->iterations : 0, 0};
  for (size_t i = 0; i < results->count; i++) {
    const uint64_t own = results->result[i].iterations;
    n.least = own < n.least ? own : n.least;
    n.most = own > n.most ? own : n.most;
  }
  return n;
}

void ss_print_counted(struct ss_counted counted, FILE *stream) {
  if (!counted.device) fputs("not counted (--device NAME counts them)", stream);
  else
    fprintf(stream, "as on %s (%s--device none leaves them out)", counted.device,
            counted.estimated ? "estimated; " : "");
}

void ss_print_time_note(struct ss_iterations_played iterations, struct ss_counted counted, FILE *stream) {
  char least[32] = "";
  if (iterations.least < iterations.most)
    snprintf(least, sizeof least, "%llu to ", (unsigned long long)iterations.least);
  fprintf(stream, "one synchronisation of the tensor, mean over %s%llu iteration%s; kernels ", least,
          (unsigned long long)iterations.most, iterations.most == 1 ? "" : "s");
  ss_print_counted(counted, stream);
}

const char ss_range_note[] =
    "where time lies in 90 of 100 draws of what is not certain: numbers of the machine (those "
    "that options or sweeps give are certain), the model, ranks that were not captured";
static const char chosen_note[] =
    "with no options, as nobody named any: sparsync plan tries their algorithms, formats and "
    "hierarchies, too";
static const char half_note[] = "time of the captured ranks, as half of them predict it, over what it is";

static bool have_ranges(const struct ss_results *results) {
  for (size_t i = 0; i < results->count; i++)
    if (isfinite(results->result[i].time_low)) return true;
  return false;
}

static bool extrapolate(const struct ss_results *results) {
  for (size_t i = 0; i < results->count; i++)
    if (results->result[i].extrapolated_from) return true;
  return false;
}

static void time_note(const void *context, FILE *stream) {
  const struct ss_results *results = context;
  ss_print_time_note(ss_results_iterations(results), ss_results_counted(results->result, results->count), stream);
}

bool ss_results_notes(const struct ss_results *results, ss_note_writer *note, FILE *stream, struct ss_error *error) {
  static const char *const always[][2] = {
      {"vs dense", "how many times faster than the dense all-reduce that a library would take there"},
      {"held/rank", "gradients, messages, sums, selections and residuals that a rank has at once, at most"},
      {"imbalance", "ZEN's ratios of Push and Pull: the largest part against an even one, worst of an iteration"},
      {"exact", "every rank's result equals the brute-force sum, made in this run"},
      {"energy",
       "of what ranks had (gradients and old residuals), the share that was applied; above 100%: with noise"},
      {"closed form",
       "models/costs with this trace's mean nnz and gamma, on the cluster's nodes and cards where the form's\n"
       "pattern tells what these make of it (>=: a bound), else on one flat class of links"},
      {"off by",
       "simulated against closed form: the price of imbalance, and of order where the form is a bound;\n"
       "or whether it lies within the bounds; - where ranks share links and the form knows only a flat class"},
      {"as printed", "the paper's own form"},
      {"bottleneck",
       "the link or port that bounds the run, and the share of the time that the bytes take which it has to carry\n"
       "(+ start-ups of its messages); as numbers are given, without their error"}};
  SS_AUTO_FREE char *time = ss_written(time_note, results);
  if (!time) return ss_fail_memory(error, "writing a table");
  note("time", time, stream);
  if (fastest_drawn(results->result, results->count))
    note("5%..95%",
         "on the links of the cluster's \"jitter\": where 90% of its draws end, and their median; all else is\n"
         "of even links",
         stream);
  if (have_ranges(results)) note("(90%)", ss_range_note, stream);
  if (extrapolate(results)) note("by half", half_note, stream);
  if (count_kernels(results))
    note("kernels",
         "of the rank or server that computes longest, mean over iterations, as the device is given, without its\n"
         "error; below, by kernel",
         stream);
  for (size_t i = 0; i < sizeof always / sizeof *always; i++) note(always[i][0], always[i][1], stream);
  return true;
}

static void print_note(const char *head, const char *text, FILE *stream) {
  for (size_t n; *text; text += n + (text[n] != '\0'), head = "") {
    n = strcspn(text, "\n");
    fprintf(stream, "%-12s %.*s\n", head, (int)n, text);
  }
}

static void print_errata(const struct ss_results *results, FILE *stream) {
  for (size_t i = 0; i < results->count; i++) {
    const struct ss_result *q = &results->result[i];
    bool seen = !q->erratum;
    for (size_t k = 0; k < i && !seen; k++) seen = results->result[k].erratum == q->erratum;
    if (!seen) fprintf(stream, "  of %s: %s\n", q->setting.label, q->erratum);
  }
}

static bool table_more(struct ss_results_writer *w, const struct ss_result *results, size_t count,
                       struct ss_error *error) {
  if (w->written == 0 && count > 0) fprintf(w->stream, "%s: %s\n\n", w->scenario, results->trace);
  w->written += count;
  for (size_t i = 0, n; i < count; i += n) {
    n = ss_results_in_cell(results + i, count - i);
    if (!print_block(results + i, n, w->links, w->stream, error)) return false;
  }
  return true;
}

/* Where another window than the cluster's may turn the choice, as plan would say: nothing draws it, no library is
 * known whose it is, and somebody was compared. */
static bool has_window(const struct ss_results *results) {
  for (size_t i = 0, n; i < results->count; i += n) {
    const struct ss_result *r = &results->result[i];
    n = ss_results_in_cell(r, results->count - i);
    if (n > 1 && r->ranks > 2 && r->machine->window > 0 && ss_cluster_fair(r->machine) &&
        r->machine->library.kind == SS_NO_LIBRARY && !ss_component_uncertain(&r->uncertainty, SS_WINDOW))
      return true;
  }
  return false;
}
static const char window_note[] =
    "messages under way are as the cluster says; sparsync plan tells where another window would turn who is fastest";

static bool table_end(struct ss_results_writer *w, const struct ss_results *results, struct ss_error *error) {
  if (results->count == 0) return true;
  if (!ss_results_notes(results, print_note, w->stream, error)) return false;
  print_errata(results, w->stream);
  if (w->chosen) print_note("schemes", chosen_note, w->stream);
  if (has_window(results)) print_note("window", window_note, w->stream);
  if (w->links)
    fputs("busiest      of the links of a kind, the share of the time in which bytes flow on it; then the mean of "
          "all, and\n"
          "             what the link carries that carries most, and the mean, in an iteration\n",
          w->stream);
  return true;
}

const struct ss_results_form ss_results_as_table = {NULL, table_more, table_end};

/* --- in brief ----------------------------------------------------------------------------------------------- */

/* The sentences do not wait for the last result. */
static bool brief_more(struct ss_results_writer *w, const struct ss_result *results, size_t count,
                       struct ss_error *error) {
  (void)error;
  w->written += count;
  for (size_t i = 0, n; i < count; i += n) {
    n = ss_results_in_cell(results + i, count - i);
    print_words(results + i, n, w->stream);
  }
  return true;
}

/* Was that dense all-reduce told before, and on that cluster? */
static bool told_dense(const struct ss_results *results, size_t i, bool cluster) {
  const struct ss_result *r = &results->result[i];
  for (const struct ss_result *q = results->result; q < r; q++)
    if (q->dense == r->dense && (!cluster || strcmp(q->cluster, r->cluster) == 0)) return true;
  return !r->dense;
}

/* "vs dense: ... "ring, shard" on A or "ring" on B, C": all dense all-reduces that are the fastest of some cell. */
static void print_dense(const struct ss_results *results, FILE *stream) {
  bool any = false, clusters = false;
  for (size_t i = 1; i < results->count; i++)
    clusters = clusters || strcmp(results->result[i].cluster, results->result->cluster) != 0;
  for (size_t i = 0; i < results->count; i++) {
    if (told_dense(results, i, false)) continue;
    fputs(any ? clusters ? "; " : " or "
              : "\nvs dense: how many times faster than the dense all-reduce that a library would take there: ",
          stream);
    any = true;
    fprintf(stream, "\"%s\"", results->result[i].dense);
    const char *between = " on ";
    for (size_t k = i; clusters && k < results->count; k++) {
      if (results->result[k].dense != results->result[i].dense || told_dense(results, k, true)) continue;
      fprintf(stream, "%s%s", between, results->result[k].cluster);
      between = ", ";
    }
  }
}

/* Of what is fastest in each cell. */
static void print_offers(const struct ss_results *results, FILE *stream) {
  SS_AUTO_JSON cJSON *list = cJSON_CreateArray();
  for (size_t i = 0, n; i < results->count; i += n) {
    SS_AUTO_FREE struct ss_candidate *candidates = NULL;
    struct ss_decision d;
    const struct ss_result *first = &results->result[i];
    n = ss_results_in_cell(first, results->count - i);
    if (!decide(first, n, &candidates, &d)) return;
    const struct ss_result *best = &first[d.best - candidates];
    cJSON *record = ss_json_object(SS_T("label", best->setting.label), SS_T("scheme", best->setting.scheme->name),
                                   SS_J("offered", ss_result_offer_json(best)));
    ss_decision_add_times(record, &d);
    cJSON_AddItemToArray(list, record);
  }
  if (list) ss_offers_print(list, stream);
}

/* Clusters of which nobody says where latency or bandwidth come from, each once: they count as certain. */
static void print_unsourced(const struct ss_results *results, FILE *stream) {
  for (size_t i = 0; i < results->count; i++) {
    const struct ss_result *r = &results->result[i], *q = results->result;
    const struct ss_cluster_source *source = &r->machine->source;
    const bool told = source->latency != SS_SUPPOSED && source->bandwidth != SS_SUPPOSED;
    while (strcmp(q->cluster, r->cluster) != 0) q++;
    if (told || q < r || r->ranks == 1) continue;
    fprintf(stream,
            "%s: %s as certain"
            " ({\"source\": {\"latency\": \"estimated\", ...}} draws them)\n",
            r->cluster,
            source->latency != SS_SUPPOSED     ? "bandwidth has no \"source\" and counts"
            : source->bandwidth != SS_SUPPOSED ? "latency has no \"source\" and counts"
                                               : "latency and bandwidth have no \"source\" and count");
  }
}

static bool brief_end(struct ss_results_writer *w, const struct ss_results *results, struct ss_error *error) {
  if (results->count == 0) return true;
  SS_AUTO_JSON cJSON *records = ss_results_records(results->result, results->count);
  const struct ss_column columns[] = {{"?<at", "place", NULL},
                                      {"<scheme", "label", NULL},
                                      {SS_RANGED(records, "time", "time_low_s"), "time", NULL},
                                      {"?by half", "half", "%.3fx"},
                                      {SS_RANGED(records, "?vs dense", "dense_ratio_low"), "vs_dense", NULL},
                                      {"bytes", "busiest", "B"},
                                      {"?energy", "applied", "%.1f%%"},
                                      {"?exact", "unproven", NULL},
                                      {"<bottleneck", "bottleneck", NULL},
                                      {"<", "bar", NULL}};
  ss_places_add(records);
  print_offers(results, w->stream);
  fputc('\n', w->stream);
  if (!ss_table_print_free(ss_records_table(columns, records), false, w->stream, error)) return false;
  fputs("\ntime: ", w->stream);
  time_note(results, w->stream);
  print_dense(results, w->stream);
  fputc('\n', w->stream);
  if (have_ranges(results)) fprintf(w->stream, "(90%%): %s (--certain leaves them out)\n", ss_range_note);
  if (have_ranges(results)) print_unsourced(results, w->stream);
  fputs("bytes: of the rank that sends or receives most", w->stream);
  for (const cJSON *r = records->child; r; r = r->next)
    if (!cJSON_IsTrue(ss_json_get(r, "exact"))) break;
    else if (!r->next) fputs("; every rank's result was proven to be the brute-force sum", w->stream);
  if (extrapolate(results)) fprintf(w->stream, "\nby half: %s", half_note);
  if (w->chosen) fprintf(w->stream, "\nschemes: %s", chosen_note);
  if (has_window(results)) fprintf(w->stream, "\nwindow: %s", window_note);
  fputs("\n--wide: closed forms beside the times, imbalance, and what every column means\n", w->stream);
  return true;
}

const struct ss_results_form ss_results_in_brief = {NULL, brief_more, brief_end};
/* SPDX-License-Identifier: Apache-2.0 */
