/* Schemes for real: what the proof of their result sees. The rest needs processes (tests/cli/test_exec.py). */
#include "support.h"

#ifdef SS_HAVE_MPI
#include "exec/proofs.h"

/* Rows 1 and 4 of 6 have values; a chunk that leaves one of them out is no sum, wherever in its range that row lies.
 */
TEST(no_row_is_overlooked) {
  static const uint32_t rows[] = {1, 4};
  static const float values[] = {1, 2, 3, 4};
  static const struct {
    uint32_t first, count;
    uint64_t low, high;
    bool sound;
  } cases[] = {{0, 2, 0, 6, true},  {0, 2, 1, 5, true},  {0, 1, 0, 6, false}, {0, 1, 0, 5, false},
               {0, 1, 0, 4, true},  {1, 1, 0, 6, false}, {1, 1, 1, 6, false}, {1, 1, 2, 6, true},
               {0, 0, 0, 6, false}, {0, 0, 2, 4, true},  {0, 0, 5, 6, true},  {0, 0, 4, 5, false}};
  const struct ss_input input = {.rows = 6, .width = 2};
  const struct ss_chunk own = {.rows = rows, .values = values, .count = 2, .high = 6, .width = 2, .stride = 2};
  struct ss_dense_proof proof;
  struct ss_error error;
  assert_true(ss_dense_proof_open(&proof, &input, &own, &error));
  for (uint32_t i = 0; i < COUNT(cases); i++) {
    struct ss_chunk c = own;
    c.rows += cases[i].first;
    c.values += (size_t)cases[i].first * 2;
    c.count = cases[i].count;
    c.low = cases[i].low;
    c.high = cases[i].high;
    if (proof.proof.sparse(&proof.proof, &c, 0, NULL) != cases[i].sound) fail_msg("case %u", i);
  }
  ss_dense_proof_close(&proof);
}
#else
/* cmocka's own way to skip reads as a failure to meson. */
int main(void) {
  puts("1..1\nok 1 - proofs over MPI # SKIP no MPI");
  return 0;
}
#endif
/* SPDX-License-Identifier: Apache-2.0 */
