#include "exec/mpi_player.h"

#include "exec/waiting.h"

/* What a receiver is told of each chunk before its payload comes. */
struct header {
  uint64_t bytes, count, low, high;
  uint32_t width, origin, part, dense;
};

/* A payload to be sent. */
struct message {
  const unsigned char *bytes;
  uint64_t size;
};

/* A payload on its way here. */
struct ss_mpi_arrival {
  uint32_t message;           /* its index in the round */
  uint32_t request;           /* the receive's */
  const struct ss_wire *wire; /* NULL: bytes without meaning */
  struct ss_chunk *chunks;    /* what the header says of each */
  uint64_t *sizes;            /* [count] B */
  uint32_t count;
  unsigned char *bytes;
  void *at; /* where MPI writes it: `bytes`, or memory of the GPU */
  uint64_t size;
};

/* The bytes of a payload that comes to an endpoint in pieces. */
struct ss_mpi_stream {
  const void *stream; /* of the portions */
  uint32_t endpoint;
  unsigned char *bytes; /* the iteration's: chunks lie in them */
};

/* Two processes list the messages between them in the same order, round after round, and MPI keeps the order of one
 * sender's messages of one tag: nothing has to number them. (Rounds cannot: a process need not know how many of them
 * groups play in which nobody lives here.) */
enum { HEADER_TAG, PAYLOAD_TAG };

static int home(const struct ss_mpi_player *p, uint32_t endpoint) {
  return (int)(endpoint % p->comm->size);
}

static bool lives_here(const struct ss_player *player, uint32_t endpoint) {
  const struct ss_mpi_player *p = (const struct ss_mpi_player *)player;
  return endpoint % p->comm->size == p->comm->rank;
}

/* --- what was encoded ------------------------------------------------------------------------------------- */

/* What a chunk looks like on the wire, the same in all but to whom it goes. The maker of a chunk encodes it once, to
 * however many it goes; a rank that passes it on sends the bytes that came. */
struct ss_encoded_entry {
  struct ss_chunk chunk;
  enum ss_wire_format format;
  const unsigned char *bytes;
};

enum { FEW = 64 };

static size_t slot_of(const struct ss_encoded_store *store, enum ss_wire_format format, const struct ss_chunk *c) {
  const uint64_t arrays = (uint64_t)(uintptr_t)c->rows ^ ss_mix((uint64_t)(uintptr_t)c->values, c->part);
  return (size_t)ss_mix(arrays, ((uint64_t)c->origin << 8) | format) & (store->capacity - 1);
}

/* Where the chunk is, or would be; there is always a free slot. */
static size_t find_encoded(const struct ss_encoded_store *store, enum ss_wire_format format,
                           const struct ss_chunk *c) {
  size_t at = slot_of(store, format, c);
  while (store->entry[at].bytes && !(store->entry[at].format == format && ss_chunk_same(&store->entry[at].chunk, c)))
    at = (at + 1) & (store->capacity - 1);
  return at;
}

static bool grow_encoded(struct ss_encoded_store *store) {
  struct ss_encoded_store larger = {.capacity = store->capacity ? 2 * store->capacity : FEW, .count = store->count};
  larger.entry = ss_alloc_zero(larger.capacity, sizeof *larger.entry);
  if (!larger.entry) return false;
  for (size_t i = 0; i < store->capacity; i++) {
    const struct ss_encoded_entry *e = &store->entry[i];
    if (e->bytes) larger.entry[find_encoded(&larger, e->format, &e->chunk)] = *e;
  }
  free(store->entry);
  *store = larger;
  return true;
}

/* Chunk's arrays and bytes must outlive the store, or its next reset. */
static bool keep_encoded(struct ss_encoded_store *store, const struct ss_wire *wire, const struct ss_chunk *chunk,
                         const unsigned char *bytes, struct ss_error *error) {
  if (2 * (store->count + 1) > store->capacity && !grow_encoded(store))
    return ss_fail_memory(error, "keeping what was encoded");
  struct ss_encoded_entry *e = &store->entry[find_encoded(store, wire->format, chunk)];
  store->count += !e->bytes;
  *e = (struct ss_encoded_entry){*chunk, wire->format, bytes};
  return true;
}

/* --- what is known -------------------------------------------------------------------------------------- */

