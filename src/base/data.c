#include "base/data.h"

#include "places.h"

#include <dirent.h>
#include <dlfcn.h>
#include <sys/stat.h>
#include <unistd.h>

/* B of a model's file, at most. */
enum { MODEL_BYTES = 4 << 20 };
/* Folders above a shared library that may be its prefix. */
enum { LIBRARY_DEPTH = 5 };

static bool has_models(const char *root) {
  char path[PATH_MAX];
  struct stat status;
  int n = snprintf(path, sizeof path, "%s/models", root);
  return n > 0 && (size_t)n < sizeof path && stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

/* The file that this code was loaded from, where that is a shared library; false: it is part of the program. */
static bool library_file(char *path) {
  Dl_info info;
  if (!dladdr((const void *)&ss_data_root, &info) || !info.dli_fname) return false;
  const char *slash = strrchr(info.dli_fname, '/');
  return strstr(slash ? slash : info.dli_fname, ".so") && realpath(info.dli_fname, path);
}

static bool program_file(char *path) {
  const ssize_t n = readlink("/proc/self/exe", path, PATH_MAX - 1);
  if (n > 0) path[n] = '\0';
  return n > 0;
}

/* The folder of the library that was loaded, else of the program that runs; false: nobody says. */
static bool program_folder(char *folder, size_t size, bool *library) {
  char path[PATH_MAX];
  *library = library_file(path);
  if ((!*library && !program_file(path)) || snprintf(folder, size, "%s", path) >= (int)size) return false;
  char *slash = strrchr(folder, '/');
  if (slash) *slash = '\0';
  return slash != NULL;
}

/* share/sparsync beside the folder, as bin/ is; a library may lie deeper (lib/python3/site-packages/sparsync), and
 * its prefix is then some folder above. */
static bool installed_share(const char *folder, bool library, char *share, size_t size) {
  char above[PATH_MAX];
  snprintf(above, sizeof above, "%s", folder);
  for (int steps = library ? LIBRARY_DEPTH : 1; steps > 0; steps--) {
    char *slash = strrchr(above, '/');
    if (!slash) return false;
    *slash = '\0';
    if (snprintf(share, size, "%s/share/sparsync", above) < (int)size && has_models(share)) return true;
  }
  return false;
}

/* Where the program was built, and not installed from there: its source tree. A checkout that was moved is found
 * above the program. */
static const char *source_tree(const char *program, char *buffer, size_t size) {
  const size_t n = strlen(SS_BUILD_FOLDER);
  if (strncmp(program, SS_BUILD_FOLDER, n) == 0 && (program[n] == '/' || program[n] == '\0')) return SS_SOURCE_DATA;
  char path[PATH_MAX];
  snprintf(buffer, size, "%s", program);
  for (char *slash = strrchr(buffer, '/'); slash && slash != buffer; slash = strrchr(buffer, '/')) {
    *slash = '\0';
    if (snprintf(path, sizeof path, "%s/meson.build", buffer) < (int)sizeof path && access(path, F_OK) == 0)
      return buffer;
  }
  return NULL;
}

/* The folder that holds models/, and in words why that. Data belong to the program that is run: what another checkout
 * holds is never read. */
bool ss_data_root(char *root, size_t size, const char **why, struct ss_error *error) {
  const char *told = getenv("SPARSYNC_DATA");
  if (told && *told) {
    *why = "SPARSYNC_DATA";
    if (has_models(told) && snprintf(root, size, "%s", told) < (int)size) return true;
    return ss_fail(error, SS_BAD_INPUT, "SPARSYNC_DATA: \"%s\" has no folder models/", told);
  }
  char program[PATH_MAX / 2] = "", beside[PATH_MAX] = "", above[PATH_MAX / 2];
  bool library = false;
  const bool known =
      program_folder(program, sizeof program, &library) && installed_share(program, library, beside, sizeof beside);
  const struct {
    const char *folder, *why;
  } candidates[] = {{known ? beside : NULL, library ? "beside the library" : "beside the program"},
                    {source_tree(program, above, sizeof above), "the source tree of this build"},
                    {SS_INSTALLED_DATA, "where the program was to be installed"}};
  for (size_t i = 0; i < sizeof candidates / sizeof *candidates; i++) {
    char real[PATH_MAX];
    if (!candidates[i].folder || !has_models(candidates[i].folder) || !realpath(candidates[i].folder, real) ||
        snprintf(root, size, "%s", real) >= (int)size)
      continue;
    *why = candidates[i].why;
    return true;
  }
  return ss_fail(error, SS_BAD_INPUT, "no folder models/ in share/sparsync beside %s, nor in %s (set SPARSYNC_DATA)",
                 program, SS_INSTALLED_DATA);
}

/* Where files of a kind are. */
static void folder_of(const char *kind, char *folder, size_t size) {
  if (strcmp(kind, "scenarios") == 0) snprintf(folder, size, "scenarios");
  else snprintf(folder, size, "%s/%s", strcmp(kind, "figures") == 0 ? "scenarios" : "models", kind);
}

/* "NAME.json" */
static int is_json(const struct dirent *entry) {
  const size_t length = strlen(entry->d_name);
  return length > 5 && strcmp(entry->d_name + length - 5, ".json") == 0;
}

/* Pointers first, then the text they point to: one block, one free(). */
static char **pack(struct dirent *const *entry, size_t count) {
  size_t bytes = 0;
  for (size_t i = 0; i < count; i++) bytes += strlen(entry[i]->d_name) + 1;
  char **names = ss_alloc(1, (count + 1) * sizeof *names + bytes);
  if (!names) return NULL;
  char *text = (char *)(names + count + 1);
  for (size_t i = 0; i < count; i++) {
    names[i] = text;
    text += snprintf(text, bytes, "%.*s", (int)strlen(entry[i]->d_name) - 5, entry[i]->d_name) + 1;
  }
  names[count] = NULL;
  (void)ss_sort_texts((const char **)names, count);
  return names;
}

bool ss_data_path(const char *relative, char *path, size_t size, struct ss_error *error) {
  char root[PATH_MAX / 2];
  const char *why;
  if (!ss_data_root(root, sizeof root, &why, error)) return false;
  const int n = snprintf(path, size, "%s/%s", root, relative);
  return (n >= 0 && (size_t)n < size) || ss_fail(error, SS_BAD_INPUT, "%.40s...: the name is too long", relative);
}

bool ss_data_list_in(const char *relative, char ***names, size_t *count, struct ss_error *error) {
  char folder[PATH_MAX];
  struct dirent **entry = NULL;
  if (!ss_data_path(relative, folder, sizeof folder, error)) return false;
  const int found = scandir(folder, &entry, is_json, NULL);
  if (found < 0 && errno == ENOMEM) return ss_fail_memory(error, "listing models");
  *count = found > 0 ? (size_t)found : 0;
  *names = pack(entry, *count);
  for (size_t i = 0; i < *count; i++) free(entry[i]);
  free(entry);
  return *names || ss_fail_memory(error, "listing models");
}

bool ss_data_list(const char *kind, char ***names, size_t *count, struct ss_error *error) {
  char relative[PATH_MAX / 4];
  folder_of(kind, relative, sizeof relative);
  return ss_data_list_in(relative, names, count, error);
}

/* A kind under which there is a file of that name; NULL: none. */
static const char *other_kind(const char *name) {
  static const char *const kinds[] = {"scenarios", "figures", "clusters", "devices", "workloads", "systems", "costs"};
  char relative[PATH_MAX / 4], folder[64], path[PATH_MAX];
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    folder_of(kinds[i], folder, sizeof folder);
    if (snprintf(relative, sizeof relative, "%s/%s.json", folder, name) < (int)sizeof relative &&
        ss_data_path(relative, path, sizeof path, NULL) && access(path, F_OK) == 0)
      return kinds[i];
  }
  return NULL;
}

