/* Errors as values.
 *
 * A function that can fail returns false and fills the `struct ss_error` it was given; it has then changed
 * nothing that the caller can see. The text is one line, written for the person who runs the program: what was
 * read (file, JSON path or byte), what was found, what would do. Only `cli` prints it. */
#ifndef SS_BASE_ERROR_H
#define SS_BASE_ERROR_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

/* The program's exit statuses (docs: "Exit status"). */
enum ss_status {
  SS_OK = 0,
  SS_UNPROVEN = 1,  /* a check, an expectation or a proof failed */
  SS_BAD_INPUT = 2, /* wrong usage or wrong input */
  SS_MACHINE = 3,   /* memory, disk or MPI failed us */
  SS_CANCELLED = 4  /* who asked wants no answer any more; no exit status */
};

struct ss_error {
  enum ss_status status;
  char text[872];
  char field[128]; /* the path of the document's field that is wrong; "": none in particular is */
};

#define SS_PRINTF(text_at, first_at) __attribute__((format(printf, text_at, first_at)))
/* Stands also in library/sparsync.h, as all that is marked so does. */
#define SS_PUBLIC __attribute__((visibility("default")))
#define SS_MUST_CHECK __attribute__((warn_unused_result))

/* Sets `error` and returns false, so that a caller can `return ss_fail(...)`. A NULL `error` is allowed, and so are
 * arguments that point into `error`. Control characters and malformed UTF-8 are shown as '?'; a text that is too
 * long ends in "...". */
bool ss_fail(struct ss_error *error, enum ss_status status, const char *format, ...) SS_PRINTF(3, 4);
bool ss_vfail(struct ss_error *error, enum ss_status status, const char *format, va_list arguments) SS_PRINTF(3, 0);

/* "out of memory while WHAT", status SS_MACHINE. */
bool ss_fail_memory(struct ss_error *error, const char *what);

/* Puts "PREFIX: " before the text that `error` already holds, whose field stays; returns false. */
bool ss_fail_prefix(struct ss_error *error, const char *format, ...) SS_PRINTF(2, 3);

/* Compilers and clang-tidy see only here that the result is false; without it they warn, after a `return
 * ss_fail(...)` in another file, of variables that only a success sets. */
#define ss_fail(...)                                                                                                 \
  ({                                                                                                                 \
    ss_fail(__VA_ARGS__);                                                                                            \
    false;                                                                                                           \
  })
#define ss_fail_memory(error, what)                                                                                  \
  ({                                                                                                                 \
    ss_fail_memory(error, what);                                                                                     \
    false;                                                                                                           \
  })
#define ss_fail_prefix(...)                                                                                          \
  ({                                                                                                                 \
    ss_fail_prefix(__VA_ARGS__);                                                                                     \
    false;                                                                                                           \
  })

/* Bytes (1 to 4) of the UTF-8 character at `text`, of which at most `length` are read, and none behind the first
 * that does not belong (so 4 will do for a terminated string); 0 when it is malformed. */
size_t ss_utf8_size(const char *text, size_t length);
/* The same, and 0 also for control characters: what may reach a terminal. */
size_t ss_utf8_printable(const char *text, size_t length);
/* Puts '?' for all that may not. */
void ss_make_printable(char *text);

#endif
/* SPDX-License-Identifier: Apache-2.0 */