static bool remember(struct ss_mpi_player *p, const void *bytes, uint64_t size, struct ss_error *error) {
  if (!ss_grow(p->heard, p->heard_capacity, p->heard_size + size)) return ss_fail_memory(error, "remembering sizes");
  if (size > 0) memcpy(p->heard + p->heard_size, bytes, size);
  p->heard_size += size;
  return true;
}

static bool recall(struct ss_mpi_player *p, void *bytes, uint64_t size, struct ss_error *error) {
  if (size > p->heard_size - p->recalled)
    return ss_fail(error, SS_UNPROVEN, "the timed run went another way than the one before it");
  if (size > 0) memcpy(bytes, p->heard + p->recalled, size);
  p->recalled += size;
  return true;
}

void ss_mpi_player_again(struct ss_mpi_player *p) {
  p->recalls = true;
  p->recalled = 0;
  if (p->encoded.capacity > 0) memset(p->encoded.entry, 0, p->encoded.capacity * sizeof *p->encoded.entry);
  p->encoded.count = 0;
  p->streams = 0;
  memset(p->sent, 0, p->endpoints * sizeof *p->sent);
  memset(p->received, 0, p->endpoints * sizeof *p->received);
}

/* --- pieces ----------------------------------------------------------------------------------------------- */

static struct ss_mpi_stream *find_stream(struct ss_mpi_player *p, const struct ss_portion *portion,
                                         uint32_t endpoint) {
  for (uint64_t i = p->streams; i-- > 0;)
    if (p->stream[i].stream == portion->stream && p->stream[i].endpoint == endpoint) return &p->stream[i];
  return NULL;
}

/* Where the piece is to come to lie. */
static unsigned char *place_piece(struct ss_mpi_player *p, const struct ss_portion *portion, uint32_t endpoint) {
  struct ss_mpi_stream *known = portion->first > 0 ? find_stream(p, portion, endpoint) : NULL;
  if (known) return known->bytes + portion->first;
  unsigned char *bytes = ss_arena_alloc(p->arena, portion->whole, 1);
  if (!bytes || !ss_grow(p->stream, p->streams_capacity, p->streams + 1)) return NULL;
  p->stream[p->streams++] = (struct ss_mpi_stream){portion->stream, endpoint, bytes};
  return bytes + portion->first;
}

/* Of what the chunks take, *m, the bytes that the message brings: `bytes` of them from `first` on, or zeros behind.
 */
static bool cut(struct ss_mpi_player *p, const struct ss_portion *portion, uint64_t bytes, struct message *m,
                struct ss_error *error) {
  const bool whole = portion->stream == NULL;
  if (whole ? m->size > bytes : portion->first + bytes > m->size || m->size != portion->whole)
    return ss_fail(error, SS_UNPROVEN, "%llu bytes are not what the sizes that were told say",
                   (unsigned long long)m->size);
  if (!whole) {
    *m = (struct message){m->bytes + portion->first, bytes};
    return true;
  }
  unsigned char *padded = ss_arena_zero(&p->buffers, bytes, 1);
  if (!padded) return ss_fail_memory(error, "padding a message");
  if (m->size > 0) memcpy(padded, m->bytes, m->size);
  *m = (struct message){padded, bytes};
  return true;
}

/* --- sending -------------------------------------------------------------------------------------------- */

static bool post_send(struct ss_mpi_player *p, const void *bytes, uint64_t size, uint32_t to, int tag,
                      struct ss_error *error) {
  if (size > INT_MAX)
    return ss_fail(error, SS_MACHINE, "a message of %llu bytes: MPI takes at most %d (take fewer rows)",
                   (unsigned long long)size, INT_MAX);
  return ss_mpi_check(
      MPI_Isend(bytes, (int)size, MPI_BYTE, home(p, to), tag, MPI_COMM_WORLD, &p->requests[p->requested++]),
      "sending", error);
}

static bool has_content(const struct ss_wire *wire, const struct ss_chunk *c) {
  uint64_t entries = wire->format == SS_WIRE_DENSE && c->dense ? c->high - c->low : c->count;
  bool wants_rows = wire->format != SS_WIRE_DENSE && wire->format != SS_WIRE_VALUES;
  bool wants_values = wire->format != SS_WIRE_INDICES && c->width > 0;
  bool values = wire->units || wire->value_bytes > sizeof(float) ? c->marks != NULL : c->values != NULL;
  if (wire->format == SS_WIRE_SKETCH) return entries == 0 || values;
  return entries == 0 || ((c->rows || !wants_rows) && (values || !wants_values));
}

