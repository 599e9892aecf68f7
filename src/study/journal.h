/* Finished results, kept beside the output while the others are computed: FILE.partial, a line of JSON a result. A
 * run that was killed goes on from there (--resume), and from what an earlier FILE holds. */
#pragma once

#include "study/study.h"

struct ss_journal;

/* For the output at `path`. `resume`: what FILE.partial and FILE hold is known; else FILE.partial begins anew, and
 * *dropped says how many results it held. Another run that writes the same journal is an error, and so is a journal
 * with a line that is no result; a last line without an end was cut short and does not count.
 * `links`: results need theirs, which a FILE that is CSV does not have. */
bool ss_journal_open(const char *path, bool resume, bool links, struct ss_journal **out, size_t *dropped,
                     struct ss_error *error) SS_MUST_CHECK;
/* `keep`: the file stays for a later --resume, if it holds a result; else it goes. */
void ss_journal_close(struct ss_journal *journal, bool keep);

/* Fills in the result's values if they are known, with the arrays that the options ask for. What was changed since it
 * was written is not known, nor is what was not exact; a value that cannot be one is an error. */
bool ss_journal_recall(struct ss_journal *journal, const struct ss_run_options *options, struct ss_result *result,
                       bool *known, struct ss_error *error) SS_MUST_CHECK;
bool ss_journal_add(struct ss_journal *journal, const struct ss_result *result, struct ss_error *error) SS_MUST_CHECK;
const char *ss_journal_path(const struct ss_journal *journal);
/* Points that the file holds. */
size_t ss_journal_points(const struct ss_journal *journal);
