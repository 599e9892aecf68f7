/* Reads settings, and tells what follows from them. */
#include "schemes/setting.h"

#include "base/suggest.h"
#include "schemes/registry.h"
#include "schemes/run.h"

/* --- reading -------------------------------------------------------------------------------------------- */

/* Whether it is a scheme with options, as the command line writes them; fails then, with what a document has. */
static bool fail_options(const char *text, struct ss_node node, struct ss_error *error) {
  SS_AUTO_FREE char *name = strdup(text);
  char written[400] = "";
  char *rest = name ? ss_setting_split(name) : NULL;
  if (!rest || !ss_scheme_find(name)) return false;
  for (char *word = strtok_r(rest, ",", &rest); word; word = strtok_r(NULL, ",", &rest)) {
    char *value = strchr(word, '=');
    if (!value) return false;
    *value++ = '\0';
    const bool bare =
        strcmp(value, "true") == 0 || strcmp(value, "false") == 0 || value[strspn(value, "0123456789.")] == '\0';
    ss_append(written, sizeof written, bare ? ", \"%s\": %s" : ", \"%s\": \"%s\"", word, value);
  }
  ss_node_fail(node, error, "\"%s\" is how command lines write options: here {\"name\": \"%s\"%s}", text, name,
               written);
  return true;
}

static bool find_scheme(struct ss_node node, const struct ss_scheme **out, struct ss_error *error) {
  const char *name, *names[64];
  size_t n = 0;
  if (!ss_node_text(node, &name, error)) return false;
  *out = ss_scheme_find(name);
  if (*out) return true;
  for (; ss_schemes()[n] && n < 63; n++) names[n] = ss_schemes()[n]->name;
  names[n] = NULL;
  if (strchr(name, '=') && fail_options(name, node, error)) return false;
  char before[32], all[512] = "there are: "; /* before: what stands before the point of a design */
  ss_words_join(names, ", ", all + strlen(all), sizeof all - strlen(all));
  snprintf(before, sizeof before, "%.*s", (int)strcspn(name, ":"), name);
  if (strpbrk(name, "{}()[]=\" "))
    return ss_node_fail(node, error,
                        "no scheme is called \"%s\" (options are written behind a colon: zen:format=coo)", name);
  return ss_node_fail(node, error, "no scheme is called \"%s\"%s", name, ss_suggest(before, names, all).text);
}

static bool read_real(struct ss_node node, const struct ss_option *option, double *out, struct ss_error *error) {
  if (!ss_node_positive(node, SS_RATIO, out, error)) return false;
  if (*out <= (double)option->high) return true;
  return ss_node_fail(node, error, "%g is not in (0, %llu]", *out, (unsigned long long)option->high);
}

/* "ranks/8", "nodes", "gpus_per_node": a count that follows where the scheme runs. */
static bool read_following(struct ss_node node, const struct ss_option *option, const struct ss_setting *where,
                           uint64_t *out, struct ss_error *error) {
  static const char *const names[] = {"ranks", "nodes", "gpus_per_node", NULL};
  const uint32_t g = where->per_node ? where->per_node : 1, counts[] = {where->ranks, (where->ranks + g - 1) / g, g};
  const char *text;
  uint64_t parts = 1;
  size_t i = 0;
  if (!ss_node_text(node, &text, error)) return false;
  const size_t length = strcspn(text, "/");
  while (names[i] && (strncmp(names[i], text, length) != 0 || names[i][length])) i++;
  if (!names[i] || (text[length] && !ss_count_parse(text + length + 1, option->name, 1, UINT32_MAX, &parts, NULL)))
    return ss_node_fail(node, error,
                        "\"%.60s\" is no count: give a number, or ranks, nodes, gpus_per_node, or ranks/8", text);
  if (where->ranks == 0)
    return ss_node_fail(node, error,
                        "\"%.60s\" follows the ranks, and there is no one count of them here: give a number", text);
  if (counts[i] % parts != 0)
    return ss_node_fail(node, error, "\"%.60s\": %u is no multiple of %llu", text, counts[i],
                        (unsigned long long)parts);
  *out = counts[i] / parts;
  return (*out >= option->low && *out <= option->high) ||
         ss_node_fail(node, error, "\"%.60s\" is %llu here, not from %llu to %llu", text, (unsigned long long)*out,
                      (unsigned long long)option->low, (unsigned long long)option->high);
}