/* A chunk's `size` bytes: where they lie, or made, once where nothing can be summed into the chunk meanwhile. */
static bool encode_one(struct ss_mpi_player *p, const struct ss_wire *wire, const struct ss_chunk *chunk,
                       uint64_t size, const unsigned char **out, struct ss_error *error) {
  enum ss_kernel_kind kernel;
  const bool kept = ss_wire_encoder(wire, chunk, &kernel);
  if (!kept) *out = ss_wire_as_it_lies(wire, chunk);
  else *out = p->encoded.count > 0 ? p->encoded.entry[find_encoded(&p->encoded, wire->format, chunk)].bytes : NULL;
  if (*out) return true;
  unsigned char *bytes = ss_arena_alloc(kept ? p->arena : &p->buffers, size, 1);
  if (!bytes) return ss_fail_memory(error, "encoding a message");
  ss_wire_encode(wire, chunk, bytes);
  *out = bytes;
  return !kept || keep_encoded(&p->encoded, wire, chunk, bytes, error);
}

/* Encodes the payload's chunks one after the other. */
static bool encode(struct ss_mpi_player *p, const struct ss_wire *wire, const struct ss_payload *payload,
                   uint32_t from, struct message *out, struct ss_error *error) {
  out->size = 0;
  for (uint32_t i = 0; i < payload->count; i++) {
    const struct ss_chunk *c = &payload->chunks[i];
    if (!has_content(wire, c))
      return ss_fail(error, SS_UNPROVEN, "endpoint %u is to send part %u of %u, but does not hold it", from, c->part,
                     c->origin);
    if (!ss_wire_exact(wire, c))
      return ss_fail(
          error, SS_BAD_INPUT,
          "endpoint %u is to send a sum of more than 2^24 units, which a float does not hold exactly: take "
          "fewer iterations or ranks",
          from);
    out->size += ss_wire_bytes(wire, c);
  }
  if (payload->count == 1) return encode_one(p, wire, payload->chunks, out->size, &out->bytes, error);
  const unsigned char *bytes;
  unsigned char *at = ss_arena_alloc(&p->buffers, out->size, 1);
  out->bytes = at;
  if (!at) return ss_fail_memory(error, "encoding a message");
  for (uint32_t i = 0; i < payload->count; i++) {
    const uint64_t size = ss_wire_bytes(wire, &payload->chunks[i]);
    if (!encode_one(p, wire, &payload->chunks[i], size, &bytes, error)) return false;
    if (size > 0) memcpy(at, bytes, size);
    at += size;
  }
  return true;
}

static bool send_header(struct ss_mpi_player *p, const struct ss_wire *wire, const struct ss_payload *payload,
                        uint32_t to, struct ss_error *error) {
  struct header *header = ss_arena_alloc(&p->buffers, payload->count, sizeof *header);
  if (!header) return ss_fail_memory(error, "announcing a message");
  for (uint32_t i = 0; i < payload->count; i++) {
    const struct ss_chunk *c = &payload->chunks[i];
    header[i] =
        (struct header){ss_wire_bytes(wire, c), c->count, c->low, c->high, c->width, c->origin, c->part, c->dense};
  }
  p->headers += payload->count * sizeof *header;
  return post_send(p, header, payload->count * sizeof *header, to, HEADER_TAG, error);
}

/* Bytes without meaning. */
static bool fill(struct ss_mpi_player *p, struct message *m, struct ss_error *error) {
  unsigned char *bytes = ss_arena_alloc(&p->buffers, m->size, 1);
  if (!bytes) return ss_fail_memory(error, "filling a message");
  for (uint64_t b = 0; b < m->size; b++) bytes[b] = (unsigned char)b;
  m->bytes = bytes;
  return true;
}

/* The bytes of a message, and its header before them. */
static bool prepare(struct ss_mpi_player *p, const struct ss_round *round, uint32_t i, struct message *m,
                    struct ss_error *error) {
  const uint32_t from = ss_message_from(&round->messages, i);
  const uint64_t bytes = ss_message_bytes(&round->messages, i);
  const struct ss_wire *wire = ss_round_wire(round, i);
  if (!wire) {
    m->size = bytes;
    return fill(p, m, error);
  }
  const struct ss_payload *payload = &round->payloads[i];
  const struct ss_portion *portion = payload->portion;
  const struct ss_mpi_stream *passed = portion && portion->stream ? find_stream(p, portion, from) : NULL;
  if (passed) *m = (struct message){passed->bytes, portion->whole};
  else if (!encode(p, wire, payload, from, m, error)) return false;
  if (portion && !cut(p, portion, bytes, m, error)) return false;
  return p->recalls || ss_payload_unfinished(payload, bytes) ||
         send_header(p, wire, payload, ss_message_to(&round->messages, i), error);
}