static bool fail_unknown(const char *kind, const char *name, struct ss_error *error) {
  SS_AUTO_FREE char **names = NULL;
  char all[600], folder[64];
  size_t count;
  if (!ss_data_list(kind, &names, &count, error)) return false;
  folder_of(kind, folder, sizeof folder);
  struct stat status;
  if (stat(name, &status) == 0 && S_ISREG(status.st_mode))
    return ss_fail(error, SS_BAD_INPUT, "%.300s is a file, but no .json%s", name,
                   strcmp(kind, "clusters") == 0 ? ": of measured times `sparsync calibrate network` makes a cluster"
                                                 : "");
  const struct ss_suggestion near = ss_suggest(name, (const char *const *)names, NULL);
  if (count == 0) return ss_fail(error, SS_BAD_INPUT, "no file %s/%s.json: give a path", folder, name);
  const int n = snprintf(all, sizeof all, "there are: ");
  ss_words_join((const char *const *)names, ", ", all + n, sizeof all - (size_t)n);
  if (strlen(all) + 1 == sizeof all) snprintf(all, sizeof all, "sparsync list %s shows what there is", kind);
  const char *other = other_kind(name);
  if (other)
    return ss_fail(error, SS_BAD_INPUT, "\"%s\" is one of the %s, and one of the %s is wanted (%s; or give a path)",
                   name, other, kind, all);
  const char *several = !strchr(name, ',')              ? ""
                        : strcmp(kind, "clusters") == 0 ? ": one alone; run and plan take several"
                                                        : ": one alone";
  return ss_fail(error, SS_BAD_INPUT, "no file %s/%s.json%s%s (%s; or give a path)", folder, name, several, near.text,
                 all);
}

