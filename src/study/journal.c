#include "study/journal.h"

#include "base/file.h"
#include "base/json_text.h"
#include "base/list.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

struct ss_journal {
  char *path;
  FILE *stream;
  size_t points; /* that the file holds */
  bool links;    /* are wanted */
  struct ss_doc **doc;
  size_t docs;
  struct ss_keyed *known; /* [count] sorted; the journal's come before the result's */
  struct ss_node *node;   /* [count] by index */
  size_t count;
};

/* --- what is known ---------------------------------------------------------------------------------------- */

/* The journal owns the document from here on. */
static bool add_doc(struct ss_journal *j, struct ss_doc *doc, struct ss_error *error) {
  if (!ss_grow_by_one(j->doc, j->docs)) {
    ss_doc_free(doc);
    return ss_fail_memory(error, "reading results");
  }
  j->doc[j->docs++] = doc;
  return true;
}

/* A point without an identity can be no one's: "*" is a sum that is made again. */
static bool add_known(struct ss_journal *j, struct ss_node node, struct ss_error *error) {
  struct ss_keyed known = {.index = j->count};
  if (!ss_result_read_identity(node, &known.key)) return true;
  if (!ss_grow_by_one(j->known, j->count) || !ss_grow_by_one(j->node, j->count))
    return ss_fail_memory(error, "reading results");
  j->node[j->count] = node;
  j->known[j->count++] = known;
  return true;
}

static bool read_line(struct ss_journal *j, size_t number, const char *text, size_t length, struct ss_error *error) {
  char *name;
  struct ss_doc *doc;
  struct ss_identity identity;
  if (asprintf(&name, "%s: line %zu", j->path, number) < 0) return ss_fail_memory(error, "reading results");
  bool ok = ss_doc_parse(name, text, length, &doc, error);
  free(name);
  if (ok && !ss_result_read_identity(ss_doc_root(doc), &identity)) {
    ok = ss_node_fail(ss_doc_root(doc), error, "not a point of \"sparsync run\"");
    ss_doc_free(doc);
  }
  if (!ok)
    return ss_fail(error, error ? error->status : SS_BAD_INPUT, "%s (remove the file to begin anew)",
                   error ? error->text : "");
  return add_doc(j, doc, error) && add_known(j, ss_doc_root(doc), error);
}

/* Lines up to the last that is whole, and where that ends. */
static bool read_lines(struct ss_journal *j, const struct ss_mapping *file, size_t *end, struct ss_error *error) {
  size_t number = 1;
  const uint8_t *line;
  *end = 0; /* of an empty file nothing is mapped: no pointer to count from */
  for (; *end < file->size && (line = memchr(file->data + *end, '\n', file->size - *end)); number++) {
    const size_t begin = *end;
    *end = (size_t)(line + 1 - file->data);
    if (!read_line(j, number, (const char *)file->data + begin, *end - 1 - begin, error)) return false;
    j->points++;
  }
  return true;
}

static size_t count_lines(const struct ss_mapping *file) {
  size_t n = 0;
  for (size_t i = 0; i < file->size; i++) n += file->data[i] == '\n';
  return n;
}

static bool read_result(struct ss_journal *j, const char *path, struct ss_error *error) {
  struct stat info;
  struct ss_doc *doc;
  if (stat(path, &info) != 0 || info.st_size == 0) return true;
  if (!ss_results_read(path, &doc, error)) return ss_fail_prefix(error, "--resume");
  ss_input_release(path);
  if (!add_doc(j, doc, error)) return false;
  const struct ss_node points = ss_node_get(ss_doc_root(doc), "points");
  for (struct ss_node n = ss_node_first(points); ss_node_present(n); n = ss_node_next(n))
    if (!add_known(j, n, error)) return false;
  return true;
}

/* --- life ------------------------------------------------------------------------------------------------- */

static bool fail_write(const struct ss_journal *j, struct ss_error *error) {
  return ss_fail(error, SS_MACHINE, "%s: cannot write: %s", j->path, strerror(errno ? errno : EIO));
}