static bool send_all(struct ss_mpi_player *p, const struct ss_round *round, struct ss_error *error) {
  for (uint32_t i = 0; i < round->messages.count; i++) {
    uint32_t from = ss_message_from(&round->messages, i), to = ss_message_to(&round->messages, i);
    struct message m = {0};
    if (!lives_here(&p->player, from)) continue;
    if (!prepare(p, round, i, &m, error)) return false;
    const void *at = m.bytes;
    if (p->gpu && !ss_gpu_buffers_send(p->gpu, m.bytes, m.size, &at, error)) return false;
    if (!post_send(p, at, m.size, to, PAYLOAD_TAG, error)) return false;
    p->sent[from] += m.size;
  }
  return true;
}

/* --- receiving ------------------------------------------------------------------------------------------ */

/* The size of the next message with that tag from the process in which `from` lives, taken off its queue. */
static bool next_message(struct ss_mpi_player *p, uint32_t from, int tag, MPI_Message *message, uint64_t *size,
                         struct ss_error *error) {
  MPI_Status status;
  int count;
  if (!ss_mpi_check(ss_wait_probe(home(p, from), tag, message, &status), "receiving", error) ||
      !ss_mpi_check(MPI_Get_count(&status, MPI_BYTE, &count), "receiving", error))
    return false;
  if (count < 0) return ss_fail(error, SS_MACHINE, "MPI cannot say the size of a message");
  *size = (uint64_t)count;
  return true;
}

/* A chunk without content as the header has it, and the bytes it takes; false when no such chunk can be. */
static bool chunk_of(const struct ss_wire *wire, const struct header *h, struct ss_chunk *out, uint64_t *bytes) {
  uint64_t elements, range;
  if (h->low > h->high || h->high > UINT64_C(1) << 32 || h->width > INT_MAX || h->count > INT_MAX) return false;
  if (!ss_mul_u64(h->count, h->width, &elements) || elements > INT_MAX) return false;
  if (!ss_mul_u64(h->high - h->low, h->width, &range)) return false;
  if (wire->format == SS_WIRE_DENSE && range > INT_MAX) return false;
  *out = (struct ss_chunk){.count = h->count,
                           .low = h->low,
                           .high = h->high,
                           .width = h->width,
                           .stride = h->width,
                           .origin = h->origin,
                           .part = h->part,
                           .dense = h->dense != 0};
  /* which blocks come is in the blocks */
  *bytes = wire->format == SS_WIRE_BLOCK ? h->bytes : ss_wire_bytes(wire, out);
  return *bytes == h->bytes && *bytes <= INT_MAX;
}

/* The rows come with the payload, except where the receiver knows them. */
static bool fill_rows(const struct ss_payload *payload, struct ss_mpi_arrival *a, struct ss_error *error) {
  if (a->wire->format != SS_WIRE_VALUES) return true;
  bool good = payload && payload->known && payload->count == a->count;
  for (uint32_t i = 0; good && i < a->count; i++) {
    a->chunks[i].rows = payload->known[i].rows;
    good = payload->known[i].count == a->chunks[i].count && (a->chunks[i].rows || a->chunks[i].count == 0);
  }
  return good ? true : ss_fail(error, SS_UNPROVEN, "received values of rows that are not known here");
}

/* The headers of a message's chunks, one after the other; *size in bytes. */
static bool hear_header(struct ss_mpi_player *p, uint32_t from, struct header **header, uint64_t *size,
                        struct ss_error *error) {
  MPI_Message message;
  if (!(p->recalls ? recall(p, size, sizeof *size, error) : next_message(p, from, HEADER_TAG, &message, size, error)))
    return false;
  *header = ss_arena_alloc(&p->buffers, *size / sizeof **header + 1, sizeof **header);
  if (!*header) return ss_fail_memory(error, "receiving a message");
  if (p->recalls) return recall(p, *header, *size, error);
  return ss_mpi_check(MPI_Mrecv(*header, (int)*size, MPI_BYTE, &message, MPI_STATUS_IGNORE), "receiving", error) &&
         remember(p, size, sizeof *size, error) && remember(p, *header, *size, error);
}