static bool read_option(struct ss_node node, const struct ss_option *option, const struct ss_setting *where,
                        uint64_t *out, double *real, struct ss_error *error) {
  size_t choice = 0;
  bool flag = false;
  switch (option->kind) {
  case SS_OPTION_CHOICE:
    if (!ss_node_choice(node, option->choices, &choice, error)) return false;
    *out = choice;
    return true;
  case SS_OPTION_FLAG:
    if (!ss_node_flag(node, &flag, error)) return false;
    *out = flag;
    return true;
  case SS_OPTION_COUNT:
    return ss_node_is_text(node) && isalpha((unsigned char)*node.at->valuestring)
               ? read_following(node, option, where, out, error)
               : ss_node_count(node, option->low, option->high, out, error);
  case SS_OPTION_REAL: return read_real(node, option, real, error);
  }
  return false;
}

const char *const ss_grains[] = {"row", "element", NULL}, *const ss_size_ways[] = {"free", "exchanged", NULL},
                  *const ss_ragged_ways[] = {"v", "broadcasts", "padded", NULL},
                  *const ss_hierarchies[] = {"none", "shard", "leader", "sparse-shard", NULL};
static const struct ss_field_spec common_fields[] = {SS_SETTING_FIELDS, {.name = NULL}};
static const struct ss_object_spec common_spec = {.field = common_fields};

bool ss_setting_read_common(struct ss_node node, struct ss_setting *out, struct ss_error *error) {
  if (!ss_node_is_object(node)) return true;
  out->sizes_said = out->sizes_said || ss_node_present(ss_node_get(node, "sizes"));
  out->ragged_said = out->ragged_said || ss_node_present(ss_node_get(node, "ragged"));
  return ss_object_read_known(&common_spec, node, out, error);
}

/* Some of its messages are longer than others, by what the data is: it is neither dense nor sends sketches, or nodes
 * sum lists before. */
static bool has_lengths(const struct ss_setting *setting) {
  return setting->hierarchy == SS_SPARSE_SHARD ||
         (!ss_setting_sends_dense(setting) && !ss_scheme_estimates(setting->scheme));
}

/* For what does not depend on the layout. */
static struct ss_traits traits_anywhere(const struct ss_setting *setting) {
  return ss_setting_traits(setting, (struct ss_layout){.ranks = 1, .nodes = 1, .per_node = 1});
}

/* And some of them are of gathers, or of exchanges of ranks with ranks: servers' are sends. */
static bool has_ways(const struct ss_setting *setting) {
  const struct ss_traits traits = traits_anywhere(setting);
  return setting->hierarchy == SS_SPARSE_SHARD || (has_lengths(setting) && !traits.sends && traits.servers == 0);
}

static const struct ss_field_spec option_kinds[] = {{NULL, NULL, SS_IS_TEXT},
                                                    {NULL, NULL, SS_IS_NUMBER},
                                                    {NULL, NULL, SS_IS_FLAG},
                                                    {.name = NULL}},
                                  an_option = {NULL, "an option of the scheme: `sparsync list schemes`",
                                               SS_IS_EITHER(option_kinds)};
static const struct ss_field_spec setting_fields[] = {
    {"name", NULL, SS_IS_NAME, .required = true},
    {"label", "what results call it", SS_IS_TEXT, .low = 1, .high = sizeof((struct ss_setting){0}.label) - 1},
    SS_SETTING_FIELDS,
    {.name = NULL}};
static const struct ss_object_spec setting_spec = {.name = "scheme",
                                                   .says = "a scheme and its options: `sparsync list schemes`",
                                                   .field = setting_fields,
                                                   .others = &an_option};
const struct ss_field_spec ss_setting_forms[] = {
    {NULL, NULL, SS_IS_NAME}, {NULL, NULL, SS_IS_OBJECT(&setting_spec)}, {.name = NULL}};

static bool read_label(struct ss_node node, struct ss_setting *out, struct ss_error *error) {
  const char *text;
  if (!ss_node_present(node)) return true;
  if (!ss_node_text(node, &text, error)) return false;
  if (!*text || strlen(text) >= sizeof out->label)
    return ss_node_fail(node, error, "a label has 1 to %zu bytes", sizeof out->label - 1);
  snprintf(out->label, sizeof out->label, "%s", text);
  return true;
}

void ss_setting_reset(struct ss_setting *setting) {
  const struct ss_option *options = setting->scheme->options;
  for (size_t i = 0; options && options[i].name; i++) {
    setting->value[i] = (uint64_t)options[i].default_value;
    setting->real[i] = options[i].default_value;
    setting->given[i] = false;
  }
}

