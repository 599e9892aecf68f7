/* The MPI player: rounds really sent, one rank a process.
 *
 * It is the engine's counterpart (sim/engine.h): a scheme hands it the same rounds. A message whose sender lives here
 * is encoded in the round's wire format and sent; one whose receiver lives here is received and decoded; the rest
 * happens elsewhere. Endpoint e lives in process e mod P, so server s (endpoint P + s) in process s mod P.
 *
 * The model says that receivers know sizes, ranges and parts for free (docs/model.md, "sizes"). Here they have to
 * learn them: before each payload a *header* travels on a tag of its own, counted apart, so that the payload's bytes
 * are those of the wire format and nothing else. Numbers that the model takes as known to all are all-reduced, and
 * counted nowhere. */
#pragma once

#include "exec/gpu_buffers.h"
#include "sim/play.h"

#include <mpi.h>

struct ss_encoded_entry;
struct ss_mpi_arrival;
struct ss_mpi_stream;

/* What was encoded, kept for an iteration. */
struct ss_encoded_store {
  struct ss_encoded_entry *entry; /* [capacity] by hash; those without bytes are free */
  size_t capacity, count;
};

struct ss_mpi_player {
  struct ss_player player; /* first: a player is the MPI player it stands in */
  const struct ss_communicator *comm;
  struct ss_gpu_buffers *gpu; /* where payloads lie for MPI; NULL: in the host's memory */
  struct ss_arena *arena;     /* the iteration's: what is received must outlive its round */
  uint32_t endpoints;         /* ranks, then servers */
  uint64_t *sent,
      *received;    /* [endpoints] B of payload given to MPI_Isend and got by a receive; 0 for those elsewhere */
  uint64_t headers; /* B of headers that this process sent */

  /* What was heard that the model takes as known: headers, and numbers that were pooled, one after the other. */
  unsigned char *heard;
  uint64_t heard_size, heard_capacity, recalled; /* B */
  bool recalls;                                  /* plays it again, and hears nothing new */

  struct ss_encoded_store encoded; /* of sparse payloads, since the rounds began */

  struct ss_mpi_stream *stream; /* what came in pieces, which are passed on before all are there */
  uint64_t streams, streams_capacity;

  /* of the round being played */
  struct ss_arena buffers;
  MPI_Request *requests;
  MPI_Status *statuses;
  struct ss_mpi_arrival *arrivals;
  uint32_t capacity, requested, arriving; /* capacity counts messages; each takes up to three requests */
};

/* `comm`, `gpu`, which may be NULL, and `arena` must outlive the player. */
bool ss_mpi_player_open(struct ss_mpi_player *player, const struct ss_communicator *comm, struct ss_gpu_buffers *gpu,
                        uint32_t servers, struct ss_arena *arena, struct ss_error *error) SS_MUST_CHECK;
/* From here on the same rounds are played once more, by ranks that know all sizes, ranges and pooled numbers from the
 * first time: no headers travel. Payload bytes are counted anew. */
void ss_mpi_player_again(struct ss_mpi_player *player);
void ss_mpi_player_close(struct ss_mpi_player *player);
/* SPDX-License-Identifier: Apache-2.0 */
