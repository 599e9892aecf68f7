/* Where two schemes cost the same, over one quantity. */
#include "base/file.h"
#include "cli/command.h"
#include "cli/forms.h"
#include "report/crossover.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
    "usage: sparsync crossover A B --over density|ranks|bandwidth|latency|M [OPTION...]\n"
    "\n"
    "Where schemes A and B cost the same: every place in the range at which the cheaper changes, or that one always\n"
    "wins and by how much. A and B are schemes (zen), closed forms as `cost` names them (zen-coo), either with "
    "options\n"
    "(zen:format=coo,balance=even), or JSON objects as in a scenario. By closed forms; a form that holds only for "
    "some\n"
    "rank counts is left out elsewhere, with a note.\n"
    "\n"
    "  --over WHAT          what varies\n"
    "  --range LOW..HIGH    within (density 0.01%..100%, ranks 2..256, bandwidth 1Gbps..1Tbps, latency 100ns..1ms,\n"
    "                       M 1MB..10GB). Of ranks, the first count is told from which the other is cheaper\n"
    "  --probes N           places of the grid that is searched for changes (257; simulated 17): two changes "
    "between\n"
    "                       neighbours are not seen\n"
    "  --form exact|paper|low|high\n"
    "                       what the schedule gives (default), what the paper prints, or a bound of schemes that "
    "have\n"
    "                       only bounds\n"
    "  --simulate           play the schedules on uniform tensors instead; sizes that do not divide are rounded to "
    "the\n"
    "                       nearest that do, and told. Takes the cluster's nodes and NICs into account;\n"
    "                       bandwidth and latency are those between nodes\n"
    "  --jobs N             threads of a simulation (all cores)   --quiet   no progress bar\n"
    "\n"
    "the same as of `sparsync cost`, of what does not vary:\n"
    "  --M SIZE, --density SHARE                  required\n"
    "  --row-width N (1), --value-bytes N (4), --index-bytes N (4), --ranks N (16), --gamma random|full|none|LIST\n"
    "  --cluster NAME (p3.16xlarge-25g), --latency TIME, --bandwidth RATE, --format table|json|csv, -o FILE\n"
    "  of closed forms only: --lookups SHARE, --servers N, --k N, --teams N, --block N, --file FILE\n"
    "\n"
    "examples:\n"
    "  sparsync crossover allreduce sparcml-rd --over ranks --M 856MB --density 2.8% --row-width 64\n"
    "  sparsync crossover zen:format=coo allreduce --over density --M 856MB --ranks 16 --simulate\n"
    "  sparsync crossover alltoall allgather --over bandwidth --M 252.5MiB --density 10.3% --row-width 1024\n";

enum { PROBES_MOST = 65536, RANKS_MOST = 65536 };

struct arguments {
  struct ss_forms_call *forms;
  const char *over, *range, *form;
  bool simulate;
  const char *forms_only; /* the last option given that only closed forms have */
  uint64_t probes;        /* 0: not said */
};

/* --- options ---------------------------------------------------------------------------------------------- */

static bool own(void *context, const char *name, const char *value, struct ss_error *error) {
  static const char *const forms_only[] = {"lookups", "servers", "k", "teams", "block", "file", NULL};
  struct arguments *a = context;
  if (strcmp(name, "over") == 0) a->over = value;
  else if (strcmp(name, "range") == 0) a->range = value;
  else if (strcmp(name, "form") == 0) a->form = value;
  else if (strcmp(name, "simulate") == 0) a->simulate = true;
  else if (strcmp(name, "probes") == 0) return ss_count_parse(value, "--probes", 2, PROBES_MOST, &a->probes, error);
  else {
    for (size_t i = 0; forms_only[i]; i++)
      if (strcmp(forms_only[i], name) == 0) a->forms_only = forms_only[i];
    return ss_forms_option(a->forms, name, value, error);
  }
  return true;
}

