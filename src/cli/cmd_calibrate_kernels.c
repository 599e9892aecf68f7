/* A device file out of kernels timed here. */
#include "base/json.h"
#include "calibration/line_pieces.h"
#include "cli/command.h"
#include "kernels/timing.h"
#include "report/calibration.h"

enum { SMALLEST = 4096 /* rows */, ELEMENT = 4, WIDTH = 64, INPUTS_MAX = 64 };
static const double densities[] = {0.01, 0.1, 0.5};
enum { DENSITIES = sizeof densities / sizeof *densities, SHOWN = 1 /* the density that is printed */ };
/* ZEN section 5.3: DeepFM's embedding, 6 ms on a V100. */
enum { ZEN_ROWS = 214000000 };
#define ZEN_DENSITY 0.052
#define NANOSECONDS 1e9

static const char *const devices[] = {"cpu", "cuda", NULL};
enum { CPU, CUDA, DEVICES };

struct arguments {
  struct ss_call call;
  unsigned device; /* which of the devices; DEVICES: not said */
  const char *name;
  double most;  /* B; 0: as the device has it */
  double cache; /* B; 0: ask */
  uint32_t repeats;
};

/* What is timed, and what came of it. */
struct bench {
  const struct arguments *a;
  const struct ss_kernel_device *device;
  char text[256];   /* the device in words */
  double copy_rate; /* B/s */
  struct ss_timed input[INPUTS_MAX][SS_KERNELS];
  struct ss_timed wide[INPUTS_MAX][SS_KERNELS]; /* [inputs] of rows of WIDTH elements; seconds 0: not timed */
  uint64_t rows;                                /* of the last, largest inputs */
  size_t inputs;
  struct ss_timed zen;
  struct ss_lines line[SS_KERNELS];
};

/* --- devices ---------------------------------------------------------------------------------------------- */

static bool is_gpu(const struct bench *b) {
  return b->device != &ss_kernels_cpu;
}

/* Finds the device, and fills what was not asked for. */
static bool settle(struct arguments *a, struct bench *b, struct ss_error *error) {
  uint64_t cache;
  if (a->device == DEVICES) return ss_fail(error, SS_BAD_INPUT, "say of what: --device cpu or --device cuda");
  b->device = a->device == CPU ? &ss_kernels_cpu : &ss_kernels_cuda;
  if (!b->device->describe(b->text, sizeof b->text, &cache, error)) return false;
  if (!(a->cache > 0)) a->cache = (double)cache;
  if (!(a->most > 0)) a->most = is_gpu(b) ? 0x1p28 : 0x1p26;
  if (!a->name) a->name = devices[a->device];
  return true;
}

/* --- times ------------------------------------------------------------------------------------------------ */

/* About what timing an input takes: before each call twice the cache is written over, then the input is read. */
static double work_of(const struct arguments *a, uint64_t rows) {
  return 2 * a->cache + (double)(rows * ELEMENT);
}

/* One input, of rows of one element and of wide ones. */
static bool measure_input(struct ss_timing timing, uint64_t rows, struct bench *b, struct ss_error *error) {
  timing.rows = b->rows = rows;
  timing.width = 1;
  if (!ss_time_kernels(&timing, SS_ALL_KERNELS, b->input[b->inputs], error)) return false;
  timing.rows = rows / WIDTH;
  timing.width = WIDTH;
  if (!ss_time_kernels(&timing, SS_WIDE_KERNELS, b->wide[b->inputs], error)) return false;
  b->inputs++;
  return true;
}

static bool measure_inputs(struct bench *b, struct ss_timing *timing, struct ss_error *error) {
  const struct arguments *a = b->a;
  const struct ss_watcher *watcher = a->call.request.run.watcher;
  size_t inputs = 0;
  double whole = 0;
  bool ok = true;
  for (uint64_t rows = SMALLEST; (double)(rows * ELEMENT) <= a->most; rows *= 4, inputs += DENSITIES)
    whole += DENSITIES * work_of(a, rows);
  ss_watcher_begin(watcher, "inputs", inputs);
  for (uint64_t rows = SMALLEST; ok && (double)(rows * ELEMENT) <= a->most; rows *= 4)
    for (size_t d = 0; ok && d < DENSITIES; d++) {
      timing->density = densities[d];
      ok = measure_input(*timing, rows, b, error);
      ss_watcher_advance(watcher, 1, work_of(a, rows), whole);
    }
  ss_watcher_end(watcher);
  return ok;
}

static bool measure(struct bench *b, struct ss_error *error) {
  const struct arguments *a = b->a;
  struct ss_timing timing = {.device = b->device, .repeats = a->repeats, .cache = (uint64_t)a->cache, .width = 1};
  if (!measure_inputs(b, &timing, error)) return false;
  if (is_gpu(b)) {
    struct ss_timed zen[SS_KERNELS];
    timing.rows = ZEN_ROWS;
    timing.density = ZEN_DENSITY;
    if (!ss_time_kernels(&timing, UINT32_C(1) << SS_KERNEL_HIERARCHICAL_HASHING, zen, error)) return false;
    b->zen = zen[SS_KERNEL_HIERARCHICAL_HASHING];
  }
  return b->device->copy_rate((uint64_t)(a->most > 4 * a->cache ? a->most : 4 * a->cache), &b->copy_rate, error);
}