static bool receive_header(struct ss_mpi_player *p, uint32_t from, struct ss_mpi_arrival *a, struct ss_error *error) {
  uint64_t size;
  struct header *header;
  if (!hear_header(p, from, &header, &size, error)) return false;
  a->count = (uint32_t)(size / sizeof *header);
  if (!ss_take(p->arena, a->chunks, a->count) || !ss_take(&p->buffers, a->sizes, a->count))
    return ss_fail_memory(error, "receiving a message");
  bool good = size % sizeof *header == 0;
  for (uint32_t i = 0; good && i < a->count; i++) {
    good = chunk_of(a->wire, &header[i], &a->chunks[i], &a->sizes[i]);
    a->size += good ? a->sizes[i] : 0;
  }
  return good && a->size <= INT_MAX ? true
                                    : ss_fail(error, SS_UNPROVEN, "endpoint %u announced what cannot be sent", from);
}

/* Posts the receive of one payload. */
static bool receive(struct ss_mpi_player *p, const struct ss_round *round, uint32_t i, struct ss_error *error) {
  const uint32_t from = ss_message_from(&round->messages, i);
  const uint64_t bytes = ss_message_bytes(&round->messages, i);
  const struct ss_payload *payload = round->payloads ? &round->payloads[i] : NULL;
  const struct ss_portion *portion = payload ? payload->portion : NULL;
  struct ss_mpi_arrival *a = &p->arrivals[p->arriving++];
  *a = (struct ss_mpi_arrival){.message = i, .request = p->requested, .wire = ss_round_wire(round, i)};
  if (payload && ss_payload_unfinished(payload, bytes)) a->wire = NULL;
  if (a->wire && (!receive_header(p, from, a, error) || !fill_rows(payload, a, error))) return false;
  if (portion && a->wire && (portion->stream ? a->size != portion->whole : a->size > bytes))
    return ss_fail(error, SS_UNPROVEN, "endpoint %u announced other sizes than it told before", from);
  if (!a->wire || portion) a->size = bytes;
  if (a->size > INT_MAX) return ss_fail(error, SS_MACHINE, "a message of %llu bytes", (unsigned long long)a->size);
  /* chunks lie in what came, and what came may be passed on */
  a->bytes = portion && portion->stream ? place_piece(p, portion, ss_message_to(&round->messages, i))
                                        : ss_arena_alloc(a->wire ? p->arena : &p->buffers, a->size, 1);
  if (!a->bytes) return ss_fail_memory(error, "receiving a message");
  a->at = a->bytes;
  if (p->gpu && !ss_gpu_buffers_place(p->gpu, a->size, &a->at, error)) return false;
  return ss_mpi_check(MPI_Irecv(a->at, (int)a->size, MPI_BYTE, home(p, from), PAYLOAD_TAG, MPI_COMM_WORLD,
                                &p->requests[p->requested++]),
                      "receiving", error);
}

static bool receive_all(struct ss_mpi_player *p, const struct ss_round *round, struct ss_error *error) {
  for (uint32_t i = 0; i < round->messages.count; i++)
    if (lives_here(&p->player, ss_message_to(&round->messages, i)) && !receive(p, round, i, error)) return false;
  return true;
}

static bool wait_all(struct ss_mpi_player *p, struct ss_error *error) {
  int code = ss_wait_all((int)p->requested, p->requests, p->statuses);
  if (code != MPI_ERR_IN_STATUS) return ss_mpi_check(code, "playing a round", error);
  for (uint32_t i = 0; i < p->requested; i++)
    if (!ss_mpi_check(p->statuses[i].MPI_ERROR, "playing a round", error)) return false;
  return ss_mpi_check(code, "playing a round", error);
}

static bool decode(struct ss_mpi_player *p, struct ss_round *round, const struct ss_mpi_arrival *a,
                   struct ss_error *error) {
  struct ss_payload *payload = &round->payloads[a->message];
  const struct ss_portion *portion = payload->portion;
  const unsigned char *bytes = a->bytes - (portion ? portion->first : 0);
  enum ss_kernel_kind kernel;
  for (uint32_t i = 0; i < a->count; i++) {
    struct ss_chunk known = a->chunks[i];
    if (!ss_wire_decode(a->wire, &known, (struct ss_encoded){bytes, a->sizes[i], true}, p->arena, &a->chunks[i],
                        error))
      return false;
    if (ss_wire_encoder(a->wire, &known, &kernel) && !keep_encoded(&p->encoded, a->wire, &a->chunks[i], bytes, error))
      return false;
    bytes += a->sizes[i];
  }
  payload->chunks = a->chunks;
  payload->count = a->count;
  return true;
}

