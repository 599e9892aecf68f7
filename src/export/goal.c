#include "base/file.h"
#include "export/format.h"
#include "study/study.h"

static char *add_number(char *to, uint64_t number) {
  char digits[20];
  size_t count = 0;
  do digits[count++] = (char)('0' + number % 10);
  while (number /= 10);
  while (count > 0) *to++ = digits[--count];
  return to;
}

static char *add_text(char *to, const char *text) {
  const size_t size = strlen(text);
  memcpy(to, text, size);
  return to + size;
}

static char *add_message(char *to, const struct ss_operation *o) {
  const bool sends = o->kind == SS_OPERATION_SEND;
  to = add_text(to, sends ? "send " : "recv ");
  to = add_number(to, ss_operation_bytes(o));
  to = add_text(to, sends ? "b to " : "b from ");
  to = add_number(to, o->peer);
  to = add_text(to, " tag ");
  return add_number(to, o->tag);
}

static size_t write_operation(const struct ss_operation *o, uint64_t ticks, char out[static SS_OPERATION_ROOM]) {
  char *to = add_number(add_text(out, "l"), o->number);
  to = add_text(to, ": ");
  if (o->kind == SS_OPERATION_CALCULATE) to = add_number(add_text(to, "calc "), ticks);
  else to = add_message(to, o);
  for (uint32_t i = 0; i < o->requirements; i++) {
    to = add_number(add_text(to, "\nl"), o->number);
    to = add_number(add_text(to, " requires l"), o->required[i]);
  }
  return (size_t)(add_text(to, "\n") - out);
}

/* What it is of, in comments. */
static void print_head(const struct ss_exported *e, FILE *stream) {
  const struct ss_point *point = e->point;
  const struct ss_operations *s = e->played;
  fprintf(stream, "// sparsync " SS_VERSION ": %s, tensor %s, iterations %" PRIu64 ":%" PRIu64 "\n",
          point->setting.label, point->tensor_name, point->first, point->end);
  fprintf(stream, "// ranks 0 to %" PRIu32, point->ranks - 1);
  if (point->servers) fprintf(stream, "; %" PRIu32 " servers from rank %" PRIu32 " on", point->servers, point->ranks);
  fprintf(stream, "; %" PRIu64 " messages in %" PRIu64 " rounds, %" PRIu64 " B\n", s->messages, s->rounds, s->bytes);
  if (s->empty) fprintf(stream, "// %" PRIu64 " messages carry nothing: they stand here with 1 B\n", s->empty);
  fprintf(stream, "// times in ns\nnum_ranks %" PRIu32 "\n", s->endpoints);
}

static bool print(const void *context, FILE *stream, struct ss_error *error) {
  const struct ss_exported *e = context;
  bool ok = true;
  print_head(e, stream);
  for (uint32_t i = 0; ok && i < e->played->endpoints && !ferror(stream); i++) {
    fprintf(stream, "\nrank %" PRIu32 " {\n", i);
    ok = ss_spool_copy(e->spool, i, stream, error);
    fprintf(stream, "}\n");
  }
  return ok;
}

static bool finish(const struct ss_exported *e, const char *path, struct ss_error *error) {
  return ss_output_write(path, print, e, error);
}

const struct ss_export_format ss_format_goal = {
    .name = "goal", .ticks = 1e9, .write = write_operation, .finish = finish};
/* SPDX-License-Identifier: Apache-2.0 */
