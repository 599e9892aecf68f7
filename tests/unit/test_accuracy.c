/* What clusters say of their accuracy: read, refused, and of no consequence for any time. */
#include "support.h"

#include "machine/cluster.h"

#define HEAD "{\"latency\": 5e-6, \"bandwidth\": 1e10, \"gpus_per_node\": 4"

static bool read_cluster(const char *accuracy, struct ss_cluster *out, struct ss_error *error) {
  char text[1024];
  struct ss_doc *doc = NULL;
  snprintf(text, sizeof text, HEAD "%s%s}", accuracy[0] ? ", \"accuracy\": " : "", accuracy);
  const bool ok =
      ss_doc_parse("test", text, strlen(text), &doc, error) && ss_cluster_read(ss_doc_root(doc), out, error);
  ss_doc_free(doc);
  return ok;
}

static void test_what_is_said_is_read(void **state) {
  (void)state;
  struct ss_cluster c, silent;
  struct ss_error error;
  assert_true(
      read_cluster("{\"collectives\": [\"allreduce\", \"alltoall\"], \"kinds\": [\"inside\", \"exchange\"], "
                   "\"nodes\": [2, 8], \"bytes\": [16, \"128MiB\"], \"measured\": {\"half\": 1.06, \"most\": "
                   "1.31, \"times\": 126}, \"kind\": {\"half\": 1.4, \"most\": 3}, \"doubling\": {\"half\": 1, "
                   "\"most\": 1.4, \"groups\": 3}, \"pooled\": true}",
                   &c, &error));
  const struct ss_accuracy *a = &c.accuracy;
  assert_true(a->known && a->pooled);
  assert_int_equal(a->collectives, 1 << SS_ALLREDUCE | 1 << SS_ALLTOALL);
  assert_true(!a->kind[SS_CHAIN] && a->kind[SS_EXCHANGE] && a->kind[SS_INSIDE]);
  assert_true(a->nodes_min == 2 && a->nodes_max == 8 && a->bytes_min == 16 && a->bytes_max == 128 << 20);
  assert_true(a->of[SS_AS_MEASURED].half == 1.06 && a->of[SS_AS_MEASURED].most == 1.31);
  assert_true(a->of[SS_NEW_KIND].half == 1.4 && a->of[SS_NEW_KIND].most == 3);
  assert_true(a->of[SS_NODES_DOUBLED].half == 1 && a->of[SS_NODES_DOUBLED].most == 1.4);
  assert_true(a->of[SS_NEW_COLLECTIVE].most == 0 && a->of[SS_SIZE_DOUBLED].half == 0); /* not said */
  assert_true(read_cluster("", &silent, &error) && !silent.accuracy.known && silent.accuracy.nodes_max == 0);
  assert_true(ss_cluster_same(&c, &silent));
}

static void test_what_cannot_be_is_refused(void **state) {
  (void)state;
  static const struct {
    const char *accuracy, *says;
  } bad[] = {{"{\"colectives\": []}", "collectives"},
             {"{\"collectives\": [\"broadcast\"]}", "allreduce"},
             {"{\"collectives\": \"allreduce\"}", "a list"},
             {"{\"kinds\": [\"rings\"]}", "chain"},
             {"{\"kinds\": [7]}", "kinds"},
             {"{\"nodes\": [8, 2]}", "the least and the most"},
             {"{\"nodes\": [2]}", "the least and the most"},
             {"{\"nodes\": [2, 4, 8]}", "the least and the most"},
             {"{\"nodes\": [0, 8]}", "nodes"},
             {"{\"nodes\": [2.5, 8]}", "nodes"},
             {"{\"bytes\": [1e300, 1e301]}", "the least and the most"},
             {"{\"bytes\": [4, 2]}", "the least and the most"},
             {"{\"bytes\": {}}", "the least and the most"},
             {"{\"measured\": {\"half\": 1.2}}", "most"},
             {"{\"measured\": {\"half\": 1.2, \"most\": 1.1}}", "factors"},
             {"{\"measured\": {\"half\": 0.2, \"most\": 1.1}}", "factors"},
             {"{\"measured\": {\"half\": 1.2, \"most\": 1e7}}", "factors"},
             {"{\"doubling\": 1.2}", "object"},
             {"{\"pooled\": 1}", "pooled"},
             {"[]", "object"}};
  for (size_t i = 0; i < COUNT(bad); i++) {
    struct ss_cluster c;
    struct ss_error error = {0};
    if (read_cluster(bad[i].accuracy, &c, &error)) fail_msg("%s is taken", bad[i].accuracy);
    if (!strstr(error.text, bad[i].says)) fail_msg("%s: %s", bad[i].accuracy, error.text);
    if (!strstr(error.text, "accuracy")) fail_msg("%s: no path in %s", bad[i].accuracy, error.text);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_what_is_said_is_read),
                                     cmocka_unit_test(test_what_cannot_be_is_refused)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
