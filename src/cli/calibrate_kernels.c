/* A device file out of kernels timed here. */
#include "base/memory.h"
#include "base/units.h"
#include "cli/calibrate.h"
#include "cli/options.h"
#include "exec/time_kernels.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char help[] =
    "usage: sparsync calibrate kernels --device cpu [options]\n"
    "\n"
    "Times the tensor kernels on this machine, with all threads, over sizes and densities (1%, 10% and 50%), inputs\n"
    "out of cache, the median after a warm-up; fits t0 + bytes*per_byte to each by robust regression; and writes a\n"
    "device file. Residuals and valid sizes go with it. Sums are what schemes charge: merge_sum and dense_add.\n"
    "Nothing else should run meanwhile; it takes minutes.\n"
    "\n"
    "  --device cpu         what to time\n"
    "  --max SIZE           of the largest dense tensor (default 64MiB); sizes quadruple from 16KiB\n"
    "  --repeats N          times that each median is of (default 7)\n"
    "  --cache SIZE         of the last cache: twice that is written over before each call (default: as the system "
    "says)\n"
    "  --name NAME          of the device (default cpu)\n"
    "  -o FILE              write there instead of to standard output\n"
    "\n"
    "examples:\n"
    "  sparsync calibrate kernels --device cpu -o here.json\n"
    "  sparsync calibrate kernels --device cpu --max 4MiB --repeats 3\n";

enum { SMALLEST = 4096 /* rows */, ELEMENT = 4, INPUTS_MAX = 64 };
static const double densities[] = {0.01, 0.1, 0.5};

struct arguments {
  const char *device, *name, *out;
  double most;  /* B */
  double cache; /* B; 0: ask */
  uint32_t repeats;
};

struct times {
  struct ss_timed input[INPUTS_MAX][SS_TIMED_KERNELS];
  size_t inputs;
};

/* --- what was asked --------------------------------------------------------------------------------------- */

static const struct ss_option_spec specs[] = {{"device", true}, {"max", true}, {"repeats", true}, {"cache", true},
                                              {"name", true},   {"o", true},   {"help", false},   {NULL, false}};

static bool parse_bytes(const char *value, const char *what, double low, double high, double *out,
                        struct ss_error *error) {
  if (!ss_units_parse(value, SS_BYTES, out, error)) return ss_fail_prefix(error, "%s", what);
  if (*out >= low && *out <= high) return true;
  return ss_fail(error, SS_BAD_INPUT, "%s: \"%s\" is not within %.0f and %.0f B", what, value, low, high);
}

static bool seen(void *context, const char *name, const char *value, struct ss_error *error) {
  struct arguments *a = context;
  uint64_t count;
  if (!name) return ss_fail(error, SS_BAD_INPUT, "\"%s\" is left over", value);
  if (strcmp(name, "max") == 0) return parse_bytes(value, "--max", 64 * 1024.0, 0x1p32, &a->most, error);
  if (strcmp(name, "cache") == 0) return parse_bytes(value, "--cache", 1, 0x1p32, &a->cache, error);
  if (strcmp(name, "repeats") == 0) {
    if (!ss_count_parse(value, "--repeats", 1, SS_TIMED_REPEATS_MAX, &count, error)) return false;
    a->repeats = (uint32_t)count;
  }
  if (strcmp(name, "device") == 0) a->device = value;
  if (strcmp(name, "name") == 0) a->name = value;
  if (strcmp(name, "o") == 0) a->out = value;
  return true;
}

static double cache_of_system(void) {
  const long bytes = sysconf(_SC_LEVEL3_CACHE_SIZE);
  return bytes > 0 && bytes < 1L << 32 ? (double)bytes : 0x1p26;
}

/* --- times ------------------------------------------------------------------------------------------------ */

static bool measure(const struct arguments *a, struct times *times, struct ss_error *error) {
  for (uint64_t rows = SMALLEST; (double)(rows * ELEMENT) <= a->most; rows *= 4)
    for (size_t d = 0; d < sizeof densities / sizeof *densities; d++) {
      const struct ss_timing timing = {rows, densities[d], a->repeats, (uint64_t)a->cache};
      if (!ss_time_kernels(&timing, times->input[times->inputs++], error)) return false;
    }
  return true;
}