static bool fit(struct bench *b, enum ss_kernel_kind kernel, struct ss_error *error) {
  struct ss_line_sample sample[2 * INPUTS_MAX];
  size_t count = 0;
  for (size_t i = 0; i < 2 * b->inputs; i++) {
    const struct ss_timed *t = i % 2 ? &b->wide[i / 2][kernel] : &b->input[i / 2][kernel];
    if (t->seconds > 0 && t->traffic.moved > 0)
      sample[count++] = (struct ss_line_sample){t->traffic.elements, t->traffic.moved, t->seconds};
  }
  return ss_lines_fit(sample, count, &b->line[kernel], error) || ss_fail_prefix(error, "%s", ss_kernel_name(kernel));
}

/* --- what comes out --------------------------------------------------------------------------------------- */

static void add_costs(cJSON *item, const struct ss_line *line) {
  ss_json_add(item, SS_N("t0", line->t0));
  if (line->per_element > 0) ss_json_add(item, SS_N("per_element", line->per_element));
  ss_json_add(item, SS_N("per_byte", line->per_byte));
}

static void add_kernel(cJSON *kernels, enum ss_kernel_kind kernel, const struct ss_lines *lines) {
  cJSON *item = cJSON_AddObjectToObject(kernels, ss_kernel_name(kernel));
  cJSON *list = lines->pieces > 1 ? cJSON_AddArrayToObject(item, "pieces") : NULL;
  if (!list) add_costs(item, &lines->piece[0].line);
  for (size_t i = 0; list && i < lines->pieces; i++) {
    cJSON *piece = cJSON_CreateObject();
    if (!isinf(lines->piece[i].up_to)) ss_json_add(piece, SS_N("up_to", lines->piece[i].up_to));
    add_costs(piece, &lines->piece[i].line);
    cJSON_AddItemToArray(list, piece);
  }
  ss_line_quality_json(item, &lines->all);
}

static cJSON *floor_json(const struct bench *b, enum ss_kernel_kind kernel, uint64_t rows, double density,
                         const struct ss_timed *t) {
  const double floor = t->traffic.floor / b->copy_rate;
  return ss_json_object(SS_T("kernel", ss_kernel_name(kernel)), SS_N("rows", (double)rows), SS_N("density", density),
                        SS_N("floor_bytes", t->traffic.floor), SS_N("floor_s", floor), SS_N("seconds", t->seconds),
                        SS_N("ratio", t->seconds / floor));
}

/* Of the largest tensor, at each density; of a GPU, of ZEN's as well. */
static cJSON *list_floors(const struct bench *b) {
  cJSON *floors = cJSON_CreateArray();
  for (enum ss_kernel_kind k = 0; k < SS_KERNELS; k++)
    for (size_t d = 0; d < DENSITIES; d++)
      cJSON_AddItemToArray(floors, floor_json(b, k, b->rows, densities[d], &b->input[b->inputs - DENSITIES + d][k]));
  if (is_gpu(b))
    cJSON_AddItemToArray(floors, floor_json(b, SS_KERNEL_HIERARCHICAL_HASHING, ZEN_ROWS, ZEN_DENSITY, &b->zen));
  return floors;
}

static void tell_costs(const struct ss_line_piece *piece) {
  const struct ss_line *p = &piece->line;
  (void)fprintf(stderr, "%s", ss_shown(SS_TIME, p->t0));
  if (p->per_element > 0) (void)fprintf(stderr, " + elements*%.3gns", p->per_element * NANOSECONDS);
  if (p->per_byte > 0) (void)fprintf(stderr, " + bytes/(%s)", ss_shown(SS_RATE, 1 / p->per_byte));
  if (!isinf(piece->up_to)) (void)fprintf(stderr, " up to %s, then ", ss_shown(SS_BYTES, piece->up_to));
}

static void tell(enum ss_kernel_kind kernel, const struct ss_lines *lines) {
  const struct ss_line *all = &lines->all;
  (void)fprintf(stderr, "%-20s ", ss_kernel_name(kernel));
  for (size_t i = 0; i < lines->pieces; i++) tell_costs(&lines->piece[i]);
  (void)fprintf(stderr, ", for %s to %s; residuals %.6g%% median, %.6g%% at most; %zu of %zu outliers\n",
                ss_shown(SS_BYTES, all->low), ss_shown(SS_BYTES, all->high), ss_percent(all->residuals.typical),
                ss_percent(all->residuals.worst), all->residuals.outliers, all->residuals.samples);
}

