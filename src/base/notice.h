/* Somebody who is told what a user should know of an input that can be used: rooms below cli print nothing. */
#pragma once

struct ss_notice {
  /* One sentence without its full stop; it may come several times. */
  void (*tell)(void *context, const char *text);
  void *context;
};

/* The same of a notice that may be NULL. */
static inline void ss_notice_tell(const struct ss_notice *notice, const char *text) {
  if (notice) notice->tell(notice->context, text);
}
/* SPDX-License-Identifier: Apache-2.0 */
