#include "study/store.h"

#include "base/csv.h"
#include "base/file.h"
#include "base/temporary.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* --- FILE -------------------------------------------------------------------------------------------------- */

/* What the cell of a table says: null, a verdict, a number or a text. */
static cJSON *typed(const char *text) {
  char *end;
  const double value = strtod(text, &end);
  if (!*text) return cJSON_CreateNull();
  if (strcmp(text, "true") == 0 || strcmp(text, "false") == 0) return cJSON_CreateBool(*text == 't');
  return *end == '\0' && isfinite(value) ? cJSON_CreateNumber(value) : cJSON_CreateString(text);
}

/* A table as ss_table_csv writes it. Of links and kernels ("kernels.top_k.s") only JSON has all. */
static bool parse_csv(const char *path, const struct ss_mapping *file, struct ss_doc **out, struct ss_error *error) {
  struct ss_csv csv;
  cJSON *list = cJSON_CreateArray();
  bool more = true, ok = ss_csv_open_text(&csv, path, file->data, file->size, false, error) &&
                         ss_csv_head(&csv, &more, error) && (list || ss_fail_memory(error, "reading results"));
  while (ok && (ok = ss_csv_next(&csv, &more, error)) && more) {
    cJSON *row = cJSON_CreateObject();
    cJSON_AddItemToArray(list, row);
    for (size_t i = 0; i < csv.width; i++)
      if (!strchr(csv.head[i], '.')) cJSON_AddItemToObject(row, csv.head[i], typed(ss_csv_text(&csv, i)));
  }
  ss_csv_close(&csv);
  if (ok) return ss_doc_adopt(path, ss_json_object(SS_J("points", list)), out, error);
  cJSON_Delete(list);
  return false;
}

static bool check_results(struct ss_doc *doc, struct ss_error *error) {
  const struct ss_node points = ss_node_get(ss_doc_root(doc), "points");
  if (!ss_node_is_array(points))
    return ss_fail(error, SS_BAD_INPUT, "%s: not what \"sparsync run\" writes as json or csv", ss_doc_name(doc));
  for (struct ss_node n = ss_node_first(points); ss_node_present(n); n = ss_node_next(n))
    if (!ss_node_is_object(n)) return ss_node_fail(n, error, "a point is an object");
  return true;
}

bool ss_results_read(const char *path, struct ss_doc **out, struct ss_error *error) {
  static const char head[] = "scheme,label,";
  SS_AUTO_DOC struct ss_doc *doc = NULL;
  struct ss_mapping file;
  if (!ss_map_file(path, &file, error)) return false;
  bool ok = file.size <= SS_RESULTS_BYTES ||
            ss_fail(error, SS_BAD_INPUT, "%s: larger than %d bytes", path, SS_RESULTS_BYTES);
  const bool csv = file.size >= sizeof head - 1 && memcmp(file.data, head, sizeof head - 1) == 0;
  ok = ok && (csv ? parse_csv(path, &file, &doc, error) : ss_doc_read(path, SS_RESULTS_BYTES, &doc, error));
  ss_unmap_file(&file);
  if (!ok || !check_results(doc, error)) return false;
  *out = doc;
  doc = NULL;
  return true;
}

/* --- what is known ---------------------------------------------------------------------------------------- */

/* The store owns the document from here on. */
static bool add_known(struct ss_store *s, struct ss_doc *doc, struct ss_identity key, struct ss_error *error) {
  if (!ss_grow_by_one(s->known, s->count) || !ss_grow_by_one(s->keyed, s->count)) {
    ss_doc_free(doc);
    return ss_fail_memory(error, "reading results");
  }
  s->known[s->count] = doc;
  s->keyed[s->count] = (struct ss_keyed){key, s->count};
  s->count++;
  return true;
}

