/* What draws say of the fastest and the others, in words: the same in run, plan and report. */
#pragma once

#include <stdio.h>

struct cJSON;

/* Times in s; NaN, or NULL, is what is not known. */
struct ss_decision {
  const char *best, *next, *rival; /* labels; `rival`: who cannot be told apart from the best */
  const char *measure;             /* what would tell */
  double time, low, high, next_time;
  double ratio_low, ratio_high; /* of the next's time to the best's */
  double wins, rival_wins;      /* shares of the draws */
  double rival_low, rival_high; /* of the rival's time to the best's */
};

/* "NAME is fastest in 97 of 100 draws, 2.05 ms (1.5 ms to 2.9 ms); NEXT takes 1.2 to 1.5 times as long", or "NAME,
 * 2.05 ms (...), and RIVAL, 0.9 to 1.4 times as long, cannot be told apart: ...". */
void ss_decision_print(const struct ss_decision *decision, FILE *stream);

enum { SS_RATIO_TEXT_SIZE = 64 };
/* "1.43x (1.2..1.6)"; without the range where there is none (NaN); NULL: no ratio is known. */
const char *ss_ratio_text(double ratio, double low, double high, char text[SS_RATIO_TEXT_SIZE]);
