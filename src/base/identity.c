#include "base/identity.h"

#include "base/units.h"

#include <cjson/cJSON.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

/* `kind`: equal bytes of different kinds say different things. */
static struct ss_identity hash(const void *bytes, size_t size, int kind) {
  const XXH128_hash_t hash = XXH3_128bits_withSeed(bytes, size, (XXH64_hash_t)kind);
  return (struct ss_identity){hash.high64, hash.low64};
}

struct ss_identity ss_identity_join(struct ss_identity a, struct ss_identity b) {
  const struct ss_identity both[] = {a, b};
  return hash(both, sizeof both, cJSON_Array);
}

static struct ss_identity of_number(double number) {
  const double value = number + 0.0; /* -0 is 0 */
  return hash(&value, sizeof value, cJSON_Number);
}

/* A quantity says its number, whatever unit it has. */
static struct ss_identity of_text(const char *text) {
  static const enum ss_dimension order[] = {SS_NUMBER, SS_RATE, SS_TIME, SS_BYTES, SS_RATIO};
  double number;
  for (size_t i = 0; text[0] <= '9' && i < sizeof order / sizeof *order; i++)
    if (ss_units_parse(text, order[i], &number, NULL)) return of_number(number);
  return hash(text, strlen(text), cJSON_String);
}

/* Members are added up, so that their order is lost; those of a list are not. */
struct ss_identity ss_identity_of(const cJSON *tree) {
  const int kind = tree ? tree->type & 0xff : cJSON_Invalid;
  struct ss_identity all = {0};
  if (kind == cJSON_Number) return of_number(tree->valuedouble);
  if (kind == cJSON_String) return of_text(tree->valuestring);
  if (kind != cJSON_Object && kind != cJSON_Array) return hash(NULL, 0, kind);
  for (const cJSON *member = tree->child; member; member = member->next) {
    struct ss_identity one = ss_identity_of(member);
    if (kind == cJSON_Array) {
      all = ss_identity_join(all, one);
      continue;
    }
    one = ss_identity_join(hash(member->string, strlen(member->string), kind), one);
    all.high += one.high;
    all.low += one.low;
  }
  return hash(&all, sizeof all, kind);
}

/* --- lists ---------------------------------------------------------------------------------------------- */

static int compare_keys(const void *a, const void *b) {
  const struct ss_keyed *x = a, *y = b;
  if (x->key.high != y->key.high) return x->key.high < y->key.high ? -1 : 1;
  return x->key.low < y->key.low ? -1 : x->key.low > y->key.low;
}

static int by_key_and_index(const void *a, const void *b) {
  const struct ss_keyed *x = a, *y = b;
  const int order = compare_keys(a, b);
  return order != 0 ? order : x->index < y->index ? -1 : x->index > y->index;
}

void ss_keyed_sort(struct ss_keyed *list, size_t count) {
  if (count > 0) qsort(list, count, sizeof *list, by_key_and_index);
}

const struct ss_keyed *ss_keyed_find(const struct ss_keyed *list, size_t count, struct ss_identity key) {
  const struct ss_keyed wanted = {.key = key};
  const struct ss_keyed *found = count > 0 ? bsearch(&wanted, list, count, sizeof wanted, compare_keys) : NULL;
  while (found && found > list && compare_keys(found - 1, found) == 0) found--;
  return found;
}
/* SPDX-License-Identifier: Apache-2.0 */
