/* What claims are computed from: a command's JSON, or a kernel of ZEN's hashing. */
#include "claims/claims.h"

#include "base/data.h"
#include "base/list.h"
#include "base/memory.h"
#include "cli/commands.h"
#include "tensor/hash.h"

#include <assert.h>
#include <cjson/cJSON.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ARGUMENTS_MAX = 64, NUMBER_TEXT = 32 };

void ss_claims_cache_free(struct ss_claims_cache *cache) {
  for (size_t i = 0; i < cache->count; i++) {
    free(cache->made[i].key);
    ss_doc_free(cache->made[i].doc);
  }
  free(cache->made);
  *cache = (struct ss_claims_cache){0};
}

static bool named(struct ss_node names, const char *name) {
  for (struct ss_node n = ss_node_first(names); ss_node_present(n); n = ss_node_next(n))
    if (ss_node_is_text(n) && strcmp(n.at->valuestring, name) == 0) return true;
  return false;
}

/* --- commands ----------------------------------------------------------------------------------------------- */

/* "{root}/traces/x" becomes a file of the data folder; anything else stands. The text is the caller's. */
static char *from_root(const char *text, struct ss_error *error) {
  static const char mark[] = "{root}/";
  char path[PATH_MAX];
  if (strncmp(text, mark, sizeof mark - 1) == 0) {
    if (!ss_data_path(text + sizeof mark - 1, path, sizeof path, error)) return NULL;
    text = path;
  }
  char *copy = strdup(text);
  if (!copy) ss_fail_memory(error, "reading claims");
  return copy;
}

struct arguments {
  char *text[ARGUMENTS_MAX];
  size_t count;
};

static void free_arguments(struct arguments *a) {
  for (size_t i = 0; i < a->count; i++) free(a->text[i]);
}

static bool add_argument(struct arguments *a, struct ss_node place, const char *text, struct ss_error *error) {
  if (a->count == ARGUMENTS_MAX) return ss_node_fail(place, error, "more than %d arguments", ARGUMENTS_MAX);
  a->text[a->count] = from_root(text, error);
  if (!a->text[a->count]) return false;
  a->count++;
  return true;
}

/* The scenario in a file of its own, its trace found from the data folder. */
static bool write_scenario(struct ss_node scenario, char *path, size_t size, struct ss_error *error) {
  const char *folder = getenv("TMPDIR");
  cJSON *copy = cJSON_Duplicate(scenario.at, 1), *trace = cJSON_GetObjectItemCaseSensitive(copy, "trace");
  char *where = cJSON_IsString(trace) ? from_root(trace->valuestring, error) : NULL;
  if (cJSON_IsString(trace) && !where) {
    cJSON_Delete(copy);
    return false;
  }
  if (where) cJSON_ReplaceItemInObjectCaseSensitive(copy, "trace", cJSON_CreateString(where));
  free(where);
  char *text = cJSON_PrintUnformatted(copy);
  cJSON_Delete(copy);
  if (!text) return ss_fail_memory(error, "reading claims");
  const int length = snprintf(path, size, "%s/sparsync-claim-XXXXXX", folder && folder[0] ? folder : "/tmp");
  const int handle = length > 0 && (size_t)length < size ? mkstemp(path) : -1;
  const size_t bytes = strlen(text);
  const bool ok = handle >= 0 && write(handle, text, bytes) == (ssize_t)bytes;
  if (handle >= 0 && close(handle) == 0 && !ok) unlink(path);
  free(text);
  return ok || ss_fail(error, SS_MACHINE, "cannot write a temporary file in %s", folder ? folder : "/tmp");
}

/* Whether the change is made in this input. A factor of 1 changes nothing: claims with other estimates then still
 * share what is computed. */
static bool changes_input(const struct ss_claim_change *change, struct ss_node input) {
  const bool factor = change->path && strncmp(change->path, SS_CLAIM_FACTOR, strlen(SS_CLAIM_FACTOR)) == 0;
  return named(change->names, ss_node_key(input)) && !(factor && change->value == 1);
}

/* A path of a scenario becomes --set PATH=VALUE, an option stays one. */
static bool add_change(struct arguments *a, struct ss_node place, const struct ss_claim_change *change,
                       struct ss_error *error) {
  char text[512];
  assert(change->path);
  if (strncmp(change->path, "--", 2) == 0) {
    snprintf(text, sizeof text, "%.17g", change->value);
    return add_argument(a, place, change->path, error) && add_argument(a, place, text, error);
  }
  snprintf(text, sizeof text, "%s=%.17g", change->path, change->value);
  return add_argument(a, place, "--set", error) && add_argument(a, place, text, error);
}