static bool read_over(const struct arguments *a, enum ss_over *out, struct ss_error *error) {
  if (!a->over)
    return ss_fail(error, SS_BAD_INPUT, "say --over density, ranks, bandwidth, latency or M (--help tells more)");
  for (int i = 0; i < SS_OVERS; i++)
    if (strcmp(ss_axes[i].name, a->over) == 0) {
      *out = (enum ss_over)i;
      return true;
    }
  return ss_fail(error, SS_BAD_INPUT, "--over: \"%s\" is not density, ranks, bandwidth, latency or M", a->over);
}

static bool read_form(const struct arguments *a, enum ss_form *out, struct ss_error *error) {
  static const char *const names[] = {"exact", "paper", "low", "high"};
  *out = SS_FORM_EXACT;
  if (!a->form) return true;
  if (a->simulate) return ss_fail(error, SS_BAD_INPUT, "--form says which closed form counts: not with --simulate");
  for (int i = 0; i < 4; i++)
    if (strcmp(names[i], a->form) == 0) {
      *out = (enum ss_form)i;
      return true;
    }
  return ss_fail(error, SS_BAD_INPUT, "--form: \"%s\" is not exact, paper, low or high", a->form);
}

static bool read_end(const char *text, const struct ss_axis *axis, double *out, struct ss_error *error) {
  uint64_t count;
  if (axis->dimension == SS_NUMBER) {
    if (!ss_count_parse(text, "--range", 1, RANKS_MOST, &count, error)) return false;
    *out = (double)count;
    return true;
  }
  if (!ss_units_parse(text, axis->dimension, out, error)) return ss_fail_prefix(error, "--range");
  return *out > 0 || ss_fail(error, SS_BAD_INPUT, "--range: \"%s\" is not above zero", text);
}

static bool read_range(const struct arguments *a, const struct ss_axis *axis, double *low, double *high,
                       struct ss_error *error) {
  *low = axis->low;
  *high = axis->high;
  if (!a->range) return true;
  char first[64];
  const char *dots = strstr(a->range, "..");
  if (!dots || dots - a->range >= (ptrdiff_t)sizeof first)
    return ss_fail(error, SS_BAD_INPUT, "--range: \"%s\" is not LOW..HIGH", a->range);
  snprintf(first, sizeof first, "%.*s", (int)(dots - a->range), a->range);
  if (!read_end(first, axis, low, error) || !read_end(dots + 2, axis, high, error)) return false;
  if (*low >= *high) return ss_fail(error, SS_BAD_INPUT, "--range: %s is not from low to high", a->range);
  if (axis->dimension == SS_RATIO && *high > 1)
    return ss_fail(error, SS_BAD_INPUT, "--range: a density above 1 is none");
  return true;
}

/* What varies is not said twice. */
static bool check_axis(const struct ss_call *call, const struct ss_forms_call *c, enum ss_over over,
                       struct ss_error *error) {
  const bool said[SS_OVERS] = {
      [SS_OVER_DENSITY] = c->with.density > 0,
      [SS_OVER_RANKS] = call->request.ranks != NULL,
      [SS_OVER_BANDWIDTH] = call->request.bandwidth != NULL,
      [SS_OVER_LATENCY] = call->request.latency != NULL,
      [SS_OVER_M] = c->with.bytes > 0,
  };
  if (said[over])
    return ss_fail(error, SS_BAD_INPUT, "--%s varies: say --range LOW..HIGH instead", ss_axes[over].name);
  if (over != SS_OVER_M && !(c->with.bytes > 0))
    return ss_fail(error, SS_BAD_INPUT, "say --M SIZE (--help tells more)");
  if (over != SS_OVER_DENSITY && !(c->with.density > 0 && c->with.density <= 1))
    return ss_fail(error, SS_BAD_INPUT, "say --density SHARE, above 0 and at most 1 (--help tells more)");
  return true;
}