/* Defaults, and what the name says behind its colon. */
static bool begin_setting(struct ss_node name, struct ss_setting *out, struct ss_error *error) {
  const char *text, *rest;
  if (!find_scheme(name, &out->scheme, error) || !ss_node_text(name, &text, error)) return false;
  if (strlen(text) >= sizeof out->label) return ss_node_fail(name, error, "a scheme's name is shorter");
  snprintf(out->label, sizeof out->label, "%s", text);
  ss_setting_reset(out);
  rest = strchr(text, ':');
  struct ss_error why;
  if (rest && !out->scheme->parse(rest + 1, out, &why)) return ss_node_fail(name, error, "%s", why.text);
  return true;
}

/* What the scheme itself says of messages of unlike lengths would do nothing where it has none, or sends them. */
static bool check_lengths(struct ss_node node, const struct ss_setting *setting, struct ss_error *error) {
  const struct ss_node sizes = ss_node_get(node, "sizes"), ragged = ss_node_get(node, "ragged");
  const bool told = ss_node_present(sizes) && setting->exchange_sizes,
             way = ss_node_present(ragged) && setting->ragged;
  if (way && has_lengths(setting) && !has_ways(setting))
    return ss_node_fail(ragged, error, "%s has no gathers and exchanges of ranks: leave it out", setting->label);
  if (!(told || way) || has_lengths(setting)) return true;
  return ss_node_fail(told ? sizes : ragged, error, "how long messages of %s are everybody knows: leave it out",
                      setting->label);
}

bool ss_setting_read(struct ss_node node, const struct ss_setting *defaults, struct ss_setting *out,
                     struct ss_error *error) {
  struct ss_node name = node;
  *out = *defaults;
  if (!ss_node_is_text(node) && !ss_node_is_object(node))
    return ss_node_fail(node, error, "a scheme is a name or an object with a \"name\"");
  if (ss_node_is_object(node) && !ss_node_need(node, "name", &name, error)) return false;
  if (!begin_setting(name, out, error)) return false;

  const struct ss_option *options = out->scheme->options;
  const char *known[SS_OPTIONS_MAX + sizeof setting_fields / sizeof *setting_fields] = {NULL};
  size_t n = 0;
  for (; setting_fields[n].name; n++) known[n] = setting_fields[n].name;
  for (size_t i = 0; options && options[i].name; i++) known[n++] = options[i].name;
  if (!ss_node_is_object(node)) return true;
  if (!ss_node_keys(node, known, error) || !read_label(ss_node_get(node, "label"), out, error)) return false;
  for (size_t i = 0; options && options[i].name; i++) {
    struct ss_node option = ss_node_get(node, options[i].name);
    if (!ss_node_present(option)) continue;
    if (out->given[i]) return ss_node_fail(option, error, "the scheme's name says it already");
    out->given[i] = true;
    if (!read_option(option, &options[i], out, &out->value[i], &out->real[i], error)) return false;
  }
  return ss_setting_read_common(node, out, error) && check_lengths(node, out, error);
}

/* --- what follows from a setting ------------------------------------------------------------------------ */

/* Number of the option; -1: the scheme has none of that name. */
static int number_of(const struct ss_scheme *scheme, const char *option) {
  for (int i = 0; scheme->options && scheme->options[i].name; i++)
    if (strcmp(scheme->options[i].name, option) == 0) return i;
  return -1;
}

const uint64_t *ss_setting_find(const struct ss_setting *setting, const char *option) {
  const int number = number_of(setting->scheme, option);
  return number < 0 ? NULL : &setting->value[number];
}

void ss_setting_choose(struct ss_setting *setting, const char *option, const char *choice) {
  const int number = number_of(setting->scheme, option);
  assert(number >= 0);
  const struct ss_option *o = &setting->scheme->options[number];
  uint64_t value = choice ? 0 : (uint64_t)o->default_value;
  while (choice && o->choices[value] && strcmp(o->choices[value], choice) != 0) value++;
  assert(!choice || o->choices[value]);
  setting->value[number] = value;
}

bool ss_setting_says(const struct ss_setting *setting, const char *option, const char *choice) {
  const int number = number_of(setting->scheme, option);
  return number >= 0 && strcmp(setting->scheme->options[number].choices[setting->value[number]], choice) == 0;
}

