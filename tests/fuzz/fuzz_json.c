/* JSON: whatever is taken can be walked, read, named, edited, printed and parsed again. */
#include "base/json.h"

#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_every_way(struct ss_node node) {
  static const char *const words[] = {"name", "zen", "cluster", NULL};
  struct ss_error error;
  const char *text;
  double value;
  uint64_t count;
  bool flag;
  size_t choice;
  struct ss_node member;
  bool read = ss_node_keys(node, words, &error);
  read = ss_node_need(node, "name", &member, &error) || read;
  read = ss_node_text(node, &text, &error) || read;
  read = ss_node_positive(node, SS_RATE, &value, &error) || read;
  read = ss_node_nonnegative(node, SS_RATIO, &value, &error) || read;
  read = ss_node_count(node, 0, UINT64_MAX, &count, &error) || read;
  read = ss_node_flag(node, &flag, &error) || read;
  read = ss_node_choice(node, words, &choice, &error) || read;
  if (!read && error.status != SS_BAD_INPUT) abort();
}

static void visit(struct ss_node node, size_t *budget) {
  if (*budget == 0) return;
  --*budget;
  read_every_way(node);
  for (struct ss_node member = ss_node_first(node); ss_node_present(member); member = ss_node_next(member))
    visit(member, budget);
}

/* The path that messages print must lead ss_doc_set back to the place. */
static void set_by_printed_path(struct ss_doc *doc) {
  struct ss_node node = ss_doc_root(doc);
  while (ss_node_present(ss_node_first(node))) node = ss_node_first(node);
  char path[300];
  ss_node_path(node, path, sizeof path);
  struct ss_error error;
  if (!ss_doc_set(doc, path, "[1]", &error) && error.status != SS_BAD_INPUT) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct ss_doc *doc = NULL, *again = NULL;
  struct ss_error error;
  if (!ss_doc_parse("fuzz", (const char *)data, size, &doc, &error)) {
    if (error.status != SS_BAD_INPUT || strlen(error.text) < 20) abort();
    char *path = strndup((const char *)data, size);
    if (path == NULL || !ss_doc_empty("fuzz", &doc, &error)) abort();
    if (!ss_doc_set(doc, path, path, &error) && error.status != SS_BAD_INPUT) abort();
    free(path);
  }
  size_t budget = 200;
  visit(ss_doc_root(doc), &budget);
  set_by_printed_path(doc);
  char *printed = cJSON_PrintUnformatted(ss_doc_root(doc).at);
  if (printed == NULL || !ss_doc_parse("again", printed, strlen(printed), &again, &error)) abort();
  cJSON_free(printed);
  ss_doc_free(again);
  ss_doc_free(doc);
  return 0;
}
/* SPDX-License-Identifier: Apache-2.0 */
