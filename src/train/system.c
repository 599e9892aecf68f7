#include "train/system.h"

#include "train/workloads.h"

static const char *const schedules[] = {"fifo", "priority", "horizontal", "2d", NULL};

const char *ss_schedule_name(enum ss_schedule schedule) {
  return schedules[schedule];
}

bool ss_system_lossy(const struct ss_system *s) {
  return !ss_scheme_lossless(s->sparse.scheme) || !ss_scheme_lossless(s->dense.scheme) || s->select.selects;
}

bool ss_setting_same(const struct ss_setting *a, const struct ss_setting *b) {
  bool same = a->scheme == b->scheme && a->index_bytes == b->index_bytes && a->element == b->element &&
              a->exchange_sizes == b->exchange_sizes && a->ragged == b->ragged && a->call == b->call &&
              a->hierarchy == b->hierarchy;
  for (size_t i = 0; i < SS_OPTIONS_MAX; i++)
    same = same && a->value[i] == b->value[i] && a->real[i] == b->real[i] && a->given[i] == b->given[i];
  return same;
}

/* --- what goes together in a bucket, by size or by name -------------------------------------------------- */

/* The list's names behind the *count that are there already. */
static bool read_list(struct ss_node list, struct ss_arena *arena, const char **name, uint32_t *count,
                      struct ss_error *error) {
  if (!ss_node_is_array(list) || ss_node_size(list) == 0)
    return ss_node_fail(list, error, "expected a list of names of modules, which go together");
  for (struct ss_node n = ss_node_first(list); ss_node_present(n); n = ss_node_next(n)) {
    const char *text;
    if (!ss_node_text(n, &text, error)) return false;
    name[*count] = ss_arena_text(arena, text);
    if (!name[(*count)++]) return ss_fail_memory(error, "reading a system");
  }
  return true;
}

static bool read_lists(struct ss_node node, struct ss_system *s, struct ss_error *error) {
  char path[200], position[400];
  size_t names = 0;
  if (ss_node_size(node) == 0 || ss_node_size(node) > SS_MODULES_MAX)
    return ss_node_fail(node, error, "expected bytes, or a list of 1 to %d lists of modules", SS_MODULES_MAX);
  for (struct ss_node l = ss_node_first(node); ss_node_present(l); l = ss_node_next(l)) names += ss_node_size(l);
  if (names > SS_MODULES_MAX)
    return ss_node_fail(node, error, "%zu names: a workload has at most %d modules", names, SS_MODULES_MAX);
  const char **name = ss_arena_alloc(&s->arena, names, sizeof *name);
  uint32_t *end = ss_arena_alloc(&s->arena, ss_node_size(node), sizeof *end), count = 0;
  ss_doc_position(node.doc, ss_node_path(node, path, sizeof path), position, sizeof position);
  s->listed = (struct ss_buckets){.where = ss_arena_text(&s->arena, position), .name = name, .end = end};
  if (!name || !end || !s->listed.where) return ss_fail_memory(error, "reading a system");
  for (struct ss_node l = ss_node_first(node); ss_node_present(l); l = ss_node_next(l)) {
    if (!read_list(l, &s->arena, name, &count, error)) return false;
    end[s->listed.lists++] = count;
  }
  return true;
}

static bool read_bucket(struct ss_node node, struct ss_system *s, struct ss_error *error) {
  if (!ss_node_present(node)) return true;
  return ss_node_is_array(node) ? read_lists(node, s, error) : ss_bytes_read(node, &s->bucket, error);
}

