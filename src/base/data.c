#include "base/data.h"

#include "base/list.h"
#include "places.h"

#include "base/memory.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* B of a model's file, at most. */
enum { MODEL_BYTES = 4 << 20 };

static bool has_models(const char *root) {
  char path[PATH_MAX];
  struct stat status;
  int n = snprintf(path, sizeof path, "%s/models", root);
  return n > 0 && (size_t)n < sizeof path && stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

/* The folder that holds models/. */
static bool find_root(char *root, size_t size, struct ss_error *error) {
  const char *told = getenv("SPARSYNC_DATA");
  if (told && *told) {
    if (has_models(told) && strlen(told) < size) {
      snprintf(root, size, "%s", told);
      return true;
    }
    return ss_fail(error, SS_BAD_INPUT, "SPARSYNC_DATA: \"%s\" has no folder models/", told);
  }
  ssize_t n = readlink("/proc/self/exe", root, size - 1);
  if (n > 0) {
    root[n] = '\0';
    for (char *slash = strrchr(root, '/'); slash && slash != root; slash = strrchr(root, '/')) {
      *slash = '\0';
      if (has_models(root)) return true;
    }
  }
  static const char *const known[] = {SS_SOURCE_DATA, SS_INSTALLED_DATA};
  for (size_t i = 0; i < 2; i++) {
    if (!has_models(known[i])) continue;
    snprintf(root, size, "%s", known[i]);
    return true;
  }
  return ss_fail(error, SS_BAD_INPUT, "no folder models/ above the program nor in %s (set SPARSYNC_DATA)",
                 SS_INSTALLED_DATA);
}

/* Where files of a kind are: figures are scenarios, all else models. */
static const char *folder_of(const char *kind) {
  return strcmp(kind, "figures") == 0 ? "scenarios" : "models";
}

static int by_name(const void *a, const void *b) {
  return strcmp(*(char *const *)a, *(char *const *)b);
}

struct listing {
  char *text; /* names, one after the other */
  size_t used, capacity, count;
};

static bool append(struct listing *l, const char *name, size_t length) {
  if (!ss_grow(l->text, l->capacity, l->used + length + 1)) return false;
  memcpy(l->text + l->used, name, length);
  l->text[l->used + length] = '\0';
  l->used += length + 1;
  l->count++;
  return true;
}

/* Pointers first, then the text they point to: one block, one free(). */
static char **pack(const struct listing *l) {
  char **names = ss_alloc(1, (l->count + 1) * sizeof *names + l->used + 1);
  if (!names) return NULL;
  char *text = (char *)(names + l->count + 1);
  if (l->used) memcpy(text, l->text, l->used);
  for (size_t i = 0; i < l->count; i++, text += strlen(text) + 1) names[i] = text;
  names[l->count] = NULL;
  qsort(names, l->count, sizeof *names, by_name);
  return names;
}

bool ss_data_path(const char *relative, char *path, size_t size, struct ss_error *error) {
  char root[PATH_MAX / 2];
  if (!find_root(root, sizeof root, error)) return false;
  const int n = snprintf(path, size, "%s/%s", root, relative);
  return (n >= 0 && (size_t)n < size) || ss_fail(error, SS_BAD_INPUT, "%.40s...: the name is too long", relative);
}

bool ss_data_list_in(const char *relative, char ***names, size_t *count, struct ss_error *error) {
  char folder[PATH_MAX];
  struct listing l = {0};
  bool ok = true;
  if (!ss_data_path(relative, folder, sizeof folder, error)) return false;
  DIR *dir = opendir(folder);
  for (struct dirent *entry; dir && ok && (entry = readdir(dir));) {
    size_t length = strlen(entry->d_name);
    if (length > 5 && strcmp(entry->d_name + length - 5, ".json") == 0) ok = append(&l, entry->d_name, length - 5);
  }
  if (dir) closedir(dir);
  *names = ok ? pack(&l) : NULL;
  *count = l.count;
  free(l.text);
  return *names ? true : ss_fail_memory(error, "listing models");
}

bool ss_data_list(const char *kind, char ***names, size_t *count, struct ss_error *error) {
  char relative[PATH_MAX / 4];
  snprintf(relative, sizeof relative, "%s/%s", folder_of(kind), kind);
  return ss_data_list_in(relative, names, count, error);
}

static bool fail_unknown(const char *kind, const char *name, struct ss_error *error) {
  char **names, all[600] = "";
  size_t count;
  if (!ss_data_list(kind, &names, &count, error)) return false;
  for (size_t i = 0, used = 0; i < count && used < sizeof all - 1; i++)
    used += (size_t)snprintf(all + used, sizeof all - used, "%s%s", i ? ", " : "", names[i]);
  ss_fail(error, SS_BAD_INPUT, "no file %s/%s/%s.json%s (there are: %s; or give a path)", folder_of(kind), kind, name,
          ss_suggest(name, (const char *const *)names, NULL).text, all);
  free(names);
  return false;
}

bool ss_data_find(const char *kind, const char *name, char *path, size_t size, struct ss_error *error) {
  char root[PATH_MAX / 2];
  struct stat status;
  size_t length = strlen(name);
  bool is_path = strchr(name, '/') || (length > 5 && strcmp(name + length - 5, ".json") == 0);
  if (is_path) {
    if (length >= size) return ss_fail(error, SS_BAD_INPUT, "%.40s...: the path is too long", name);
    snprintf(path, size, "%s", name);
    return true;
  }
  if (!find_root(root, sizeof root, error)) return false;
  int n = snprintf(path, size, "%s/%s/%s/%s.json", root, folder_of(kind), kind, name);
  if (n < 0 || (size_t)n >= size) return ss_fail(error, SS_BAD_INPUT, "%.40s...: the name is too long", name);
  return stat(path, &status) == 0 || fail_unknown(kind, name, error);
}

void ss_data_locate(const char *name, const char *base, char *path, size_t size) {
  static const char *const steps[] = {"", "../"};
  snprintf(path, size, "%s", name);
  if (access(path, F_OK) == 0 || name[0] == '/' || !base) return;
  const char *slash = strrchr(base, '/');
  for (size_t i = 0; i < 2; i++) {
    char there[PATH_MAX];
    snprintf(there, sizeof there, "%.*s%s%s", slash ? (int)(slash - base + 1) : 0, base, steps[i], name);
    if (access(there, F_OK) != 0) continue;
    snprintf(path, size, "%s", there);
    return;
  }
}

static bool read_model(const char *found, const char *base, struct ss_doc **out, struct ss_error *error) {
  char path[PATH_MAX];
  ss_data_locate(found, base, path, sizeof path);
  return ss_doc_read(path, MODEL_BYTES, out, error);
}

bool ss_data_open(const char *kind, const char *name, const char *base, struct ss_doc **out, struct ss_error *error) {
  char found[PATH_MAX];
  return ss_data_find(kind, name, found, sizeof found, error) && read_model(found, base, out, error);
}

bool ss_data_open_node(const char *kind, struct ss_node node, const char *base, struct ss_doc **out,
                       struct ss_error *error) {
  const char *name;
  char found[PATH_MAX], where[300];
  if (!ss_node_text(node, &name, error)) return false;
  if (!ss_data_find(kind, name, found, sizeof found, error))
    return ss_fail_prefix(error, "%s: %s", ss_doc_name(node.doc), ss_node_path(node, where, sizeof where));
  return read_model(found, base, out, error);
}

bool ss_data_file(const char *relative, char *path, size_t size, struct ss_error *error) {
  char whole[PATH_MAX], found[PATH_MAX];
  if (!ss_data_path(relative, whole, sizeof whole, error)) return false;
  if (!realpath(whole, found) || strlen(found) >= size)
    return ss_fail(error, SS_BAD_INPUT, "no file %s (set SPARSYNC_DATA)", whole);
  snprintf(path, size, "%s", found);
  return true;
}
