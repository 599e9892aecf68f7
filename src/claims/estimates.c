#include "claims/estimates.h"

#include "learn/optimizers.h"
#include "query/field.h"
#include "tensor/hash.h"
#include "tensor/sketch.h"

/* --- what is open ---------------------------------------------------------------------------------------------- */

/* A number that no paper prints. */
struct open_input {
  const char *request; /* of such a request; NULL: of what may have a trace and schemes */
  const char *path;    /* there; a "*" is any index of a list */
  const char *input;   /* in words */
  double usual;        /* where it is not said; NaN: then there is none */
  double most;         /* it makes no sense above */
  bool whole;          /* a count, of at least 1 */
  double beside_0;     /* tried in place of twice 0 */
  bool odd;            /* 1 becomes 3 and 5: a median of an even number is a mean of two */
};

static const char any_skew[] = SS_CLAIM_FACTOR "skew";
static const struct open_input open_inputs[] = {
    {"learn", "lr", "learning rate", .usual = 0, .most = INFINITY},
    {"hash", "probes", "hashes of Algorithm 1", .usual = NAN, .most = SS_HASH_PROBES, .whole = true},
    {"train", any_skew, "skew of drawn rows (exponents; hot sets' rows, inversely)", .usual = 1, .most = INFINITY},
    {NULL, "schemes.*.hashes", "hashes of S2's sketch", .usual = 1, .most = SS_SKETCH_HASHES, .whole = true,
     .odd = true},
    {NULL, "trace.synth.zipf", "exponent of Zipf's law", .usual = 1, .most = 20, .beside_0 = 1},
    {NULL, "trace.synth.hot", "share of lookups in the hot set", .usual = NAN, .most = 1},
    {NULL, "trace.synth.hot_rows", "size of the hot set", .usual = NAN, .most = UINT32_MAX, .whole = true},
    {NULL, "trace.gradient.rho", "how alike ranks' gradients are", .usual = 0.5, .most = 1},
    {NULL, "trace.gradient.sigma", "how unlike layers' gradients are", .usual = 1, .most = INFINITY},
    {.path = NULL}};

/* Where an open input stands in a request, and its number. */
struct place {
  char path[SS_CLAIM_PATH];
  double value;
};

/* What a scheme says of it; NaN: it is none that has hashes. */
static double hashes_of(const cJSON *scheme, double usual) {
  const cJSON *name = ss_json_get(scheme, "name"), *said = ss_json_get(scheme, "hashes");
  if (!cJSON_IsString(name) || strcmp(name->valuestring, "s2") != 0) return NAN;
  return cJSON_IsNumber(said) ? said->valuedouble : usual;
}

static double rate_of(const cJSON *learning) {
  const cJSON *optimizer = ss_json_get(learning, "optimizer");
  for (int kind = SS_SGD; kind <= SS_ADAM; kind++)
    if (cJSON_IsString(optimizer) && strcmp(optimizer->valuestring, ss_optimizer_names[kind]) == 0)
      return ss_optimizer_rate((enum ss_optimizer_kind)kind);
  return ss_optimizer_rate(SS_ADAGRAD);
}

/* Layers that are one cannot be unlike: what would tell them apart scales all alike. */
static bool means_nothing(const struct open_input *open, const cJSON *asked) {
  const cJSON *layers = ss_field_at(asked, "trace.gradient.layers");
  return strcmp(open->path, "trace.gradient.sigma") == 0 && cJSON_IsNumber(layers) && layers->valuedouble == 1;
}

/* What is said at the path, in what is set or asked; else what is usual, if the object that would say it is there. */
static double said_at(const struct open_input *open, const cJSON *set, const cJSON *asked) {
  const cJSON *said = ss_json_get(set, open->path);
  double value;
  char parent[SS_CLAIM_PATH];
  if (strncmp(open->path, "trace.synth.", 12) == 0 && ss_field_at(asked, "trace.synth.like")) return NAN;
  if (!said) said = ss_field_at(asked, open->path);
  if (cJSON_IsNumber(said)) return said->valuedouble;
  if (cJSON_IsString(said)) return ss_units_parse(said->valuestring, SS_RATIO, &value, NULL) ? value : NAN;
  if (strcmp(open->path, "lr") == 0) return rate_of(asked);
  const char *dot = strrchr(open->path, '.');
  snprintf(parent, sizeof parent, "%.*s", dot ? (int)(dot - open->path) : 0, open->path);
  return !dot || ss_field_at(asked, parent) || ss_json_get(set, parent) ? open->usual : NAN;
}

