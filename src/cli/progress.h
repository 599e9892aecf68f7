/* A progress bar on standard error: only on a terminal, only once a second has passed, gone when the work is done. */
#ifndef SS_CLI_PROGRESS_H
#define SS_CLI_PROGRESS_H

#include "base/watcher.h"

/* Draws it for one computation at a time. */
extern const struct ss_watcher ss_progress_watcher;

#endif