bool ss_setting_given(const struct ss_setting *setting, const char *option) {
  const int number = number_of(setting->scheme, option);
  return number >= 0 && setting->given[number];
}

bool ss_setting_sends_dense(const struct ss_setting *setting) {
  const uint64_t *dense = ss_setting_find(setting, "dense");
  return setting->scheme->content == SS_SENDS_DENSE || (dense && *dense);
}

/* Only rings are what a library has: an algorithm that is asked for goes by sends, which take any length. */
static bool asks_for_algorithm(const struct ss_setting *setting) {
  return ss_setting_given(setting, "algorithm") && !ss_setting_says(setting, "algorithm", "ring");
}

void ss_setting_fill(struct ss_setting *setting, const struct ss_setting *said) {
  if (said->sizes_said && !setting->sizes_said) setting->exchange_sizes = said->exchange_sizes;
  if (said->ragged_said && !setting->ragged_said) setting->ragged = said->ragged;
  setting->sizes_said = setting->sizes_said || said->sizes_said;
  setting->ragged_said = setting->ragged_said || said->ragged_said;
}

void ss_setting_settle(struct ss_setting *setting, const struct ss_library *library) {
  if (!has_lengths(setting)) { /* what is said of all schemes is not said of this one */
    setting->exchange_sizes = false;
    setting->ragged = SS_RAGGED_V;
    return;
  }
  const bool ways = has_ways(setting);
  if (!ways) setting->ragged = SS_RAGGED_V;
  if (library->kind == SS_NO_LIBRARY) return;
  if (!setting->sizes_said) setting->exchange_sizes = true;
  if (ways && !setting->ragged_said && library->kind == SS_NCCL && !asks_for_algorithm(setting))
    setting->ragged = SS_RAGGED_BROADCASTS;
  if (setting->exchange_sizes) setting->call = library->call;
}

struct ss_traits ss_setting_traits(const struct ss_setting *setting, struct ss_layout layout) {
  struct ss_traits traits = setting->scheme->traits;
  if (setting->scheme->adapt) setting->scheme->adapt(setting, layout, &traits);
  return traits;
}

bool ss_setting_coalesces(const struct ss_setting *setting) {
  return !traits_anywhere(setting).duplicates;
}

bool ss_setting_conserves(const struct ss_setting *setting) {
  return traits_anywhere(setting).conserves;
}

bool ss_setting_by_elements(const struct ss_setting *setting) {
  return ss_scheme_valued(setting->scheme) || (setting->element && !ss_scheme_model_parallel(setting->scheme));
}

/* Ranks and nodes as the scheme's own code sees them. */
static struct ss_layout inside(const struct ss_setting *setting, struct ss_layout layout) {
  return setting->hierarchy == SS_FLAT
             ? layout
             : (struct ss_layout){
                   .ranks = layout.nodes, .nodes = layout.nodes, .per_node = 1, .switch_sums = layout.switch_sums};
}

uint32_t ss_setting_servers(const struct ss_setting *setting, struct ss_layout layout) {
  const struct ss_layout in = inside(setting, layout);
  if (in.ranks == 1) return 0;
  return ss_setting_traits(setting, in).servers * ss_hierarchy_groups(setting->hierarchy, layout);
}

uint32_t ss_setting_rings(const struct ss_setting *setting, struct ss_layout layout) {
  const uint32_t rings = ss_setting_traits(setting, inside(setting, layout)).rings;
  return rings > 0 ? rings : 1;
}

uint64_t ss_setting_parts(const struct ss_setting *setting, struct ss_layout layout) {
  const uint64_t parts = ss_setting_traits(setting, inside(setting, layout)).parts;
  return (parts ? parts : 1) * ss_hierarchy_groups(setting->hierarchy, layout);
}