bool ss_data_find(const char *kind, const char *name, char *path, size_t size, struct ss_error *error) {
  char relative[PATH_MAX / 4], folder[64];
  struct stat status;
  size_t length = strlen(name);
  const bool figure = strcmp(kind, "figures") == 0; /* whose names have no dot */
  bool is_path = strchr(name, '/') || strcmp(name, "-") == 0 || (figure && strchr(name, '.')) ||
                 (length > 5 && strcmp(name + length - 5, ".json") == 0);
  if (is_path) {
    if (length >= size) return ss_fail(error, SS_BAD_INPUT, "%.40s...: the path is too long", name);
    snprintf(path, size, "%s", name);
    return true;
  }
  folder_of(kind, folder, sizeof folder);
  if (snprintf(relative, sizeof relative, "%s/%s.json", folder, name) >= (int)sizeof relative)
    return ss_fail(error, SS_BAD_INPUT, "%.40s...: the name is too long", name);
  if (!ss_data_path(relative, path, size, error)) return false;
  if (stat(path, &status) == 0) return true;
  if (snprintf(path, size, "%s.json", name) < (int)size && stat(path, &status) == 0)
    return ss_fail(error, SS_BAD_INPUT, "no file %s (but %s is here: say ./%s)", relative, path, path);
  return fail_unknown(kind, name, error);
}

bool ss_data_scenario(const char *name, char *path, size_t size, struct ss_error *error) {
  char shipped[PATH_MAX];
  const char *found = name, *dot = strrchr(name, '.');
  if (dot && strcmp(dot, ".safetensors") == 0)
    return ss_fail(error, SS_BAD_INPUT, "%.300s is a trace, not a scenario: say --trace %.300s", name, name);
  if (strcmp(name, "-") != 0 && access(name, F_OK) != 0) {
    if (!strchr(name, '/') && !strchr(name, '.')) return ss_data_find("scenarios", name, path, size, error);
    if (name[0] != '/' && ss_data_path(name, shipped, sizeof shipped, NULL) && access(shipped, F_OK) == 0)
      found = shipped;
    else if (errno == ENOENT) {
      SS_AUTO_FREE char **names = NULL;
      char all[600];
      size_t count;
      if (!ss_data_list("scenarios", &names, &count, error)) return false;
      return ss_fail(error, SS_BAD_INPUT, "%.300s: cannot open: %s (a scenario is a .json file, or one of %s)", name,
                     strerror(ENOENT), ss_words_join((const char *const *)names, ", ", all, sizeof all));
    }
  }
  return snprintf(path, size, "%s", found) < (int)size ||
         ss_fail(error, SS_BAD_INPUT, "%.40s...: the path is too long", name);
}

void ss_data_locate(const char *name, const char *base, char *path, size_t size) {
  static const char *const steps[] = {"", "../"};
  char there[PATH_MAX];
  struct ss_error none;
  snprintf(path, size, "%s", name);
  if (access(path, F_OK) == 0 || name[0] == '/' || !base) return;
  const char *slash = strrchr(base, '/');
  for (size_t i = 0; i < 2; i++) {
    const int folder = slash ? (int)(slash - base + 1) : 0;
    if (snprintf(there, sizeof there, "%.*s%s%s", folder, base, steps[i], name) >= (int)sizeof there) continue;
    if (access(there, F_OK) != 0) continue;
    snprintf(path, size, "%s", there);
    return;
  }
  if (ss_data_path(name, there, sizeof there, &none) && access(there, F_OK) == 0) snprintf(path, size, "%s", there);
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
/* SPDX-License-Identifier: Apache-2.0 */