/* Where the request has it: place[<= SS_CLAIM_CHANGES]; returns in how many places. */
static size_t find_places(const struct open_input *open, struct ss_node request, struct place *place) {
  static const char *const kinds[] = {"run", "stats", "learn"};
  const cJSON *asked = open->request ? ss_json_get(request.at, open->request) : NULL,
              *set = ss_json_get(request.at, "set");
  for (size_t i = 0; !open->request && !asked && i < sizeof kinds / sizeof *kinds; i++)
    asked = ss_json_get(request.at, kinds[i]);
  size_t count = 0;
  if (!asked || means_nothing(open, asked)) return 0;
  if (strncmp(open->path, SS_CLAIM_FACTOR, strlen(SS_CLAIM_FACTOR)) == 0) {
    snprintf(place->path, sizeof place->path, "%s", open->path);
    place->value = open->usual;
    return 1;
  }
  if (!strchr(open->path, '*')) {
    snprintf(place->path, sizeof place->path, "%s", open->path);
    place->value = said_at(open, set, asked);
    return isfinite(place->value) ? 1 : 0;
  }
  const cJSON *list = ss_json_get(asked, "schemes");
  size_t index = 0;
  for (const cJSON *s = list ? list->child : NULL; s && count < SS_CLAIM_CHANGES; s = s->next, index++) {
    place[count].value = hashes_of(s, open->usual);
    if (isnan(place[count].value)) continue;
    snprintf(place[count++].path, sizeof place->path, "schemes.%zu.hashes", index);
  }
  return count;
}

/* Half or twice the number, as far as that makes sense. */
static double times(const struct open_input *open, double value, double factor) {
  if (open->odd && value == 1) return factor > 1 ? 5 : 3;
  double other = value == 0 && factor > 1 ? open->beside_0 : fmin(value * factor, open->most);
  return open->whole ? fmax(floor(other), 1) : other;
}

/* --- fields ---------------------------------------------------------------------------------------------------- */

#define PART(member) SS_STORED(struct ss_tried_estimate, member)
static const struct ss_field_spec estimate_fields[] = {
    {"input", "in words", SS_IS_TEXT, .required = true, PART(of.input)},
    {"set",
     "a path of what is asked, or a name in let; scale.NAME: a factor on all that a training's scenario has of it",
     SS_IS_TEXT, .required = true, PART(path)},
    {"of", "the inputs that have it; absent: a name in let", SS_IS_LIST(&ss_name_field, 0, 0), PART(names)},
    {"value", NULL, SS_IS_ABOVE_0, .required = true, PART(of.value)},
    {"halved", "(half)", SS_IS_ABOVE_0, PART(of.halved)},
    {"doubled", "(twice)", SS_IS_ABOVE_0, PART(of.doubled)},
    SS_SPEC_NOTES,
    {.name = NULL}};
const struct ss_object_spec ss_estimate_fields = {.name = "estimated", .field = estimate_fields};

/* "set" with "of": a path of those inputs; without: a value of "let". */
static bool read_estimate(struct ss_node node, struct ss_estimates *e, struct ss_error *error) {
  struct ss_tried_estimate *said = &e->estimate[e->count++];
  if (!ss_object_read(&ss_estimate_fields, node, said, error)) return false;
  if (said->of.halved == 0) said->of.halved = said->of.value / 2;
  if (said->of.doubled == 0) said->of.doubled = said->of.value * 2;
  said->of.factor = strncmp(said->path, SS_CLAIM_FACTOR, strlen(SS_CLAIM_FACTOR)) == 0;
  said->value = said->of.value;
  return true;
}

