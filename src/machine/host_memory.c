#include "machine/host_memory.h"

struct ss_host_piece ss_host_at(const struct ss_host_memory *memory, uint64_t bytes) {
  const struct ss_host_piece *piece = memory->piece;
  if (memory->pieces == 0) return (struct ss_host_piece){.up_to = UINT64_MAX};
  while (piece->up_to < bytes) piece++;
  return *piece;
}

double ss_host_filled(struct ss_host_moves moves, uint32_t ranks) {
  const bool power_of_two = (ranks & (ranks - 1)) == 0, one_over = ranks % 2 == 1 && ((ranks - 1) & (ranks - 2)) == 0;
  return moves.buffers + moves.halving * (power_of_two ? 0.5 : 1) +
         moves.halved * (power_of_two || one_over ? 0.5 : 1);
}

double ss_host_pages(const struct ss_host_piece *piece, uint64_t bytes, double filled) {
  return bytes < SS_GIVEN_BACK ? 0 : piece->page * (double)bytes * filled;
}

/* --- reading ------------------------------------------------------------------------------------------------ */

#define COSTS                                                                                                        \
  {"sum_per_byte", "for each byte that is added to another", SS_IS_TIME, SS_STORED(struct ss_host_piece, sum)}, {    \
    "page_per_byte", "for each byte of a buffer of 32 MiB or more, whose pages come anew in every call", SS_IS_TIME, \
        .usual = "0", SS_STORED(struct ss_host_piece, page)                                                          \
  }

static const struct ss_field_spec cost_fields[] = {COSTS, {.name = NULL}};
static const struct ss_object_spec cost_spec = {.field = cost_fields};
static const struct ss_field_spec piece_fields[] = {
    {"up_to", "the largest vector that it is of", .kind = SS_SPEC_POSITIVE, .dimension = SS_BYTES, .most = 0x1p53},
    COSTS,
    {.name = NULL}};
static const struct ss_object_spec piece_spec = {.field = piece_fields, .rules = "{'required': ['sum_per_byte']}"};
static const struct ss_field_spec a_piece = {NULL, NULL, SS_IS_OBJECT(&piece_spec)};
static const struct ss_field_spec memory_fields[] = {
    COSTS,
    {"pieces", "in place of both, by the size of the whole vector, smallest first; all but the last say up to where",
     SS_IS_LIST(&a_piece, 1, SS_HOST_PIECES), .against = "sum_per_byte page_per_byte"},
    {.name = NULL}};
const struct ss_object_spec ss_host_memory_fields = {
    .name = "memory",
    .says = "what sums, copies and buffers of an MPI library take within a CPU's memory",
    .field = memory_fields,
    .rules = "{'anyOf': [{'required': ['sum_per_byte']}, {'required': ['pieces']}]}"};

static bool read_costs(struct ss_node node, struct ss_host_piece *piece, struct ss_error *error) {
  struct ss_node needed;
  *piece = (struct ss_host_piece){.up_to = UINT64_MAX};
  return ss_node_need(node, "sum_per_byte", &needed, error) && ss_object_read_known(&cost_spec, node, piece, error);
}

/* All but the last say up to where they are meant. */
static bool read_limit(struct ss_node node, bool last, uint64_t before, uint64_t *out, struct ss_error *error) {
  struct ss_node up_to = ss_node_get(node, "up_to");
  double bytes;
  if (last) return !ss_node_present(up_to) || ss_node_fail(up_to, error, "the last piece is for all larger vectors");
  if (!ss_node_need(node, "up_to", &up_to, error) || !ss_node_positive(up_to, SS_BYTES, &bytes, error)) return false;
  if (!(bytes < 0x1p53)) return ss_node_fail(up_to, error, "%g B is out of range", bytes);
  *out = (uint64_t)bytes;
  return *out > before || ss_node_fail(up_to, error, "is not above the piece before it");
}

bool ss_host_memory_read(struct ss_node node, struct ss_host_memory *out, struct ss_error *error) {
  const struct ss_node list = ss_node_get(node, "pieces");
  uint64_t before = 0;
  *out = (struct ss_host_memory){0};
  if (!ss_node_present(node)) return true;
  if (!ss_object_check_keys(&ss_host_memory_fields, node, error)) return false;
  if (!ss_node_present(list)) return read_costs(node, &out->piece[out->pieces++], error);
  if (!ss_node_is_array(list) || ss_node_size(list) == 0 || ss_node_size(list) > SS_HOST_PIECES)
    return ss_node_fail(list, error, "expected a list of 1 to %d pieces", SS_HOST_PIECES);
  for (struct ss_node n = ss_node_first(list); ss_node_present(n); n = ss_node_next(n)) {
    struct ss_host_piece *piece = &out->piece[out->pieces++];
    if (!ss_object_check_keys(&piece_spec, n, error) || !read_costs(n, piece, error) ||
        !read_limit(n, out->pieces == ss_node_size(list), before, &piece->up_to, error))
      return false;
    before = piece->up_to;
  }
  return true;
}
/* SPDX-License-Identifier: Apache-2.0 */