static bool fit(const struct times *times, size_t kernel, struct ss_link_piece *out, struct ss_error *error) {
  struct ss_link_sample sample[INPUTS_MAX];
  for (size_t i = 0; i < times->inputs; i++) {
    const struct ss_timed *t = &times->input[i][kernel];
    sample[i] = (struct ss_link_sample){1, t->bytes, t->bytes, t->seconds};
  }
  return ss_line_fit(sample, times->inputs, out, error) || ss_fail_prefix(error, "%s", ss_timed_name(kernel));
}

/* --- what comes out --------------------------------------------------------------------------------------- */

static bool add_kernel(cJSON *kernels, size_t kernel, const struct ss_link_piece *line) {
  cJSON *item = cJSON_AddObjectToObject(kernels, ss_timed_name(kernel));
  return item && cJSON_AddNumberToObject(item, "t0", line->alpha) &&
         cJSON_AddNumberToObject(item, "per_byte", line->beta) && calibrate_add_quality(item, line);
}

static bool add_heads(cJSON *root, const struct arguments *a) {
  char date[16], measured[256], summary[128];
  (void)snprintf(measured, sizeof measured, "sparsync calibrate kernels --device cpu --max %.0f --repeats %u, %s",
                 a->most, a->repeats, calibrate_date(date, sizeof date));
  (void)snprintf(summary, sizeof summary, "measured: a CPU with %d threads", omp_get_max_threads());
  return cJSON_AddStringToObject(root, "name", a->name) && cJSON_AddStringToObject(root, "summary", summary) &&
         cJSON_AddStringToObject(root, "measured", measured);
}

static bool add_notes(cJSON *root, const struct arguments *a) {
  cJSON *notes = cJSON_AddObjectToObject(root, "notes");
  return notes && cJSON_AddNumberToObject(notes, "threads", omp_get_max_threads()) &&
         cJSON_AddNumberToObject(notes, "overwritten_between_calls", 2 * a->cache);
}

static void tell(size_t kernel, const struct ss_link_piece *p) {
  char text[4][32];
  (void)fprintf(stderr,
                "%-20s %s + bytes/(%s), for %s to %s; residuals %.2g%% median, %.2g%% at most; %zu of %zu "
                "outliers\n",
                ss_timed_name(kernel), ss_units_format(text[0], sizeof text[0], SS_TIME, p->alpha),
                ss_units_format(text[1], sizeof text[1], SS_RATE, 1 / p->beta),
                ss_units_format(text[2], sizeof text[2], SS_BYTES, p->low),
                ss_units_format(text[3], sizeof text[3], SS_BYTES, p->high), 100 * p->typical, 100 * p->worst,
                p->outliers, p->samples);
}

static bool write_device(const struct arguments *a, const struct ss_link_piece *line, struct ss_error *error) {
  cJSON *root = cJSON_CreateObject();
  cJSON *kernels = root && add_heads(root, a) ? cJSON_AddObjectToObject(root, "kernels") : NULL;
  bool ok = kernels != NULL;
  for (size_t k = 0; ok && k < SS_TIMED_KERNELS; k++) ok = add_kernel(kernels, k, &line[k]);
  if (!ok || !add_notes(root, a)) {
    cJSON_Delete(root);
    root = NULL;
  }
  return calibrate_write(root, a->out, error);
}

static bool calibrate(const struct arguments *a, struct times *times, struct ss_error *error) {
  struct ss_link_piece line[SS_TIMED_KERNELS];
  if (!measure(a, times, error)) return false;
  for (size_t k = 0; k < SS_TIMED_KERNELS; k++)
    if (!fit(times, k, &line[k], error)) return false;
  if (!write_device(a, line, error)) return false;
  for (size_t k = 0; k < SS_TIMED_KERNELS; k++) tell(k, &line[k]);
  return true;
}

static bool run(int argc, char **argv, struct ss_error *error) {
  struct arguments a = {.name = "cpu", .most = 0x1p26, .repeats = 7};
  if (!ss_options_parse(argc, argv, specs, seen, &a, error)) return false;
  if (!a.device) return ss_fail(error, SS_BAD_INPUT, "calibrate kernels: say of what: --device cpu");
  if (strcmp(a.device, "cpu") != 0) return ss_fail(error, SS_BAD_INPUT, "--device: \"%s\" is not cpu", a.device);
  if (!(a.cache > 0)) a.cache = cache_of_system();
  struct times *times = ss_alloc_zero(1, sizeof *times);
  if (!times) return ss_fail_memory(error, "timing kernels");
  const bool ok = calibrate(&a, times, error);
  free(times);
  return ok;
}

const struct ss_command calibrate_kernels = {
    .name = "kernels", .summary = "a device: what its kernels take", .help = help, .run = run};