/* --- what hangs on what ---------------------------------------------------------------------------------------- */

/* Is the name a word of some text there? */
static bool mentions(const cJSON *at, const char *name) {
  static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
  const size_t length = strlen(name);
  for (const cJSON *child = at ? at->child : NULL; child; child = child->next)
    if (mentions(child, name)) return true;
  for (const char *text = at && cJSON_IsString(at) ? at->valuestring : ""; *text;) {
    const size_t word = strspn(text, letters);
    if (word == length && strncmp(text, name, length) == 0) return true;
    text += word ? word : 1;
  }
  return false;
}

bool ss_estimates_touch(struct ss_node claim, struct ss_node value) {
  const char *name = ss_node_key(value);
  if (mentions(ss_node_get(claim, "ours").at, name) || mentions(ss_node_get(claim, "order").at, name)) return true;
  for (struct ss_node n = ss_node_next(value); ss_node_present(n); n = ss_node_next(n))
    if (mentions(n.at, name) && ss_estimates_touch(claim, n)) return true;
  return false;
}

/* --- reading --------------------------------------------------------------------------------------------------- */

/* A claim's own list, or the one of that name in the file's "estimates". */
static bool find_list(const struct ss_claims_file *file, struct ss_node claim, struct ss_node *out,
                      struct ss_error *error) {
  const char *name;
  *out = ss_node_get(claim, "estimated");
  if (!ss_node_is_text(*out)) return true;
  if (!ss_node_text(*out, &name, error)) return false;
  const struct ss_node list = ss_node_get(file->estimates, name);
  if (!ss_node_present(list)) return ss_node_fail(*out, error, "no list of \"estimates\" is called \"%s\"", name);
  *out = list;
  return true;
}

static bool named(struct ss_node names, const char *name) {
  for (struct ss_node n = ss_node_first(names); ss_node_present(n); n = ss_node_next(n))
    if (ss_node_is_text(n) && strcmp(n.at->valuestring, name) == 0) return true;
  return false;
}

/* Is it tried already, or said to be no estimate? */
static bool settled(const struct ss_claims_file *file, const struct ss_estimates *e, struct ss_node input,
                    const struct open_input *open, double value) {
  for (const struct ss_tried_estimate *one = e->estimate; one < e->estimate + e->count; one++)
    if (strcmp(one->path, open->path) == 0 &&
        (one->open ? one->of.value == value : named(one->names, ss_node_key(input))))
      return true;
  return ss_node_present(ss_node_get(ss_node_get(file->given, ss_node_key(input)), open->path));
}

static bool add_open(const struct ss_claims_file *file, struct ss_node input, const struct open_input *open,
                     struct ss_estimates *e, struct ss_error *error) {
  struct place place[SS_CLAIM_CHANGES];
  const size_t places = find_places(open, input, place);
  for (size_t i = 0; i < places; i++) {
    const double value = place[i].value, half = times(open, value, 0.5), twice = times(open, value, 2);
    if (settled(file, e, input, open, value) || half == twice) continue;
    if (e->count == SS_CLAIM_ESTIMATES)
      return ss_node_fail(input, error, "a claim that asks for it has more than %d estimated inputs",
                          SS_CLAIM_ESTIMATES);
    e->estimate[e->count++] = (struct ss_tried_estimate){.of = {.input = open->input,
                                                                .value = value,
                                                                .halved = half,
                                                                .doubled = twice,
                                                                .factor = strcmp(open->path, any_skew) == 0},
                                                         .path = open->path,
                                                         .open = true,
                                                         .value = value};
  }
  return true;
}

/* Of what the claim asks. What is wrong with an input is told when it is asked. */
static bool add_all_open(const struct ss_claims_file *file, struct ss_node claim, struct ss_estimates *e,
                         struct ss_error *error) {
  const struct ss_node let = ss_node_get(claim, "let");
  for (struct ss_node n = ss_node_first(let); ss_node_present(n); n = ss_node_next(n)) {
    const struct ss_node from = ss_node_get(n, "from");
    struct ss_node input;
    struct ss_error ignored;
    if (!ss_node_present(from) || !ss_estimates_touch(claim, n) ||
        !ss_request_named(file->inputs, from, &input, &ignored))
      continue;
    for (const struct open_input *open = open_inputs; open->path; open++)
      if (!add_open(file, input, open, e, error)) return false;
  }
  return true;
}

