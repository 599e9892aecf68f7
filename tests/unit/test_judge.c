/* Numbers picked from answers, and what is judged by them, by hand: reductions, tolerances of claims, factors on
 * estimates. */
#include "support.h"

#include "claims/claims.h"
#include "query/pick.h"
#include "train/scale.h"

#include <cjson/cJSON.h>
#include <unistd.h>

/* --- picks ------------------------------------------------------------------------------------------------- */

static bool picked(const char *answer, const char *member, double *value) {
  char text[256];
  struct ss_doc *doc;
  struct ss_error error = {0};
  struct ss_picked none = {0};
  cJSON *parsed = cJSON_Parse(answer);
  (void)snprintf(text, sizeof text, "{\"from\": \"r\", \"of\": \"a\", %s}", member);
  assert_true(ss_doc_parse("test", text, strlen(text), &doc, &error));
  const bool ok = ss_pick(ss_doc_root(doc), parsed, &none, value, &error);
  ss_doc_free(doc);
  cJSON_Delete(parsed);
  return ok;
}

static double pick(const char *reduce) {
  char member[128];
  double value = NAN;
  (void)snprintf(member, sizeof member, "\"value\": \"v\", \"reduce\": \"%s\"", reduce);
  assert_true(picked("{\"points\": [{\"label\": \"a\", \"v\": 2}, {\"label\": \"b\", \"v\": 100}, "
                     "{\"label\": \"a\", \"v\": 4}, {\"label\": \"a\", \"v\": 9}]}",
                     member, &value));
  return value;
}

/* 2, 4, 9: the mean is 5, squares of the distances 9 + 1 + 16, over one less than their number. */
TEST(picks_are_reduced) {
  assert_true(close_to(pick("mean"), 5, 1e-12));
  assert_true(close_to(pick("deviation"), sqrt(13), 1e-12));
  assert_true(close_to(pick("min"), 2, 0) && close_to(pick("max"), 9, 0) && close_to(pick("sum"), 15, 0));
  assert_true(close_to(pick("count"), 3, 0) && close_to(pick("first"), 2, 0));
}

/* A formula names a value by up to 63 letters; a longer name is of none, and never of another that begins so. */
TEST(names_have_a_longest) {
  for (int length = 62; length <= 66; length++) {
    char answer[256], member[128], name[80] = "";
    double value = NAN;
    memset(name, 'x', (size_t)length);
    (void)snprintf(answer, sizeof answer, "{\"points\": [{\"label\": \"a\", \"%s\": 7}]}", name);
    (void)snprintf(member, sizeof member, "\"value\": \"%s\"", name);
    assert_int_equal(picked(answer, member, &value), length < 64);
    if (length < 64) assert_true(close_to(value, 7, 0));
    (void)snprintf(member, sizeof member, "\"value\": \"%.63s\"", name);
    assert_int_equal(picked(answer, member, &value), length < 64);
  }
}

/* Of an array [from, to) alone, which are two numbers. */
TEST(parts_of_arrays_are_picked) {
  static const struct {
    const char *range;
    double sum; /* NaN: refused */
  } cases[] = {{"[0, 2]", 3}, {"[1, 3]", 6},      {"[3, 9]", 8},    {"[2, 2]", NAN},
               {"[1]", NAN},  {"[1, 2, 3]", NAN}, {"[-1, 2]", NAN}, {"[0, \"b\"]", NAN}};
  for (size_t i = 0; i < COUNT(cases); i++) {
    char member[128];
    double sum = NAN;
    (void)snprintf(member, sizeof member, "\"array\": \"v\", \"range\": %s, \"reduce\": \"sum\"", cases[i].range);
    const bool ok = picked("{\"points\": [{\"label\": \"a\", \"v\": [1, 2, 4, 8]}]}", member, &sum);
    if (ok == isnan(cases[i].sum) || (ok && !close_to(sum, cases[i].sum, 0))) fail_msg("%s: %g", cases[i].range, sum);
  }
}

/* --- claims ------------------------------------------------------------------------------------------------ */