static bool read_line(struct ss_store *s, const char *name, const char *text, size_t length, struct ss_error *error) {
  struct ss_doc *doc;
  struct ss_identity key;
  bool ok = ss_doc_parse(name, text, length, &doc, error);
  if (ok && !ss_result_read_identity(ss_doc_root(doc), &key)) {
    ok = ss_node_fail(ss_doc_root(doc), error, "not a point of \"sparsync run\"");
    ss_doc_free(doc);
  }
  return ok ? add_known(s, doc, key, error)
            : ss_fail(error, error->status, "%s (remove the file to begin anew)", error->text);
}

/* Lines up to the last that is whole, and where that ends. */
static bool read_lines(struct ss_store *s, const struct ss_mapping *file, size_t *end, struct ss_error *error) {
  const uint8_t *line;
  *end = 0; /* of an empty file nothing is mapped: no pointer to count from */
  while (*end < file->size && (line = memchr(file->data + *end, '\n', file->size - *end))) {
    SS_AUTO_FREE char *name = NULL;
    const size_t begin = *end;
    *end = (size_t)(line + 1 - file->data);
    if (asprintf(&name, "%s: line %zu", s->path, ++s->points) < 0) return ss_fail_memory(error, "reading results");
    if (!read_line(s, name, (const char *)file->data + begin, *end - 1 - begin, error)) return false;
  }
  return true;
}

static size_t count_lines(const struct ss_mapping *file) {
  size_t n = 0;
  for (size_t i = 0; i < file->size; i++) n += file->data[i] == '\n';
  return n;
}

/* What FILE holds. A point without an identity can be no one's: "*" is a sum that is made again. */
static bool read_output(struct ss_store *s, const char *path, struct ss_error *error) {
  struct stat info;
  SS_AUTO_DOC struct ss_doc *all = NULL;
  if (stat(path, &info) != 0 || info.st_size == 0) return true;
  if (!ss_results_read(path, &all, error)) return ss_fail_prefix(error, "--resume");
  ss_input_release(path);
  cJSON *points = ss_node_get(ss_doc_root(all), "points").at;
  for (cJSON *point; (point = cJSON_DetachItemFromArray(points, 0));) {
    struct ss_doc *doc;
    struct ss_identity key;
    if (!ss_doc_adopt(path, point, &doc, error)) return false;
    if (!ss_result_read_identity(ss_doc_root(doc), &key)) ss_doc_free(doc);
    else if (!add_known(s, doc, key, error)) return false;
  }
  return true;
}

/* --- life ------------------------------------------------------------------------------------------------- */

static bool fail_write(const struct ss_store *s, struct ss_error *error) {
  return ss_fail(error, SS_MACHINE, "%s: cannot write: %s", s->path, strerror(errno ? errno : EIO));
}