/* Sizes that another schedule would ignore are errors. */
static bool read_sizes(struct ss_node node, struct ss_system *s, struct ss_error *error) {
  struct ss_node bucket = ss_node_get(node, "bucket"), partition = ss_node_get(node, "partition");
  const struct ss_node first = ss_node_get(node, "first_bucket");
  if (!read_bucket(bucket, s, error) || (ss_node_present(first) && !ss_bytes_read(first, &s->first_bucket, error)) ||
      (ss_node_present(partition) && !ss_bytes_read(partition, &s->partition, error)))
    return false;
  const struct ss_node how = ss_node_get(ss_node_get(node, "source"), "bucket");
  const char *text;
  s->bucket_estimated = ss_node_is_text(how) && ss_node_text(how, &text, NULL) && strstr(text, "estimated");
  if ((s->bucket || s->listed.lists) && s->schedule != SS_FIFO)
    return ss_node_fail(bucket, error, "only the schedule \"fifo\" fuses tensors, not \"%s\"",
                        ss_schedule_name(s->schedule));
  if (s->first_bucket && !s->bucket)
    return ss_node_fail(first, error, "a first bucket is of others, of so many bytes: say \"bucket\" too");
  if (s->partition && s->schedule != SS_PRIORITY)
    return ss_node_fail(partition, error, "only the schedule \"priority\" cuts tensors, not \"%s\"",
                        ss_schedule_name(s->schedule));
  return true;
}

/* --- the two exchanges of a table that is cut over ranks -------------------------------------------------- */

static bool split_exchanges(struct ss_node node, struct ss_system *s, struct ss_error *error) {
  static const char *const ours[] = {"exchange", "gather_ids", "pooling"}, *const of_gradients[] = {"coalesce",
                                                                                                    "sums"};
  s->exchanges = ss_setting_find(&s->sparse, "exchange") != NULL;
  if (!s->exchanges) return true;
  static const char *const why[] = {"both exchanges are played, each as a task of its own",
                                    "ids are prefetched while the iteration before is computed",
                                    "training knows rows, not which of them make a bag"};
  for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
    if (ss_setting_given(&s->sparse, ours[i]))
      return ss_node_fail(ss_node_get(node, ours[i]), error, "%s: leave it out", why[i]);
  s->lookups = s->sparse;
  ss_setting_choose(&s->sparse, "exchange", "gradients");
  ss_setting_choose(&s->lookups, "exchange", "lookups");
  for (size_t i = 0; i < sizeof of_gradients / sizeof *of_gradients; i++)
    if (ss_setting_find(&s->lookups, of_gradients[i])) ss_setting_choose(&s->lookups, of_gradients[i], NULL);
  return true;
}

/* --- channels ---------------------------------------------------------------------------------------------- */

static const char *const cargoes[] = {"gradient", "lookups", "prior", "delayed", "dense", NULL};

/* What no list names is the first channel's. */
static bool read_channels(struct ss_node list, void *system, struct ss_error *error) {
  struct ss_concurrency *o = &((struct ss_system *)system)->concurrency;
  bool named[SS_CARGOES] = {false};
  o->channels = 0;
  if (!ss_node_is_array(list) || ss_node_size(list) == 0 || ss_node_size(list) > SS_CHANNELS_MAX)
    return ss_node_fail(list, error, "expected a list of 1 to %d channels, say [[\"dense\"], [\"gradient\"]]",
                        SS_CHANNELS_MAX);
  for (struct ss_node c = ss_node_first(list); ss_node_present(c); c = ss_node_next(c), o->channels++) {
    if (!ss_node_is_array(c) || ss_node_size(c) == 0)
      return ss_node_fail(c, error, "expected a list of what the channel carries, say [\"dense\"]");
    for (struct ss_node n = ss_node_first(c); ss_node_present(n); n = ss_node_next(n)) {
      size_t cargo;
      if (!ss_node_choice(n, cargoes, &cargo, error)) return false;
      if (named[cargo]) return ss_node_fail(n, error, "\"%s\" has a channel already", cargoes[cargo]);
      named[cargo] = true;
      o->channel[cargo] = (uint8_t)o->channels;
    }
  }
  return true;
}

/* --- what goes together --------------------------------------------------------------------------------- */