static bool open_file(struct ss_journal *j, struct ss_error *error) {
  const int descriptor = open(j->path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
  if (descriptor < 0) return fail_write(j, error);
  /* A file system without locks is no reason to stop. */
  if (flock(descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    close(descriptor);
    return ss_fail(error, SS_BAD_INPUT, "%s: another run is writing it (choose another -o)", j->path);
  }
  j->stream = fdopen(descriptor, "r+");
  if (j->stream) return true;
  close(descriptor);
  return ss_fail_memory(error, "opening a journal");
}

static bool read_known(struct ss_journal *j, const char *path, bool resume, size_t *dropped, struct ss_error *error) {
  struct ss_mapping file;
  size_t end = 0;
  *dropped = 0;
  if (!ss_map_file(j->path, &file, error)) return false;
  bool ok = true;
  if (!resume) *dropped = count_lines(&file);
  else ok = read_lines(j, &file, &end, error);
  ss_unmap_file(&file);
  if (!ok || (resume && !read_result(j, path, error))) return false;
  ss_keyed_sort(j->known, j->count);
  if (ftruncate(fileno(j->stream), (off_t)end) != 0 || fseeko(j->stream, (off_t)end, SEEK_SET) != 0)
    return fail_write(j, error);
  return true;
}

static void free_journal(struct ss_journal *j) {
  if (j->stream) fclose(j->stream);
  for (size_t i = 0; i < j->docs; i++) ss_doc_free(j->doc[i]);
  free(j->doc);
  free(j->known);
  free(j->node);
  free(j->path);
  free(j);
}

static void remove_empty(const struct ss_journal *j) {
  struct stat info;
  if (fstat(fileno(j->stream), &info) == 0 && info.st_size == 0) (void)unlink(j->path);
}

/* What could not be written when all is done is better known at once. */
static bool check_folder(const char *path, struct ss_error *error) {
  if (access(path, F_OK) != 0 || access(path, W_OK) == 0) return true;
  return ss_fail(error, SS_MACHINE, "%s: cannot write: %s", path, strerror(errno));
}

bool ss_journal_open(const char *path, bool resume, bool links, struct ss_journal **out, size_t *dropped,
                     struct ss_error *error) {
  if (!check_folder(path, error)) return false;
  struct ss_journal *j = ss_alloc_zero(1, sizeof *j);
  if (!j || asprintf(&j->path, "%s.partial", path) < 0) {
    free(j);
    return ss_fail_memory(error, "opening a journal");
  }
  j->links = links;
  if (open_file(j, error) && read_known(j, path, resume, dropped, error)) {
    *out = j;
    return true;
  }
  if (j->stream) remove_empty(j); /* what could not be read stays as it is, for its owner to look at */
  free_journal(j);
  return false;
}

void ss_journal_close(struct ss_journal *j, bool keep) {
  if (!j) return;
  if (!keep || j->points == 0) (void)unlink(j->path); /* while it is locked: nobody else's */
  free_journal(j);
}

const char *ss_journal_path(const struct ss_journal *j) {
  return j->path;
}

size_t ss_journal_points(const struct ss_journal *j) {
  return j->points;
}

/* --- points ----------------------------------------------------------------------------------------------- */

/* Of a CSV file no result has links or arrays. */
static bool has_all(const struct ss_journal *j, struct ss_node node, const struct ss_run_options *options,
                    const struct ss_result *p) {
  return (!j->links || ss_node_present(ss_node_get(node, "links"))) && (!options->per_iteration || p->iteration_s) &&
         (!options->per_rank || (p->rank_sent && p->rank_received));
}

static void free_numbers(double **numbers) {
  free(*numbers);
  *numbers = NULL;
}

bool ss_journal_recall(struct ss_journal *j, const struct ss_run_options *options, struct ss_result *point,
                       bool *known, struct ss_error *error) {
  const struct ss_keyed *found = ss_keyed_find(j->known, j->count, point->identity);
  *known = false;
  if (!found || !ss_result_alike(j->node[found->index], point)) return true;
  const struct ss_node node = j->node[found->index];
  if (!ss_result_read(node, true, true, point, error)) return false;
  *known = point->exact != SS_NO && ss_result_untouched(node, point) && has_all(j, node, options, point);
  if (!*known || !options->per_iteration) free_numbers(&point->iteration_s);
  if (!*known || !options->per_rank) free_numbers(&point->rank_sent), free_numbers(&point->rank_received);
  return true;
}

/* For tests of what stops in the middle: SPARSYNC_HOLD=N stops this process once its journal has N points, until a
 * signal lets it go on. */
static void hold(const struct ss_journal *j) {
  const char *points = getenv("SPARSYNC_HOLD");
  if (points && strtoull(points, NULL, 10) == j->points) (void)raise(SIGSTOP);
}

bool ss_journal_add(struct ss_journal *j, const struct ss_result *point, struct ss_error *error) {
  cJSON *object = ss_result_json(point);
  SS_AUTO_FREE char *text = object ? ss_json_exact(object, false) : NULL;
  cJSON_Delete(object);
  if (!text) return ss_fail_memory(error, "keeping a point");
  errno = 0;
  if (fprintf(j->stream, "%s\n", text) < 0 || fflush(j->stream) != 0) return fail_write(j, error);
  j->points++;
  hold(j);
  return true;
}