/* Counts what came, and makes chunks of it. */
static bool take_all(struct ss_mpi_player *p, struct ss_round *round, struct ss_error *error) {
  for (uint32_t i = 0; i < p->arriving; i++) {
    const struct ss_mpi_arrival *a = &p->arrivals[i];
    int count;
    if (!ss_mpi_check(MPI_Get_count(&p->statuses[a->request], MPI_BYTE, &count), "receiving", error)) return false;
    if (count < 0 || (uint64_t)count != a->size)
      return ss_fail(error, SS_UNPROVEN, "received %d bytes where %llu were announced", count,
                     (unsigned long long)a->size);
    p->received[ss_message_to(&round->messages, a->message)] += (uint64_t)count;
    if (p->gpu && !ss_gpu_buffers_fetch(p->gpu, a->bytes, a->at, a->size, error)) return false;
    if (a->wire && !decode(p, round, a, error)) return false;
  }
  return true;
}

/* --- rounds --------------------------------------------------------------------------------------------- */

static bool allocate(struct ss_mpi_player *p, uint32_t messages, struct ss_error *error) {
  if (messages <= p->capacity) return true;
  free(p->requests);
  free(p->statuses);
  free(p->arrivals);
  p->requests = ss_alloc(messages, 3 * sizeof(MPI_Request));
  p->statuses = ss_alloc(messages, 3 * sizeof(MPI_Status));
  p->arrivals = ss_alloc(messages, sizeof *p->arrivals);
  p->capacity = p->requests && p->statuses && p->arrivals ? messages : 0;
  return p->capacity > 0 ? true : ss_fail_memory(error, "making room for a round");
}

static bool play(struct ss_player *player, struct ss_round *round, struct ss_error *error) {
  struct ss_mpi_player *p = (struct ss_mpi_player *)player;
  if (round->messages.count == 0) return true;
  if (!allocate(p, round->messages.count, error)) return false;
  ss_arena_reset(&p->buffers);
  if (p->gpu) ss_gpu_buffers_release(p->gpu);
  p->requested = p->arriving = 0;
  /* All sends are posted before anything is waited for, so no cycle of senders can block. */
  if (!send_all(p, round, error) || !receive_all(p, round, error)) return false;
  return wait_all(p, error) && take_all(p, round, error);
}

/* --- what the model takes as known ----------------------------------------------------------------------- */

static bool pool(struct ss_player *player, uint64_t *numbers, uint64_t count, enum ss_pool how,
                 struct ss_error *error) {
  struct ss_mpi_player *p = (struct ss_mpi_player *)player;
  if (p->recalls) return recall(p, numbers, count * sizeof *numbers, error);
  const int code = ss_wait_allreduce_table(numbers, count, MPI_UINT64_T, how == SS_POOL_SUM ? MPI_SUM : MPI_BOR);
  if (!ss_mpi_check(code, "telling all ranks what the model takes as known", error)) return false;
  return remember(p, numbers, count * sizeof *numbers, error);
}

bool ss_mpi_player_open(struct ss_mpi_player *p, const struct ss_communicator *comm, struct ss_gpu_buffers *gpu,
                        uint32_t servers, struct ss_arena *arena, struct ss_error *error) {
  *p = (struct ss_mpi_player){.player = {.play = play, .resident = lives_here, .pool = pool},
                              .comm = comm,
                              .gpu = gpu,
                              .arena = arena,
                              .endpoints = comm->size + servers};
  p->sent = ss_alloc_zero(p->endpoints, sizeof *p->sent);
  p->received = ss_alloc_zero(p->endpoints, sizeof *p->received);
  if (p->sent && p->received) return true;
  ss_mpi_player_close(p);
  return ss_fail_memory(error, "making room for the endpoints");
}

void ss_mpi_player_close(struct ss_mpi_player *p) {
  free(p->sent);
  free(p->received);
  free(p->requests);
  free(p->statuses);
  free(p->arrivals);
  free(p->heard);
  free(p->stream);
  free(p->encoded.entry);
  ss_arena_free(&p->buffers);
  *p = (struct ss_mpi_player){0};
}
/* SPDX-License-Identifier: Apache-2.0 */