static bool add_jobs(struct arguments *a, struct ss_node place, unsigned jobs, struct ss_error *error) {
  char text[NUMBER_TEXT];
  if (a->count == 0 || (strcmp(a->text[0], "run") != 0 && strcmp(a->text[0], "train") != 0)) return true;
  snprintf(text, sizeof text, "%u", jobs);
  return add_argument(a, place, "--quiet", error) &&
         (!jobs || (add_argument(a, place, "--jobs", error) && add_argument(a, place, text, error)));
}

/* Commands that compute and print: what writes files or runs claims again has no place here. */
static bool allowed(struct ss_node command, struct ss_error *error) {
  static const char *const commands[] = {"run", "plan", "cost", "check", "train", "trace", NULL};
  static const char *const measures[] = {"stats", "info", NULL};
  struct ss_node first = ss_node_first(command);
  size_t choice;
  if (!ss_node_is_array(command) || !ss_node_present(first))
    return ss_node_fail(command, error, "expected a command and its arguments, say [\"run\"]");
  if (!ss_node_choice(first, commands, &choice, error)) return false;
  if (strcmp(commands[choice], "trace") != 0) return true;
  struct ss_node second = ss_node_next(first);
  if (!ss_node_present(second)) return ss_node_fail(command, error, "trace needs to be told what: stats or info");
  return ss_node_choice(second, measures, &choice, error);
}

static bool collect(struct arguments *a, struct ss_node input, const struct ss_claim_change *changes, size_t count,
                    unsigned jobs, struct ss_error *error) {
  struct ss_node command;
  if (!ss_node_need(input, "command", &command, error) || !allowed(command, error)) return false;
  for (struct ss_node n = ss_node_first(command); ss_node_present(n); n = ss_node_next(n)) {
    const char *text;
    if (!ss_node_text(n, &text, error)) return false;
    if (ss_command_writes(text)) return ss_node_fail(n, error, "\"%s\": a claim's commands write nothing", text);
    if (!add_argument(a, n, text, error)) return false;
  }
  for (size_t i = 0; i < count; i++)
    if (changes_input(&changes[i], input) && !add_change(a, input, &changes[i], error)) return false;
  return add_jobs(a, input, jobs, error);
}

static bool run_command(struct ss_node input, const struct ss_claim_change *changes, size_t count, unsigned jobs,
                        struct ss_doc **out, struct ss_error *error) {
  static const char *const keys[] = {"command", "scenario", "notes", NULL};
  struct ss_node scenario = ss_node_get(input, "scenario");
  struct arguments a = {0};
  char path[PATH_MAX] = "";
  if (!ss_node_keys(input, keys, error)) return false;
  bool ok = collect(&a, input, changes, count, jobs, error);
  if (ok && ss_node_present(scenario))
    ok = write_scenario(scenario, path, sizeof path, error) && add_argument(&a, scenario, path, error);
  ok = ok && ss_command_json((const char *const *)a.text, a.count, out, error);
  if (path[0]) unlink(path);
  free_arguments(&a);
  return ok;
}

/* --- kernels ------------------------------------------------------------------------------------------------ */

enum { ROWS_MAX = 1 << 26 };

struct hashing {
  uint64_t nnz, parts, slots, probes; /* slots of all parts together, per row that is hashed */
  double per_row;
};

static bool need_count(struct ss_node node, const char *key, uint64_t high, uint64_t *out, struct ss_error *error) {
  struct ss_node member;
  return ss_node_need(node, key, &member, error) && ss_node_count(member, 1, high, out, error);
}

/* Rows 0..nnz-1: which ones they are makes no difference to a hash. Two results: the share of rows that is lost, and
 * the share that goes to serial memory. */
static bool play_hash(const struct hashing *h, bool lossy, double share[2], struct ss_error *error) {
  SS_AUTO_FREE uint32_t *rows = ss_alloc(h->nnz, sizeof *rows), *placed = ss_alloc(h->nnz, sizeof *placed);
  SS_AUTO_FREE uint64_t *offsets = ss_alloc(h->parts + 1, sizeof *offsets);
  struct ss_hash_tally tally = {0};
  if (!rows || !placed || !offsets) return ss_fail_memory(error, "hashing");
  for (uint64_t i = 0; i < h->nnz; i++) rows[i] = (uint32_t)i;
  const struct ss_hash_memory memory = {.seed = 1,
                                        .parts = (uint32_t)h->parts,
                                        .probes = (uint32_t)h->probes,
                                        .parallel_slots = lossy ? h->slots / h->parts : h->slots,
                                        .serial_slots = h->nnz * h->parts};
  const struct ss_hash_input in = {.rows = rows, .count = h->nnz};
  const struct ss_hash_output out = {.rows = placed, .offsets = offsets};
  if (!(lossy ? ss_hash_lossy(&memory, &in, &out, error) : ss_hash_hierarchical(&memory, &in, &out, &tally, error)))
    return false;
  share[0] = 1 - (double)offsets[h->parts] / (double)h->nnz;
  share[1] = (double)tally.serial / (double)h->nnz;
  return true;
}