static bool check_schemes(struct ss_node sparse, struct ss_node dense, const struct ss_system *s,
                          struct ss_error *error) {
  const struct ss_setting *a = &s->sparse, *b = &s->dense;
  if (s->schedule == SS_2D && (ss_setting_sends_dense(a) || !ss_scheme_lossless(a->scheme)))
    return ss_node_fail(sparse, error, "\"2d\" sends prior and delayed rows apart: %s %s", a->label,
                        ss_scheme_lossless(a->scheme) ? "sends every row" : "is lossy");
  if (s->schedule == SS_2D && !ss_setting_coalesces(a))
    return ss_node_fail(sparse, error, "\"2d\" begins by coalescing (Algorithm 1): leave \"coalesce\" out");
  if (ss_scheme_model_parallel(b->scheme) || !ss_setting_coalesces(b))
    return ss_node_fail(dense, error, "%s is for looked-up rows; a dense module has none (say \"allreduce\")",
                        b->label);
  return true;
}

static bool read_select(struct ss_node node, struct ss_system *s, struct ss_error *error) {
  if (!ss_node_present(node)) return true;
  if (!ss_selection_read(node, &s->select, error)) return false;
  if (s->select.warm_up)
    return ss_node_fail(ss_node_get(node, "warm_up"), error,
                        "is of the first iterations, of which a training plays few: leave it out");
  if (ss_setting_sends_dense(&s->dense))
    return ss_node_fail(node, error, "%s sends every element: nothing is gained by selecting some", s->dense.label);
  if (ss_scheme_valued(s->dense.scheme) && !ss_scheme_estimates(s->dense.scheme))
    return ss_node_fail(node, error, "%s selects by itself: leave \"select\" out", s->dense.label);
  return true;
}

static const char *const stagings[] = {"device", "tables", "host", NULL};
static const char *const kernel_streams[] = {"own", "shared", NULL};
static const struct ss_field_spec a_cargo = {NULL, NULL, SS_IS_CHOICE(cargoes)};
static const struct ss_field_spec a_channel = {NULL, NULL, SS_IS_LIST(&a_cargo, 1, SS_CARGOES)};
static const struct ss_field_spec software[] = {
    {"call", "before each task is sent", SS_IS_TIME, SS_STORED(struct ss_software, call)},
    {"copy", "at which dense buckets are filled and emptied", SS_IS_RATE, SS_STORED(struct ss_software, copy)},
    {"cycle", "channels choose at multiples of it alone", SS_IS_TIME, SS_STORED(struct ss_software, cycle)},
    {"step", "an iteration: what all forward passes wait for together, in even shares", SS_IS_TIME,
     SS_STORED(struct ss_software, step)},
    {"step_per_byte", "of a module's gradient, before its forward pass: s/B", SS_IS_FROM_0,
     SS_STORED(struct ss_software, step_per_byte)},
    {.name = NULL}};
static const struct ss_object_spec software_spec = {.says = "what communication costs beside the wire",
                                                    .field = software};
static const struct ss_field_spec a_module = {NULL, NULL, SS_IS_NAME},
                                  a_bucket = {NULL, NULL, SS_IS_LIST(&a_module, 1, SS_MODULES_MAX)},
                                  bucket_forms[] = {{NULL, NULL, SS_IS_BYTES},
                                                    {NULL, NULL, SS_IS_LIST(&a_bucket, 1, SS_MODULES_MAX)},
                                                    {.name = NULL}};
static const struct ss_field_spec offered[] = {
    {"by", "a library", SS_IS_NAME, .required = true, SS_STORED(struct ss_offer, by)},
    {"how", "what is called, or set", SS_IS_NAME, .required = true, SS_STORED(struct ss_offer, how)},
    {"url", "where that is said", SS_IS_NAME, .required = true, SS_STORED(struct ss_offer, url)},
    {"over", "the one library of collectives over which it runs, as clusters name theirs",
     SS_IS_CHOICE(ss_library_names), .usual = "none", SS_STORED(struct ss_offer, over)},
    {.name = NULL}};
static const struct ss_object_spec offered_spec = {.says = "who offers it to PyTorch; nobody without",
                                                   .field = offered};
static const struct ss_field_spec a_source = {NULL, NULL, SS_IS_NAME};
static const struct ss_object_spec source_spec = {.says = "field name to where its number comes from",
                                                  .others = &a_source};