static enum ss_claim_verdict judge_of(const char *inputs, const char *let, const char *printed, const char *tolerance,
                                      const char *ours) {
  char path[] = "/tmp/test-judge-XXXXXX";
  struct ss_claims claims = {0};
  struct ss_error error = {0};
  const int file = mkstemp(path);
  assert_true(file >= 0);
  assert_true(dprintf(file,
                      "{\"paper\": \"own\", \"title\": \"Own\", \"inputs\": {%s}, \"claims\": [{\"id\": \"c\", "
                      "\"source\": \"s\", \"class\": \"A\", \"claim\": \"so many\", \"printed\": %s, \"tolerance\": "
                      "\"%s\", \"let\": {%s}, \"ours\": %s, \"verdict\": \"reproduced\", \"why\": \"because\"}]}",
                      inputs, printed, tolerance, let, ours) > 0);
  close(file);
  if (!ss_claims_open(&(const char *){path}, 1, &claims, &error) || !ss_claims_judge(&claims, 1, NULL, NULL, &error))
    fail_msg("%s", error.text);
  const enum ss_claim_verdict verdict = claims.claim ? claims.claim[0].verdict : (enum ss_claim_verdict) - 1;
  ss_claims_free(&claims);
  (void)unlink(path);
  return verdict;
}

static enum ss_claim_verdict judge(const char *printed, const char *tolerance, double ours) {
  char text[32];
  (void)snprintf(text, sizeof text, "%.17g", ours);
  return judge_of("", "", printed, tolerance, text);
}

#define ASKED(name, slots)                                                                                           \
  "\"" name "\": {\"hash\": {\"kernel\": \"lossy\", \"nnz\": 100, \"parts\": 1, \"slots_per_row\": " slots "}}"

/* So many rows in as many slots lose some, in a thousand times as many hardly any. Of what is kept of the answers
 * sanitizers tell whether it is given back. */
TEST(answers_are_asked_for) {
  static const char asked[] = ASKED("few", "1") ", " ASKED("many", "1000") ", " ASKED("again", "1");
  static const char let[] = "\"a\": {\"from\": \"few\", \"path\": \"lost\"}, \"b\": {\"from\": \"many\", \"path\": "
                            "\"lost\"}, \"c\": {\"from\": \"again\", \"path\": \"lost\"}";
  assert_int_equal(judge_of(asked, let, "[0.1, 1]", "0%", "\"a\""), SS_CLAIM_REPRODUCED);
  assert_int_equal(judge_of(asked, let, "[0, 0.1]", "0%", "\"b\""), SS_CLAIM_REPRODUCED);
  assert_int_equal(judge_of(asked, let, "0", "0%", "\"a - c\""), SS_CLAIM_REPRODUCED);
}

/* The bounds belong to the range, and what is a little beyond them does not. */
TEST(tolerances_widen_what_is_printed) {
  static const struct {
    const char *printed, *tolerance;
    double low, high;
  } cases[] = {{"4", "10%", 3.6, 4.4}, {"4", "0.5", 3.5, 4.5}, {"[2, 4]", "10%", 1.8, 4.4}};
  for (size_t i = 0; i < COUNT(cases); i++) {
    const char *p = cases[i].printed, *t = cases[i].tolerance;
    assert_int_equal(judge(p, t, cases[i].low), SS_CLAIM_ARITHMETIC);
    assert_int_equal(judge(p, t, cases[i].high), SS_CLAIM_ARITHMETIC);
    assert_int_equal(judge(p, t, cases[i].low - 1e-3), SS_CLAIM_NOT_REPRODUCED);
    assert_int_equal(judge(p, t, cases[i].high + 1e-3), SS_CLAIM_NOT_REPRODUCED);
  }
}

/* --- estimates --------------------------------------------------------------------------------------------- */

TEST(faster_kernels_take_less) {
  struct ss_scale twice, thrice;
  struct ss_device device = ss_device_of("d", 8e-6, 3e-12);
  device.line[SS_KERNEL_MERGE_SUM].piece[0].per_element = 1e-9;
  struct ss_error error;
  struct ss_doc *doc;
  assert_true(ss_doc_parse("test", "{\"kernels\": 2}", 14, &doc, &error));
  assert_true(ss_scale_read(ss_doc_root(doc), &twice, &error));
  thrice = twice;
  thrice.factor[SS_SCALED_KERNELS] = 3;
  ss_scale_device(&twice, &device);
  assert_true(close_to(ss_device_time(&device, SS_KERNEL_MERGE_SUM, (struct ss_kernel_work){1, 10, 1000}),
                       4e-6 + 6.5e-9, 1e-9));
  ss_scale_device(&thrice, &device);
  assert_true(
      close_to(ss_device_time(&device, SS_KERNEL_MERGE_SUM, (struct ss_kernel_work){.calls = 1}), 8e-6 / 6, 1e-9));
  ss_doc_free(doc);
}
/* SPDX-License-Identifier: Apache-2.0 */