/* Of one density each. */
static void tell_floors(const struct bench *b) {
  cJSON *floors = list_floors(b);
  (void)fprintf(stderr, "\n%s; a copy reads and writes %s\n", b->text, ss_shown(SS_RATE, b->copy_rate));
  for (const cJSON *f = floors ? floors->child : NULL; f; f = f->next) {
    const double density = ss_json_number(f, "density");
    if (density != densities[SHOWN] && density != ZEN_DENSITY) continue;
    (void)fprintf(stderr, "%-20s %.0f rows at %.3g%%: floor %s in %s, took %s, %.3g times the floor\n",
                  ss_json_word(f, "kernel"), ss_json_number(f, "rows"), 100 * density,
                  ss_shown(SS_BYTES, ss_json_number(f, "floor_bytes")),
                  ss_shown(SS_TIME, ss_json_number(f, "floor_s")), ss_shown(SS_TIME, ss_json_number(f, "seconds")),
                  ss_json_number(f, "ratio"));
  }
  cJSON_Delete(floors);
}

static bool write_device(const struct bench *b, struct ss_error *error) {
  const struct arguments *a = b->a;
  char date[16], measured[256], summary[300];
  (void)snprintf(measured, sizeof measured, "sparsync calibrate kernels --device %s --max %.0f --repeats %u, %s",
                 devices[a->device], a->most, a->repeats, ss_date_text(date, sizeof date));
  (void)snprintf(summary, sizeof summary, "measured: %s", b->text);
  cJSON *kernels = cJSON_CreateObject();
  for (enum ss_kernel_kind k = 0; k < SS_KERNELS; k++) add_kernel(kernels, k, &b->line[k]);
  cJSON *notes = ss_json_object(SS_N("overwritten_between_calls", 2 * a->cache),
                                SS_N("copied_bytes_per_second", b->copy_rate), SS_J("floors", list_floors(b)));
  cJSON *root = ss_json_object(SS_T("name", a->name), SS_T("summary", summary), SS_T("measured", measured),
                               SS_J("kernels", kernels), SS_J("notes", notes));
  return ss_model_write(a->call.output, root, error);
}

static bool run(struct ss_call *call, struct ss_error *error) {
  struct arguments *a = (struct arguments *)call;
  SS_AUTO_FREE struct bench *b = ss_alloc_zero(1, sizeof *b);
  if (!b) return ss_fail_memory(error, "timing kernels");
  b->a = a;
  if (!settle(a, b, error) || !measure(b, error)) return false;
  for (enum ss_kernel_kind k = 0; k < SS_KERNELS; k++)
    if (!fit(b, k, error)) return false;
  if (!write_device(b, error)) return false;
  for (enum ss_kernel_kind k = 0; k < SS_KERNELS && !call->quiet; k++) tell(k, &b->line[k]);
  if (!call->quiet) tell_floors(b);
  return true;
}

static const struct ss_option_spec options[] = {
    {"--device", SS_CHOICE(struct arguments, device, devices),
     .help = "what to time (cuda: the GPU that CUDA takes first; CUDA_VISIBLE_DEVICES chooses)"},
    {"--max", SS_QUANTITY(struct arguments, most, SS_BYTES, 64 * 1024.0, 0x1p32), .value = "SIZE",
     .help = "of the largest dense tensor (default 64MiB, of a GPU 256MiB); sizes quadruple from 16KiB"},
    {"--repeats", SS_COUNT32(struct arguments, repeats, 1, SS_TIMED_REPEATS_MAX), .value = "N",
     .help = "times that each median is of (default 7)"},
    {"--cache", SS_QUANTITY(struct arguments, cache, SS_BYTES, 1, 0x1p32), .value = "SIZE",
     .help = "of the last cache: twice that is written over before each call (default: as the system says)"},
    {"--name", SS_TEXT(struct arguments, name), .value = "NAME", .help = "of the device (default: as --device)"},
    SS_OPTIONS_OUTPUT_MODEL,
    {.name = NULL}};

const struct ss_command ss_command_calibrate_kernels = {
    .name = "kernels",
    .summary = "a device: what the tensor kernels take on this machine",
    .usage =
        "usage: sparsync calibrate kernels --device cpu|cuda [OPTION...]\n\n"
        "Times the tensor kernels on this machine, on all threads of its CPU or on a GPU, over sizes and densities "
        "(1%, 10% and 50%), inputs out of cache, the median after a warm-up; fits t0 + bytes*per_byte to each by "
        "robust regression, with a cost for each element where bytes alone do not tell; and writes a device file, "
        "with residuals and valid sizes. For the largest tensor it also has the floor, the time that the memory "
        "traffic alone would take at the speed of a large copy, and the ratio to it; on a GPU for ZEN's case, 11 "
        "million indices of 214 million, too. Nothing else should run meanwhile; it takes minutes.\n",
    .examples = "  sparsync calibrate kernels --device cpu -o here.json\n"
                "  sparsync calibrate kernels --device cpu --max 4MiB --repeats 3\n"
                "  sparsync calibrate kernels --device cuda --max 1GiB -o gpu.json\n",
    .options = options,
    .size = sizeof(struct arguments),
    .defaults = &(const struct arguments){.repeats = 7, .device = DEVICES},
    .run = run};
/* SPDX-License-Identifier: Apache-2.0 */
