/* Plays the fuzz targets on the inputs that are kept in tests/fuzz/corpus/TARGET, one TAP line a target: what was
 * found once stays mended, and the targets keep up with the code. Argument: that folder. */
#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef TARGETS /* the build lists them */
#define TARGETS TARGET(json)
#endif
#define TARGET(name) int fuzz_##name(const uint8_t *data, size_t size);
TARGETS
#undef TARGET

static const struct {
  const char *name;
  int (*run)(const uint8_t *data, size_t size);
} target[] = {
#define TARGET(name) {#name, fuzz_##name},
    TARGETS};
enum { COUNT = sizeof target / sizeof *target };

static bool play(const char *path, int (*run)(const uint8_t *data, size_t size)) {
  FILE *file = fopen(path, "rb");
  if (!file || fseek(file, 0, SEEK_END) != 0) return false;
  const size_t size = (size_t)ftell(file);
  uint8_t *data = malloc(size + 1);
  rewind(file);
  const bool whole = data && fread(data, 1, size, file) == size;
  (void)fclose(file);
  if (whole) (void)run(data, size);
  free(data);
  return whole;
}

/* How many inputs there are; an unreadable one ends the program. Without a folder the target plays nothing at all. */
static unsigned play_all(const char *corpus, const char *name, int (*run)(const uint8_t *data, size_t size)) {
  char folder[4096], path[8192];
  unsigned count = 1;
  (void)snprintf(folder, sizeof folder, "%s/%s", corpus, name);
  DIR *list = opendir(folder);
  (void)run((const uint8_t *)"", 0);
  for (const struct dirent *entry; list && (entry = readdir(list));) {
    (void)snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
    if (entry->d_name[0] == '.') continue;
    printf("# %s\n", path); /* the last one is the one that ended the program */
    if (!play(path, run)) printf("Bail out! %s cannot be read\n", path), exit(1);
    count++;
  }
  if (list) (void)closedir(list);
  return count;
}

int main(int count, char **argument) {
  if (count != 2) return 2;
  setvbuf(stdout, NULL, _IOLBF, 0);
  printf("1..%d\n", COUNT);
  for (int i = 0; i < COUNT; i++) {
    const unsigned inputs = play_all(argument[1], target[i].name, target[i].run);
    printf("ok %d - %s: %u inputs\n", i + 1, target[i].name, inputs);
  }
  return 0;
}
/* SPDX-License-Identifier: Apache-2.0 */
