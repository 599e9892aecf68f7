/* Where two schemes cost the same, over one quantity. */
#include "cli/command.h"
#include "cli/form_options.h"
#include "report/crossover_table.h"
#include "study/crossover.h"

#include <stddef.h>
#include <string.h>

enum { PROBES_MOST = 65536, RANKS_MOST = 65536 };

static const char *const overs[] = {
    [SS_OVER_DENSITY] = "density", [SS_OVER_RANKS] = "ranks", [SS_OVER_BANDWIDTH] = "bandwidth",
    [SS_OVER_LATENCY] = "latency", [SS_OVER_M] = "M",         [SS_OVERS] = NULL};

struct arguments {
  struct ss_forms_arguments head;
  const char *range;
  unsigned over, form; /* enum ss_over, SS_OVERS: not said; SS_FORMS: not said */
  bool simulate;
  uint64_t probes; /* 0: not said */
};

/* --- options ---------------------------------------------------------------------------------------------- */

static bool read_form(const struct arguments *a, enum ss_form *out, struct ss_error *error) {
  if (a->form != SS_FORMS && a->simulate)
    return ss_fail(error, SS_BAD_INPUT, "--form says which closed form counts: not with --simulate");
  *out = a->form == SS_FORMS ? SS_FORM_EXACT : (enum ss_form)a->form;
  return true;
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
  if (said[over]) return ss_fail(error, SS_BAD_INPUT, "--%s varies: say --range LOW..HIGH instead", overs[over]);
  if (over != SS_OVER_M && !(c->with.bytes > 0))
    return ss_fail(error, SS_BAD_INPUT, "say --M SIZE (--help tells more)");
  if (over != SS_OVER_DENSITY && !(c->with.density > 0 && c->with.density <= 1))
    return ss_fail(error, SS_BAD_INPUT, "say --density SHARE, above 0 and at most 1 (--help tells more)");
  return true;
}

/* An option that was given though only closed forms have it; NULL: none. */
static const char *forms_only(const struct ss_forms_call *c) {
  if (!isnan(c->with.lookups)) return "lookups";
  if (c->files > 0) return "file";
  return c->with.servers ? "servers" : c->with.k ? "k" : c->with.teams ? "teams" : c->with.block ? "block" : NULL;
}