static bool check_simulation(const struct arguments *a, struct ss_error *error) {
  if (!a->simulate) return true;
  if (a->forms_only)
    return ss_fail(error, SS_BAD_INPUT,
                   "--%s is of closed forms: with --simulate, say options with the scheme (spardl:teams=2)",
                   a->forms_only);
  if (a->forms->with.kind == SS_GAMMA_LIST)
    return ss_fail(error, SS_BAD_INPUT, "--gamma: a uniform tensor is random, full or none, not a list");
  if (a->forms->with.value_bytes != 4 && a->forms->with.value_bytes != 2)
    return ss_fail(error, SS_BAD_INPUT, "--value-bytes: %llu: simulated elements have 4 bytes or 2",
                   (unsigned long long)a->forms->with.value_bytes);
  return true;
}

static bool read_ranks(const struct ss_call *call, uint32_t *out, struct ss_error *error) {
  uint64_t count = 16;
  if (call->request.ranks && !ss_count_parse(call->request.ranks, "--ranks", 2, RANKS_MOST, &count, error))
    return false;
  *out = (uint32_t)count;
  return true;
}

/* --- one search ------------------------------------------------------------------------------------------- */

static bool print_to(const struct ss_call *call, const struct ss_crossover_study *study, struct ss_error *error) {
  struct ss_output output;
  if (!ss_output_open(call->output, &output, error)) return false;
  const bool ok = call->format == SS_JSON  ? ss_crossover_json(study, output.stream, error)
                  : call->format == SS_CSV ? ss_crossover_csv(study, output.stream, error)
                                           : ss_crossover_table(study, output.stream, error);
  if (ok) return ss_output_commit(&output, error);
  ss_output_discard(&output);
  return false;
}

static bool read_study(const struct ss_call *call, const struct arguments *a, struct ss_crossover_study *study,
                       struct ss_error *error) {
  struct ss_duel *duel = &study->duel;
  if (call->operands != 2) return ss_fail(error, SS_BAD_INPUT, "name two schemes, A and B (--help tells more)");
  if (!read_over(a, &duel->over, error) || !read_form(a, &duel->form, error)) return false;
  return read_range(a, &ss_axes[duel->over], &study->low, &study->high, error) &&
         check_axis(call, a->forms, duel->over, error) && check_simulation(a, error) &&
         read_ranks(call, &duel->ranks, error) && ss_forms_cluster(call, &duel->cluster, error);
}

static bool cross(const struct ss_call *call, const struct arguments *a, struct ss_error *error) {
  struct ss_costs costs;
  struct ss_crossover_study study = {.duel = {.with = &a->forms->with, .costs = &costs},
                                     .simulated = a->simulate,
                                     .probes = (uint32_t)a->probes,
                                     .jobs = call->options.jobs,
                                     .watcher = call->options.watcher};
  if (!read_study(call, a, &study, error) || !ss_costs_open(a->forms->file, a->forms->files, &costs, error))
    return false;
  const bool ok = ss_duel_open(&study.duel, call->operand[0], call->operand[1], error) &&
                  ss_crossover_study_run(&study, error) && print_to(call, &study, error);
  ss_crossover_study_free(&study);
  ss_costs_close(&costs);
  return ok;
}

static bool run(int argc, char **argv, struct ss_error *error) {
  static const struct ss_option_spec specs[] = {{"over", true},   {"range", true},     {"form", true},
                                                {"jobs", true},   {"simulate", false}, {"quiet", false},
                                                {"probes", true}, SS_FORMS_OPTIONS};
  struct ss_call call;
  struct arguments a = {.forms = ss_forms_new()};
  if (!a.forms) return ss_fail_memory(error, "reading options");
  bool ok = ss_call_parse(argc, argv, specs, own, &a, &call, error);
  if (ok) {
    ok = call.help ? fputs(help, stdout) >= 0 : cross(&call, &a, error);
    ss_call_free(&call);
  }
  free(a.forms);
  return ok;
}

const struct ss_command ss_command_crossover = {
    .name = "crossover", .summary = "where two schemes cost the same, over one quantity", .help = help, .run = run};