static bool open_file(struct ss_store *s, struct ss_error *error) {
  const int descriptor = open(s->path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
  if (descriptor < 0) return fail_write(s, error);
  /* A file system without locks is no reason to stop. */
  if (flock(descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    close(descriptor);
    return ss_fail(error, SS_BAD_INPUT, "%s: another run is writing it (choose another -o)", s->path);
  }
  s->stream = fdopen(descriptor, "r+");
  if (s->stream) return true;
  close(descriptor);
  return ss_fail_memory(error, "opening a store");
}

static bool read_known(struct ss_store *s, const char *path, bool resume, size_t *dropped, struct ss_error *error) {
  struct ss_mapping file;
  size_t end = 0;
  if (!ss_map_file(s->path, &file, error)) return false;
  const bool ok = !resume || read_lines(s, &file, &end, error);
  *dropped = resume ? 0 : count_lines(&file);
  ss_unmap_file(&file);
  if (!ok || (resume && !read_output(s, path, error))) return false;
  ss_keyed_sort(s->keyed, s->count);
  if (ftruncate(fileno(s->stream), (off_t)end) != 0 || fseeko(s->stream, (off_t)end, SEEK_SET) != 0)
    return fail_write(s, error);
  return true;
}

static void free_store(struct ss_store *s) {
  if (s->stream) fclose(s->stream);
  for (size_t i = 0; i < s->count; i++) ss_doc_free(s->known[i]);
  free(s->known);
  free(s->keyed);
  free(s->path);
  free(s);
}

bool ss_store_open(const char *path, bool resume, bool links, struct ss_store **out, size_t *dropped,
                   struct ss_error *error) {
  struct stat info;
  struct ss_store *s = ss_alloc_zero(1, sizeof *s);
  if (!s || asprintf(&s->path, "%s.partial", path) < 0) {
    free(s);
    return ss_fail_memory(error, "opening a store");
  }
  s->links = links;
  const bool fresh = access(s->path, F_OK) != 0;
  if (fresh) ss_temporary_add(s->path); /* until it has a point */
  if (open_file(s, error) && read_known(s, path, resume, dropped, error)) {
    if (!fresh && ftello(s->stream) == 0) ss_temporary_add(s->path);
    *out = s;
    return true;
  }
  ss_temporary_forget(s->path);
  /* what could not be read stays as it is, for its owner to look at */
  if (s->stream && fstat(fileno(s->stream), &info) == 0 && info.st_size == 0) (void)unlink(s->path);
  free_store(s);
  return false;
}

void ss_store_close(struct ss_store *s, bool keep) {
  if (s->points == 0) ss_temporary_forget(s->path);
  if (!keep || s->points == 0) (void)unlink(s->path); /* while it is locked: nobody else's */
  free_store(s);
}

/* --- results ---------------------------------------------------------------------------------------------- */

/* Of a CSV file no result has links or arrays. */
static bool has_all(const struct ss_store *s, struct ss_node node, const struct ss_run_options *options,
                    const struct ss_result *r) {
  return (!s->links || ss_node_present(ss_node_get(node, "links"))) && (!options->per_iteration || r->iteration_s) &&
         (!options->per_rank || (r->rank_sent && r->rank_received));
}

static void free_numbers(double **numbers) {
  free(*numbers);
  *numbers = NULL;
}

/* Of what was read only the arrays that are asked for. */
static void keep(const struct ss_run_options *options, struct ss_result *r) {
  if (!options->per_iteration) free_numbers(&r->iteration_s);
  if (!options->per_rank) free_numbers(&r->rank_sent), free_numbers(&r->rank_received);
}

bool ss_store_recall(const struct ss_store *s, const struct ss_run_options *options, struct ss_result *r, bool *known,
                     struct ss_error *error) {
  const struct ss_keyed *found = ss_keyed_find(s->keyed, s->count, r->identity);
  *known = false;
  if (!found) return true;
  const struct ss_node node = ss_doc_root(s->known[found->index]);
  struct ss_result read = *r;
  if (!ss_result_read(node, &read, error)) return false;
  *known = read.exact != SS_NO && ss_result_untouched(node, &read) && has_all(s, node, options, &read);
  if (!*known) ss_result_free_arrays(&read); /* it is computed again: nothing of what was read stays */
  else keep(options, &read), *r = read;
  return true;
}

/* For tests of what stops in the middle: SPARSYNC_HOLD=N stops this process once its store has N points, until a
 * signal lets it go on. */
static void hold(const struct ss_store *s) {
  const char *points = getenv("SPARSYNC_HOLD");
  if (points && strtoull(points, NULL, 10) == s->points) (void)raise(SIGSTOP);
}

bool ss_store_add(struct ss_store *s, const struct ss_result *result, struct ss_error *error) {
  SS_AUTO_JSON cJSON *object = ss_result_json(result);
  SS_AUTO_FREE char *text = object ? ss_json_exact(object, false) : NULL;
  if (!text) return ss_fail_memory(error, "keeping a point");
  errno = 0;
  if (s->points == 0) ss_temporary_forget(s->path);
  if (fprintf(s->stream, "%s\n", text) < 0 || fflush(s->stream) != 0) return fail_write(s, error);
  s->points++;
  hold(s);
  return true;
}
/* SPDX-License-Identifier: Apache-2.0 */