static bool check_simulation(const struct arguments *a, struct ss_error *error) {
  const struct ss_forms_call *c = &a->head.forms;
  if (!a->simulate) return true;
  if (forms_only(c))
    return ss_fail(error, SS_BAD_INPUT,
                   "--%s is of closed forms: with --simulate, say options with the scheme (spardl:teams=2)",
                   forms_only(c));
  if (c->with.kind == SS_GAMMA_LIST)
    return ss_fail(error, SS_BAD_INPUT, "--gamma: a uniform tensor is random, full or none, not a list");
  if (c->with.value_bytes != 4 && c->with.value_bytes != 2)
    return ss_fail(error, SS_BAD_INPUT, "--value-bytes: %llu: simulated elements have 4 bytes or 2",
                   (unsigned long long)c->with.value_bytes);
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

static bool read_study(const struct arguments *a, struct ss_crossover_study *study, struct ss_error *error) {
  const struct ss_call *call = &a->head.call;
  struct ss_duel *duel = &study->duel;
  if (call->operands != 2) return ss_fail(error, SS_BAD_INPUT, "name two schemes, A and B (--help tells more)");
  if (a->over == SS_OVERS)
    return ss_fail(error, SS_BAD_INPUT, "say --over density, ranks, bandwidth, latency or M (--help tells more)");
  duel->over = (enum ss_over)a->over;
  return read_form(a, &duel->form, error) && read_range(a, &ss_axes[duel->over], &study->low, &study->high, error) &&
         check_axis(call, &a->head.forms, duel->over, error) && check_simulation(a, error) &&
         read_ranks(call, &duel->ranks, error) && ss_forms_cluster(call, &duel->cluster, error);
}

static bool run(struct ss_call *call, struct ss_error *error) {
  struct arguments *a = (struct arguments *)call;
  struct ss_forms_call *said = &a->head.forms;
  struct ss_costs costs;
  struct ss_crossover_study study = {.duel = {.with = &said->with, .costs = &costs},
                                     .simulated = a->simulate,
                                     .probes = (uint32_t)a->probes,
                                     .jobs = call->options.jobs,
                                     .watcher = call->options.watcher};
  if (!read_study(a, &study, error) || !ss_costs_open(said->file, said->files, &costs, error)) return false;
  const bool ok = ss_duel_open(&study.duel, call->operand[0], call->operand[1], error) &&
                  ss_crossover_study_run(&study, error) &&
                  ss_call_write(call, &study, ss_crossover_table, ss_crossover_json, ss_crossover_csv, error);
  ss_crossover_study_free(&study);
  ss_costs_close(&costs);
  return ok;
}

static const struct ss_option_spec options[] = {
    SS_OPTION_OPERANDS,
    {"--over", SS_CHOICE(struct arguments, over, overs), .help = "what varies"},
    {"--range", SS_TEXT(struct arguments, range), .value = "LOW..HIGH",
     .help =
         "within (density 0.01%..100%, ranks 2..256, bandwidth 1Gbps..1Tbps, latency 100ns..1ms, M 1MB..10GB). Of "
         "ranks, the first count is told from which the other is cheaper"},
    {"--probes", SS_COUNT(struct arguments, probes, 2, PROBES_MOST), .value = "N",
     .help =
         "places of the grid that is searched for changes (257; simulated 17): two changes between neighbours are "
         "not seen"},
    {"--form", SS_CHOICE(struct arguments, form, ss_form_names),
     .help = "what the schedule gives (default), what the paper prints, a bound of schemes that have only bounds; or "
             "what the schedule gives on the cluster's nodes and cards, where that is known exactly"},
    {"--simulate", SS_FLAG(struct arguments, simulate),
     .help =
         "play the schedules on uniform tensors instead; sizes that do not divide are rounded to the nearest that "
         "do, and told. Takes the cluster's nodes and NICs into account; bandwidth and latency are those between "
         "nodes"},
    SS_OPTION_JOBS,
    SS_OPTIONS_OUTPUT,
    {"", SS_HEADING,
     .help = "the same as of `sparsync cost`, of what does not vary (--M and --density are required):"},
    SS_FORMS_OPTIONS("rank count (16)"),
    {"", SS_HEADING, .help = "the same, of closed forms only:"},
    SS_FORMS_ONLY_OPTIONS,
    {"--scheme", SS_REFUSED, .help = "name the two schemes as they are: sparsync crossover allgather zen"},
    {"--trace", SS_REFUSED, .help = "tensors are uniform (sparsync run compares schemes on a trace)"},
    {.name = NULL}};

const struct ss_command ss_command_crossover = {
    .name = "crossover",
    .summary = "where two schemes cost the same, over one quantity",
    .usage =
        "usage: sparsync crossover A B --over density|ranks|bandwidth|latency|M [OPTION...]\n"
        "\n"
        "Where schemes A and B cost the same: every place in the range at which the cheaper changes, or that one "
        "always\n"
        "wins and by how much. A and B are schemes (zen), closed forms as `cost` names them (zen-coo), either with "
        "options\n"
        "(zen:format=coo,balance=even), or JSON objects as in a scenario. By closed forms; a form that holds only "
        "for "
        "some\n"
        "rank counts is left out elsewhere, with a note.\n",
    .examples =
        "examples:\n"
        "  sparsync crossover allreduce sparcml-rd --over ranks --M 856MB --density 2.8% --row-width 64\n"
        "  sparsync crossover zen:format=coo allreduce --over density --M 856MB --ranks 16 --simulate\n"
        "  sparsync crossover alltoall allgather --over bandwidth --M 252.5MiB --density 10.3% --row-width 1024\n",
    .options = options,
    .size = sizeof(struct arguments),
    .defaults = &(const struct arguments){.head.forms = SS_FORMS_DEFAULTS, .over = SS_OVERS, .form = SS_FORMS},
    .run = run};