static bool check(const struct ss_setting *setting, struct ss_layout layout, struct ss_error *error) {
  const struct ss_scheme *scheme = setting->scheme;
  const uint32_t g = layout.per_node;
  if (setting->hierarchy && g < 2)
    return ss_fail(error, SS_BAD_INPUT,
                   "a hierarchy needs nodes of several GPUs; this cluster has one a node (cluster.gpus_per_node)");
  if (ss_hierarchy_groups(setting->hierarchy, layout) > 1 && layout.ranks > g && layout.ranks % g != 0)
    return ss_fail(error, SS_BAD_INPUT,
                   "hierarchy \"%s\" needs full nodes: %u ranks are not a multiple of %u GPUs a node (say "
                   "\"leader\", or %u ranks)",
                   ss_hierarchies[setting->hierarchy], layout.ranks, g, (layout.ranks / g + 1) * g);
  if (setting->hierarchy == SS_SPARSE_SHARD && ss_setting_sends_dense(setting))
    return ss_fail(error, SS_BAD_INPUT,
                   "hierarchy \"sparse-shard\" sums the rows that there are, and the whole tensor is sent: say "
                   "\"shard\"");
  if (scheme->check && !scheme->check(setting, inside(setting, layout), error)) return false;
  if (setting->ragged == SS_RAGGED_BROADCASTS && !ss_setting_sends_dense(setting) && asks_for_algorithm(setting))
    return ss_fail(error, SS_BAD_INPUT, "\"ragged\": \"broadcasts\" go along rings: leave it, or \"algorithm\", out");
  if (scheme->content == SS_SENDS_LARGEST && setting->given[SS_K] && setting->given[SS_DENSITY])
    return ss_fail(error, SS_BAD_INPUT, "\"k\" and \"density\" both say how many to select: give one");
  return true;
}

bool ss_setting_all_dense(const struct ss_setting *setting, struct ss_layout layout) {
  return ss_hierarchy_dense(setting->hierarchy) && layout.nodes == 1 && layout.ranks > 1;
}

bool ss_setting_check(const struct ss_setting *setting, struct ss_layout layout, struct ss_error *error) {
  return check(setting, layout, error) || ss_fail_prefix(error, "%s", setting->label);
}

void ss_part_for_every_rank(const struct ss_setting *setting, struct ss_layout layout, struct ss_traits *traits) {
  (void)setting;
  traits->parts = layout.ranks;
}

/* --- written in a line -------------------------------------------------------------------------------------- */

char *ss_setting_split(char *text) {
  char *equals = strchr(text, '='), *colon = NULL;
  for (char *c = text; equals && c < equals; c++)
    if (*c == ':') colon = c;
  if (!colon) return NULL; /* design:C/A/P is a name */
  *colon = '\0';
  return colon + 1;
}

bool ss_setting_set_options(struct ss_doc *doc, char *options, struct ss_error *error) {
  for (char *pair; options && (pair = strsep(&options, ","));) {
    char *equals = strchr(pair, '=');
    if (!equals || equals == pair)
      return ss_fail(error, SS_BAD_INPUT, "\"%s\" is not an option with its value (say zen:format=coo)", pair);
    *equals = '\0';
    if (ss_node_present(ss_node_get(ss_doc_root(doc), pair)))
      return ss_fail(error, SS_BAD_INPUT, "%s: given twice", pair);
    if (!ss_doc_set(doc, pair, equals + 1, error)) return false;
  }
  return true;
}

/* --- JSON ----------------------------------------------------------------------------------------------- */

cJSON *ss_setting_own_json(const struct ss_setting *s, bool all) {
  cJSON *o = cJSON_CreateObject();
  for (size_t i = 0; s->scheme->options && s->scheme->options[i].name; i++) {
    const struct ss_option *option = &s->scheme->options[i];
    if (!s->given[i] && (!all || option->kind == SS_OPTION_COUNT || s->value[i] < option->low)) continue;
    switch (option->kind) {
    case SS_OPTION_CHOICE: cJSON_AddStringToObject(o, option->name, option->choices[s->value[i]]); break;
    case SS_OPTION_FLAG: cJSON_AddBoolToObject(o, option->name, s->value[i] != 0); break;
    case SS_OPTION_COUNT: cJSON_AddNumberToObject(o, option->name, (double)s->value[i]); break;
    case SS_OPTION_REAL: cJSON_AddNumberToObject(o, option->name, s->real[i]); break;
    }
  }
  return o;
}

cJSON *ss_setting_json(const struct ss_setting *s) {
  cJSON *options = ss_setting_own_json(s, true);
  ss_json_add(options, SS_N("index_bytes", s->index_bytes), SS_T("granularity", ss_grains[s->element]),
              SS_T("sizes", ss_size_ways[s->exchange_sizes]));
  if (s->ragged) cJSON_AddStringToObject(options, "ragged", ss_ragged_ways[s->ragged]);
  cJSON_AddStringToObject(options, "hierarchy", ss_hierarchies[s->hierarchy]);
  return options;
}
/* SPDX-License-Identifier: Apache-2.0 */
