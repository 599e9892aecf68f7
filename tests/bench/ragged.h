/* The sizes of a ragged exchange that the bench and the peer's judge play: 0.5 to 1.5 MiB, spread by a hash. */
#pragma once

#include <stdint.h>

static inline uint64_t ragged_bytes(uint32_t rank, uint32_t round) {
  const uint64_t mixed = (rank * 0x9e3779b97f4a7c15u) ^ ((round + 1) * 0xbf58476d1ce4e5b9u);
  return (1u << 19) + ((mixed ^ mixed >> 29) * 0x94d049bb133111ebu >> 44);
}
/* SPDX-License-Identifier: Apache-2.0 */