static bool hash_document(const double share[2], struct ss_doc **out, struct ss_error *error) {
  if (!ss_doc_empty("hash", out, error)) return false;
  if (ss_doc_set_item(*out, "lost", cJSON_CreateNumber(share[0]), error) &&
      ss_doc_set_item(*out, "serial", cJSON_CreateNumber(share[1]), error))
    return true;
  ss_doc_free(*out);
  *out = NULL;
  return false;
}

static bool run_hash(struct ss_node input, const struct ss_claim_change *changes, size_t count, struct ss_doc **out,
                     struct ss_error *error) {
  static const char *const keys[] = {"hash", "nnz", "parts", "slots_per_row", "probes", "notes", NULL};
  static const char *const kernels[] = {"lossy", "hierarchical", NULL};
  struct hashing h = {.probes = 1};
  struct ss_node slots;
  size_t kernel;
  double share[2];
  if (!ss_node_keys(input, keys, error) || !ss_node_choice(ss_node_get(input, "hash"), kernels, &kernel, error) ||
      !need_count(input, "nnz", ROWS_MAX, &h.nnz, error) || !need_count(input, "parts", 1024, &h.parts, error) ||
      !ss_node_need(input, "slots_per_row", &slots, error) ||
      !ss_node_positive(slots, SS_NUMBER, &h.per_row, error) ||
      (kernel == 1 && !need_count(input, "probes", SS_HASH_PROBES, &h.probes, error)))
    return false;
  for (size_t i = 0; i < count; i++)
    if (named(changes[i].names, ss_node_key(input))) h.per_row = changes[i].value;
  if (h.per_row > 1024) return ss_node_fail(slots, error, "more than 1024 slots a row");
  h.slots = (uint64_t)(h.per_row * (double)h.nnz);
  return play_hash(&h, kernel == 0, share, error) && hash_document(share, out, error);
}

/* --- the cache ---------------------------------------------------------------------------------------------- */

/* The input as it stands with what is changed in it: alike means alike results. */
static char *make_key(struct ss_node input, const struct ss_claim_change *changes, size_t count) {
  char *text = cJSON_PrintUnformatted(input.at), *key = NULL;
  size_t size = text ? strlen(text) + 1 : 0;
  for (size_t i = 0; i < count; i++) size += strlen(changes[i].path) + NUMBER_TEXT;
  if (text) key = ss_alloc(size, 1);
  size_t used = key ? (size_t)snprintf(key, size, "%s", text) : 0;
  for (size_t i = 0; key && i < count; i++)
    if (changes_input(&changes[i], input))
      used += (size_t)snprintf(key + used, size - used, " %s=%.17g", changes[i].path, changes[i].value);
  free(text);
  return key;
}

static struct ss_doc *find_made(const struct ss_claims_cache *cache, const char *key) {
  for (size_t i = 0; i < cache->count; i++)
    if (strcmp(cache->made[i].key, key) == 0) return cache->made[i].doc;
  return NULL;
}

/* The document and the key are the cache's from then on. */
static bool keep(struct ss_claims_cache *cache, struct ss_claims_made made, struct ss_error *error) {
  if (!ss_grow_by_one(cache->made, cache->count)) {
    free(made.key);
    ss_doc_free(made.doc);
    return ss_fail_memory(error, "judging claims");
  }
  cache->made[cache->count++] = made;
  return true;
}

static bool make(struct ss_node input, const struct ss_claim_change *changes, size_t count, unsigned jobs,
                 struct ss_doc **out, struct ss_error *error) {
  const bool hash = ss_node_present(ss_node_get(input, "hash"));
  if (hash ? run_hash(input, changes, count, out, error) : run_command(input, changes, count, jobs, out, error))
    return true;
  char place[256];
  return ss_fail_prefix(error, "%s: %s", ss_doc_name(input.doc), ss_node_path(input, place, sizeof place));
}

bool ss_claims_input(struct ss_claims_cache *cache, const struct ss_claims_file *file, struct ss_node from,
                     const struct ss_claim_change *changes, size_t count, struct ss_doc **out,
                     struct ss_error *error) {
  const char *name, *names[256] = {NULL};
  if (!ss_node_text(from, &name, error)) return false;
  struct ss_node input = ss_node_get(file->inputs, name);
  size_t known = 0;
  for (struct ss_node n = ss_node_first(file->inputs); ss_node_present(n) && known < 255; n = ss_node_next(n))
    names[known++] = ss_node_key(n);
  if (!ss_node_present(input))
    return ss_node_fail(from, error, "no input is called \"%s\"%s", name, ss_suggest(name, names, NULL).text);
  char *key = make_key(input, changes, count);
  if (!key) return ss_fail_memory(error, "judging claims");
  *out = find_made(cache, key);
  if (!*out && make(input, changes, count, cache->jobs, out, error))
    return keep(cache, (struct ss_claims_made){key, *out}, error);
  free(key);
  return *out != NULL;
}
