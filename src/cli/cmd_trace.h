/* The subcommands of `sparsync trace`: one file each, one constant each, one line in the table of cmd_trace.c. */
#ifndef SS_CLI_CMD_TRACE_H
#define SS_CLI_CMD_TRACE_H

#include "cli/command.h"
#include "report/table.h"
#include "trace/file/trace.h"

#include <stdint.h>
#include <stdio.h>

extern const struct ss_command trace_import, trace_synth, trace_fit, trace_merge, trace_stats, trace_info;

enum trace_format { TRACE_TABLE, TRACE_JSON, TRACE_CSV };

/* Values of options that several of them have. `what` is the option's name, for messages. */
bool trace_parse_format(const char *value, enum trace_format *out, struct ss_error *error) SS_MUST_CHECK;
bool trace_parse_dtype(const char *value, enum ss_dtype *out, struct ss_error *error) SS_MUST_CHECK;
bool trace_parse_u32(const char *value, const char *what, uint32_t low, uint32_t high, uint32_t *out,
                     struct ss_error *error) SS_MUST_CHECK;
/* "A:B", "A:" or ":B"; what is left out stays as it is. */
bool trace_parse_span(const char *value, uint64_t *first, uint64_t *end, struct ss_error *error) SS_MUST_CHECK;
/* An operand beyond the first. */
bool trace_one_operand(const char **operand, const char *value, struct ss_error *error) SS_MUST_CHECK;

/* Opens the trace `file` for `act`; NULL: the user named none for the subcommand `verb`. */
bool trace_with(const char *verb, const char *file,
                bool (*act)(void *context, const struct ss_trace *trace, struct ss_error *error), void *context,
                struct ss_error *error) SS_MUST_CHECK;
/* What the subcommand found, in each of its forms. */
struct trace_printer {
  bool (*json)(const void *found, FILE *stream, struct ss_error *error);
  bool (*csv)(const void *found, FILE *stream, struct ss_error *error);
  bool (*table)(const void *found, FILE *stream, struct ss_error *error);
};
/* To the file `out`, or to standard output when it is NULL. */
bool trace_print(const struct trace_printer *printer, const void *found, enum trace_format format, const char *out,
                 struct ss_error *error) SS_MUST_CHECK;
/* A step of the struct ss_progress that `progress` is. */
void trace_tick(void *progress);

/* Prints a JSON document and frees it; NULL means that memory was short while it was built. */
struct cJSON;
bool trace_print_json(struct cJSON *json, FILE *stream, struct ss_error *error) SS_MUST_CHECK;
/* Prints a table as text or CSV and frees it; NULL as above. */
bool trace_print_table(struct ss_table *table, bool csv, FILE *stream, struct ss_error *error) SS_MUST_CHECK;

#endif