bool ss_estimates_read(const struct ss_claims_file *file, struct ss_node node, bool open, struct ss_estimates *out,
                       struct ss_error *error) {
  struct ss_node list;
  out->count = 0;
  if (!find_list(file, node, &list, error)) return false;
  if (ss_node_present(list) && (!ss_node_is_array(list) || ss_node_size(list) > SS_CLAIM_ESTIMATES))
    return ss_node_fail(list, error, "expected a list of at most %d estimated inputs", SS_CLAIM_ESTIMATES);
  for (struct ss_node n = ss_node_first(list); ss_node_present(n); n = ss_node_next(n))
    if (!read_estimate(n, out, error)) return false;
  return !open || add_all_open(file, node, out, error);
}

static bool check_given_path(struct ss_node input, struct ss_node path, struct ss_error *error) {
  struct place place[SS_CLAIM_CHANGES];
  const char *reason;
  if (!ss_node_text(path, &reason, error)) return false;
  for (const struct open_input *open = open_inputs; open->path; open++)
    if (strcmp(open->path, ss_node_key(path)) == 0 && find_places(open, input, place) > 0) return true;
  return ss_node_fail(path, error, "nothing of that name is open in this input");
}

bool ss_estimates_check_given(const struct ss_claims_file *file, struct ss_error *error) {
  for (struct ss_node n = ss_node_first(file->given); ss_node_present(n); n = ss_node_next(n)) {
    const struct ss_node input = ss_node_get(file->inputs, ss_node_key(n));
    if (!ss_node_present(input)) return ss_node_fail(n, error, "no input is called \"%s\"", ss_node_key(n));
    for (struct ss_node path = ss_node_first(n); ss_node_present(path); path = ss_node_next(path))
      if (!check_given_path(input, path, error)) return false;
  }
  return true;
}

/* --- what they make of inputs ---------------------------------------------------------------------------------- */

static void add_change(struct ss_estimates_changes *out, const char *path, double value) {
  if (out->count < SS_CLAIM_CHANGES) out->change[out->count++] = (struct ss_query_change){path, value};
}

static void change_open(const struct ss_tried_estimate *e, struct ss_node input, struct ss_estimates_changes *out) {
  struct place place[SS_CLAIM_CHANGES];
  for (const struct open_input *open = open_inputs; open->path; open++) {
    if (open->path != e->path) continue;
    const size_t places = find_places(open, input, place);
    for (size_t i = 0; i < places && out->count < SS_CLAIM_CHANGES; i++) {
      if (place[i].value != e->of.value) continue;
      memcpy(out->path[out->count], place[i].path, sizeof place[i].path);
      add_change(out, out->path[out->count], e->value);
    }
  }
}

/* A factor of 1 changes nothing, and what is open stands there: claims with other estimates then still share what is
 * computed. */
void ss_estimates_change(const struct ss_estimates *estimates, struct ss_node input,
                         struct ss_estimates_changes *out) {
  out->count = 0;
  for (const struct ss_tried_estimate *e = estimates->estimate; e < estimates->estimate + estimates->count; e++) {
    if ((e->of.factor || e->open) && e->value == e->of.value) continue;
    if (e->open) change_open(e, input, out);
    else if (named(e->names, ss_node_key(input))) add_change(out, e->path, e->value);
  }
}

const double *ss_estimates_value(const struct ss_estimates *e, const char *name) {
  for (const struct ss_tried_estimate *one = e->estimate; one < e->estimate + e->count; one++)
    if (!one->open && !ss_node_present(one->names) && strcmp(one->path, name) == 0) return &one->value;
  return NULL;
}
/* SPDX-License-Identifier: Apache-2.0 */