static const struct ss_field_spec fields[] = {
    {"name", NULL, SS_IS_TEXT, .low = 1, .required = true, SS_STORED(struct ss_system, name)},
    SS_SPEC_SUMMARY,
    {"sparse", "scheme of embeddings, as in scenarios", SS_IS_EITHER(ss_setting_forms), .required = true},
    {"dense", "scheme of dense modules", SS_IS_EITHER(ss_setting_forms), .required = true},
    {"schedule", NULL, SS_IS_CHOICE(schedules), .required = true, SS_STORED(struct ss_system, schedule)},
    {"bucket",
     "fifo only: dense gradients are fused until a bucket holds so much (0: no fusion); or lists of modules that go "
     "together, in the order in which they go",
     SS_IS_EITHER(bucket_forms)},
    {"first_bucket", "where `bucket` is bytes: those of the first one (0: as all)", SS_IS_BYTES},
    {"partition", "priority only: dense gradients are cut into parts of at most so much (0: whole)", SS_IS_BYTES},
    {"select", "what a lossless dense scheme is given of dense modules", SS_IS_OBJECT(&ss_selection_fields)},
    {"channels", "tasks that go one after the other, in lists; what none names is in the first",
     SS_IS_LIST(&a_channel, 1, SS_CHANNELS_MAX), .read = read_channels},
    {"interference", "computing takes 1 + so many times as long while something is sent", SS_IS_FROM_0,
     SS_STORED(struct ss_system, concurrency.interference)},
    {"kernels", "of schemes: on a stream of their own, or in turns with computing (shared)",
     SS_IS_CHOICE(kernel_streams), .usual = "own", SS_STORED(struct ss_system, concurrency.shared_kernels)},
    {"staging",
     "messages that are copied through the memory of machines (the cluster's \"host\"): tables', or all (host)",
     SS_IS_CHOICE(stagings), .usual = "device", SS_STORED(struct ss_system, staging)},
    {"software", NULL, SS_IS_OBJECT(&software_spec), SS_STORED(struct ss_system, concurrency.software)},
    {"baseline", "speed-ups are over the fastest system that says so", SS_IS_FLAG, .usual = "false",
     SS_STORED(struct ss_system, baseline)},
    {"offered", NULL, SS_IS_OBJECT(&offered_spec), SS_STORED(struct ss_system, offer)},
    {"source", NULL, SS_IS_OBJECT(&source_spec)},
    SS_SPEC_NOTES,
    {.name = NULL}};
const struct ss_object_spec ss_system_fields = {
    .name = "system",
    .title = "A system: models/systems/*.json, or inline in a scenario of train",
    .says = "Which scheme synchronises sparse and dense gradients, and how they are scheduled: docs/training.md, "
            "\"Systems\"",
    .field = fields};

bool ss_system_read(struct ss_node node, struct ss_system *out, struct ss_error *error) {
  const struct ss_setting defaults = {.index_bytes = 4};
  const struct ss_node sparse = ss_node_get(node, "sparse"), dense = ss_node_get(node, "dense"),
                       name = ss_node_get(node, "name");
  *out = (struct ss_system){.concurrency.channels = 1};
  if (!ss_node_is_object(node))
    return ss_node_fail(node, error, "a system is an object with \"sparse\" and \"dense\"");
  if (!ss_object_read(&ss_system_fields, node, out, error)) return false;
  if (!out->name[0] || strlen(name.at->valuestring) >= sizeof out->name)
    return ss_node_fail(name, error, "a name has 1 to %zu bytes", sizeof out->name - 1);
  return ss_setting_read(sparse, &defaults, &out->sparse, error) &&
         ss_setting_read(dense, &defaults, &out->dense, error) && read_sizes(node, out, error) &&
         check_schemes(sparse, dense, out, error) && split_exchanges(sparse, out, error) &&
         read_select(ss_node_get(node, "select"), out, error);
}

void ss_system_free(struct ss_system *system) {
  ss_arena_free(&system->arena);
  *system = (struct ss_system){0};
}
/* SPDX-License-Identifier: Apache-2.0 */
