/* Files of this process that go with it, also when a signal ends it. */
#pragma once

/* Remembers a file, which is the caller's to remove and to forget. Beyond a few at a time, or
 * with a path that is too long, nothing is remembered: a signal then leaves it behind. */
void ss_temporary_add(const char *path);
void ss_temporary_forget(const char *path);

/* From now on a signal that ends the process first removes what is remembered. Signals that are ignored stay so. */
void ss_temporaries_go_on_signals(void);
/* SPDX-License-Identifier: Apache-2.0 */
