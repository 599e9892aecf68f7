#include "machine/library.h"

#include "base/data.h"
#include "machine/cluster.h"

const char *const ss_library_names[] = {"none", "nccl", "openmpi", "mpich", "cray-mpich", "gloo", NULL};
const char *const ss_collective_names[] = {"allreduce", "allgather", "reduce_scatter", "alltoall", "broadcast",
                                           "reduce",    "sendrecv",  "ping_pong",      NULL};
const char *const ss_way_names[] = {"ring", "tree", NULL};
const char *const ss_protocol_names[] = {"ll", "ll128", "simple", NULL};
const char *const ss_gpu_names[] = {"volta", "ampere", "hopper", NULL};
const char *const ss_cpu_names[] = {"intel", "amd", NULL};
static const char *const inside_names[] = {"nvlink", "pci", NULL};

/* --- what NCCL believes: models/libraries ------------------------------------------------------------------- */

static const struct ss_field_spec protocol_fields[] = {
    {"ll", NULL, SS_IS_TIME, .required = true, SS_STORED(struct ss_by_protocol, of[SS_LL])},
    {"ll128", NULL, SS_IS_TIME, .required = true, SS_STORED(struct ss_by_protocol, of[SS_LL128])},
    {"simple", NULL, SS_IS_TIME, .required = true, SS_STORED(struct ss_by_protocol, of[SS_SIMPLE])},
    {.name = NULL}};
static const struct ss_object_spec protocol_spec = {.name = "by-protocol", .field = protocol_fields};

#define BYTES(member) SS_IS_COUNT(1, 1 << 30), .required = true, SS_STORED(struct ss_beliefs, member)
static const struct ss_field_spec chunk_fields[] = {{"ll", NULL, BYTES(chunk[SS_LL])},
                                                    {"ll128", NULL, BYTES(chunk[SS_LL128])},
                                                    {"simple", NULL, BYTES(chunk[SS_SIMPLE])},
                                                    {.name = NULL}};
static const struct ss_field_spec channel_fields[] = {{"ll", NULL, BYTES(channel_least[SS_LL])},
                                                      {"ll128", NULL, BYTES(channel_least[SS_LL128])},
                                                      {"simple", NULL, BYTES(channel_least[SS_SIMPLE])},
                                                      {.name = NULL}};
static const struct ss_object_spec chunk_spec = {.field = chunk_fields}, channel_spec = {.field = channel_fields};

static const struct ss_field_spec way_fields[] = {
    {"ring", NULL, SS_IS_OBJECT(&protocol_spec), .required = true, SS_STORED(struct ss_by_way, of[SS_WAY_RING])},
    {"tree", NULL, SS_IS_OBJECT(&protocol_spec), .required = true, SS_STORED(struct ss_by_way, of[SS_WAY_TREE])},
    {.name = NULL}};
static const struct ss_object_spec way_spec = {.name = "by-algorithm", .field = way_fields};

static const struct ss_field_spec nodes_fields[] = {
    {"one_node", NULL, SS_IS_RATE, .required = true, SS_STORED(struct ss_by_nodes, of[0])},
    {"two_nodes", NULL, SS_IS_RATE, .required = true, SS_STORED(struct ss_by_nodes, of[1])},
    {"more_nodes", NULL, SS_IS_RATE, .required = true, SS_STORED(struct ss_by_nodes, of[2])},
    {.name = NULL}};
static const struct ss_object_spec nodes_spec = {.name = "by-nodes", .field = nodes_fields};

/* Members of each GPU, of an array in the beliefs. */
struct gpu_nodes {
  struct ss_by_nodes of[SS_GPUS];
};
struct gpu_numbers {
  double of[SS_GPUS];
};
#define OF_GPUS(type, ...)                                                                                           \
  {"volta", NULL, __VA_ARGS__, .required = true, SS_STORED(type, of[SS_VOLTA])},                                     \
      {"ampere", NULL, __VA_ARGS__, .required = true, SS_STORED(type, of[SS_AMPERE])}, {                             \
    "hopper", NULL, __VA_ARGS__, .required = true, SS_STORED(type, of[SS_HOPPER])                                    \
  }
static const struct ss_field_spec gpu_nodes_fields[] = {OF_GPUS(struct gpu_nodes, SS_IS_OBJECT(&nodes_spec)),
                                                        {.name = NULL}};
static const struct ss_field_spec gpu_rates_fields[] = {OF_GPUS(struct gpu_numbers, SS_IS_RATE), {.name = NULL}};
static const struct ss_field_spec gpu_ratios_fields[] = {OF_GPUS(struct gpu_numbers, SS_IS_SHARE), {.name = NULL}};
static const struct ss_object_spec gpu_nodes_spec = {.name = "by-gpu-and-nodes", .field = gpu_nodes_fields},
                                   gpu_rates_spec = {.name = "rates-by-gpu", .field = gpu_rates_fields},
                                   gpu_ratios_spec = {.name = "ratios-by-gpu", .field = gpu_ratios_fields};

static const struct ss_field_spec post_fields[] = {
    {"intel", NULL, SS_IS_TIME, .required = true, SS_STORED(struct ss_beliefs, post[SS_INTEL])},
    {"amd", NULL, SS_IS_TIME, .required = true, SS_STORED(struct ss_beliefs, post[SS_AMD])},
    {.name = NULL}};
#define SHARE(name_) SS_IS_SHARE, .required = true, SS_STORED(struct ss_beliefs, share.name_)
static const struct ss_field_spec share_fields[] = {{"ring_ll", NULL, SHARE(ring_ll)},
                                                    {"ring_ll_one_way_in_a_node", NULL, SHARE(ring_ll_one_way)},
                                                    {"ring_ll128", NULL, SHARE(ring_ll128)},
                                                    {"ring_ll128_one_rank", NULL, SHARE(ring_ll128_one_rank)},
                                                    {"tree", NULL, SHARE(tree)},
                                                    {"tree_ll", "of what is left of \"tree\"", SHARE(tree_ll)},
                                                    {"tree_ll128", "likewise", SHARE(tree_ll128)},
                                                    {"tree_ll128_in_a_node", "likewise", SHARE(tree_ll128_inside)},
                                                    {.name = NULL}};

static bool read_correction(struct ss_node list, void *out, struct ss_error *error) {
  double *correction = out;
  if (!ss_node_numbers(list, SS_CORRECTIONS, correction, error)) return false;
  for (int i = 0; i < SS_CORRECTIONS; i++)
    if (!(correction[i] > 0)) return ss_node_fail(list, error, "expected factors above 0");
  return true;
}

static bool read_speeds(struct ss_node list, void *out, struct ss_error *error) {
  double *speeds = out;
  struct ss_node node = ss_node_first(list);
  if (!ss_node_is_array(list) || ss_node_size(list) < 1 || ss_node_size(list) > SS_SPEEDS)
    return ss_node_fail(list, error, "expected a list of 1 to %d bandwidths", SS_SPEEDS);
  for (size_t i = 0; i < ss_node_size(list); i++, node = ss_node_next(node))
    if (!ss_node_positive(node, SS_RATE, &speeds[i], error)) return false;
  return true;
}

static const struct ss_field_spec a_factor = {NULL, NULL, SS_IS_SHARE}, a_speed = {NULL, NULL, SS_IS_RATE};
#define CORRECTION(protocol)                                                                                         \
  SS_IS_LIST(&a_factor, SS_CORRECTIONS, SS_CORRECTIONS), .required = true, .read = read_correction,                  \
                                                         SS_STORED(struct ss_beliefs, correction[protocol])
static const struct ss_field_spec correction_fields[] = {{"ll", NULL, CORRECTION(SS_LL)},
                                                         {"ll128", NULL, CORRECTION(SS_LL128)},
                                                         {"simple", NULL, CORRECTION(SS_SIMPLE)},
                                                         {.name = NULL}};
#define SPEEDS(hopper, between)                                                                                      \
  SS_IS_LIST(&a_speed, 1, SS_SPEEDS), .required = true, .read = read_speeds,                                         \
                                      SS_STORED(struct ss_beliefs, speeds[hopper][between])
static const struct ss_field_spec speed_fields[] = {{"inside", NULL, SPEEDS(0, 0)},
                                                    {"between", NULL, SPEEDS(0, 1)},
                                                    {"hopper_inside", NULL, SPEEDS(1, 0)},
                                                    {"hopper_between", NULL, SPEEDS(1, 1)},
                                                    {.name = NULL}};
static const struct ss_object_spec post_spec = {.field = post_fields}, share_spec = {.field = share_fields},
                                   correction_spec = {.field = correction_fields},
                                   speed_spec = {.field = speed_fields};

/* An object whose fields are members of the beliefs themselves. */
#define PART(spec) SS_IS_OBJECT(spec), .required = true, .size = sizeof(struct ss_beliefs)
#define NEEDED(spec) SS_IS_OBJECT(spec), .required = true
#define STORED(member) SS_STORED(struct ss_beliefs, member)
static const struct ss_field_spec beliefs_fields[] = {
    {"name", NULL, SS_IS_NAME, .required = true},
    {"version", NULL, SS_IS_NAME, .required = true},
    SS_SPEC_SUMMARY,
    {"base", "of a call", NEEDED(&way_spec), STORED(base)},
    {"nvlink", "of a step inside a node that has NVLink", NEEDED(&way_spec), STORED(nvlink)},
    {"pci", "of a step inside another node", NEEDED(&way_spec), STORED(pci)},
    {"net", "of a step between nodes", NEEDED(&way_spec), STORED(net)},
    {"post", "what posting a message between nodes takes of every step of a ring, at least", PART(&post_spec)},
    {"post_simple", "in Simple so many times that", SS_IS_SHARE, .required = true, STORED(post_simple)},
    {"ll_inside", "LL's steps inside one of several nodes take so many times what is said (1)", SS_IS_SHARE,
     STORED(ll_inside)},
    {"between_less", "steps of an all-reduce's rings between N nodes are 2N less these (0)", SS_IS_COUNT(0, 2),
     STORED(between_less)},
    {"ll_most", "what LL carries at most: between nodes as with Volta on Intel, as with Ampere on AMD",
     NEEDED(&gpu_nodes_spec), STORED(ll_most)},
    {"tree_most", "what a tree's channel carries at most", NEEDED(&gpu_nodes_spec), STORED(tree_most)},
    {"tree_together", "tree_most is of all channels together", SS_IS_FLAG, STORED(tree_together)},
    {"ring_ll128_most", "what a channel carries at most of LL128 in rings", NEEDED(&gpu_nodes_spec),
     STORED(ring_ll128_most)},
    {"tree_ll128_most", "and in trees", NEEDED(&gpu_nodes_spec), STORED(tree_ll128_most)},
    {"shares", "of the channels' bandwidth", PART(&share_spec)},
    {"correction", "factors of trees' bandwidths from 64 B on, by powers of two", PART(&correction_spec)},
    {"plateau", "factor of the latency of rings in Simple between nodes", NEEDED(&gpu_ratios_spec), STORED(plateau)},
    {"plateau_rank", "bytes of a rank from which it holds (by channels)", SS_IS_COUNT(1, 1 << 30),
     STORED(plateau_rank)},
    {"speeds", "bandwidths that a channel may have", PART(&speed_spec)},
    {"chunk", "bytes that travel through a channel's tree at once", PART(&chunk_spec)},
    {"chunk_shrinks", "trees in Simple take fewer where there are few chunks", SS_IS_FLAG, .required = true,
     STORED(shrinks)},
    {"channel_least", "bytes of a call for each channel that it takes; of rings in LL for each rank of these",
     PART(&channel_spec)},
    {"slice_least", "bytes of a slice of rings in Simple", BYTES(slice_least)},
    {"nvlinks", "bandwidth of all NVLinks of a GPU one way", NEEDED(&gpu_rates_spec), STORED(nvlinks)},
    SS_SPEC_SOURCE,
    {.name = NULL}};
const struct ss_object_spec ss_beliefs_fields = {.name = "library",
                                                 .title = "What a library's tuner believes: models/libraries/*.json",
                                                 .says = "docs/model.md, \"NCCL's choice\"",
                                                 .field = beliefs_fields};

/* --- a cluster's library ------------------------------------------------------------------------------------ */

static bool read_byte_time(struct ss_node node, void *out, struct ss_error *error) {
  double rate;
  if (!ss_node_positive(node, SS_RATE, &rate, error)) return false;
  *(double *)out = 1 / rate;
  return (1 / rate > 0 && 1 / rate <= 1e300) || ss_node_fail(node, error, "%g B/s is out of range", rate);
}

static const struct ss_field_spec cost_fields[] = {
    {"latency", "of a message between nodes; of rings, of a step's in all channels", SS_IS_TIME, .required = true,
     SS_STORED(struct ss_link, alpha)},
    {"bandwidth", "of a message between nodes", SS_IS_RATE, .required = true, .read = read_byte_time,
     SS_STORED(struct ss_link, beta)},
    {.name = NULL}};
static const struct ss_object_spec cost_spec = {.name = "library-cost", .field = cost_fields};
#define COST(way, protocol) SS_IS_OBJECT(&cost_spec), SS_STORED(struct ss_library, cost[way][protocol])
static const struct ss_field_spec ring_fields[] = {{"ll", NULL, COST(SS_WAY_RING, SS_LL)},
                                                   {"ll128", NULL, COST(SS_WAY_RING, SS_LL128)},
                                                   {"simple", NULL, COST(SS_WAY_RING, SS_SIMPLE)},
                                                   {.name = NULL}};
static const struct ss_field_spec tree_fields[] = {{"ll", NULL, COST(SS_WAY_TREE, SS_LL)},
                                                   {"ll128", NULL, COST(SS_WAY_TREE, SS_LL128)},
                                                   {"simple", NULL, COST(SS_WAY_TREE, SS_SIMPLE)},
                                                   {.name = NULL}};
static const struct ss_field_spec start_fields[] = {
    {"ll", NULL, SS_IS_TIME, SS_STORED(struct ss_library, start[SS_LL])},
    {"ll128", NULL, SS_IS_TIME, SS_STORED(struct ss_library, start[SS_LL128])},
    {"simple", NULL, SS_IS_TIME, SS_STORED(struct ss_library, start[SS_SIMPLE])},
    {.name = NULL}};
static const struct ss_object_spec ring_spec = {.field = ring_fields}, tree_spec = {.field = tree_fields},
                                   start_spec = {.says = "of a call", .field = start_fields};
#define COSTS(spec) SS_IS_OBJECT(spec), .size = sizeof(struct ss_library) /* whose members its fields are */
static const struct ss_field_spec costs_fields[] = {{"ring", NULL, COSTS(&ring_spec)},
                                                    {"tree", NULL, COSTS(&tree_spec)},
                                                    {"start", NULL, COSTS(&start_spec)},
                                                    {.name = NULL}};
static const struct ss_object_spec costs_spec = {
    .says = "what messages between nodes cost by algorithm and protocol, and starting a call", .field = costs_fields};

static const struct ss_field_spec library_fields[] = {
    {"name", NULL, SS_IS_CHOICE(ss_library_names), .required = true, SS_STORED(struct ss_library, kind)},
    {"version", NULL, SS_IS_NAME, SS_STORED(struct ss_library, version)},
    {"gpu", NULL, SS_IS_CHOICE(ss_gpu_names), .usual = "ampere", SS_STORED(struct ss_library, gpu)},
    {"cpu", NULL, SS_IS_CHOICE(ss_cpu_names), .usual = "intel", SS_STORED(struct ss_library, cpu)},
    {"inside", "what joins the GPUs of a node", SS_IS_CHOICE(inside_names), .usual = "nvlink",
     SS_STORED(struct ss_library, pci)},
    {"ll128", "whether NCCL may take it (where there is NVLink)", SS_IS_FLAG, SS_STORED(struct ss_library, ll128)},
    {"channels", "between nodes, as NCCL finds them (as many as cards)", SS_IS_COUNT(1, 1024),
     SS_STORED(struct ss_library, channels)},
    {"channel_bandwidth", "of each (the largest that NCCL tries and the cards carry)", SS_IS_RATE, .most = 1e13,
     SS_STORED(struct ss_library, channel_rate)},
    {"costs", NULL, COSTS(&costs_spec)},
    {"call", "that a host waits to learn what a call brought: sizes (0)", SS_IS_TIME,
     SS_STORED(struct ss_library, call)},
    {.name = NULL}};
const struct ss_object_spec ss_library_fields = {.says = "the communication library that calls collectives",
                                                 .field = library_fields};

/* "2.18.5" is 2 and 18. */
static bool read_version(const char *text, unsigned long *out) {
  char *end;
  const unsigned long major = strtoul(text, &end, 10);
  if (end == text || *end != '.' || major > 1000) return false;
  const char *minor = end + 1;
  const unsigned long number = strtoul(minor, &end, 10);
  *out = major * 100000 + number;
  return end != minor && number < 100000 && (*end == '\0' || *end == '.');
}

/* The file of the nearest version that is known and not above; of an older one than all the first. */
static bool find_version(struct ss_node node, unsigned long version, char name[64], bool *exact,
                         struct ss_error *error) {
  SS_AUTO_FREE char **names = NULL;
  size_t count;
  unsigned long best = 0;
  if (!ss_data_list("libraries", &names, &count, error)) return false;
  for (size_t i = 0; i < count; i++) {
    unsigned long found;
    if (strncmp(names[i], "nccl-", 5) != 0 || !read_version(names[i] + 5, &found)) continue;
    const bool nearer = best > version ? found < best : found <= version && found > best;
    if (best != 0 && !nearer) continue;
    best = found;
    snprintf(name, 64, "%s", names[i]);
  }
  *exact = best == version;
  return best != 0 || ss_node_fail(node, error, "there is no file nccl-VERSION.json in models/libraries");
}

static bool read_nccl(struct ss_node node, struct ss_library *out, char *warning, struct ss_error *error) {
  const struct ss_node text = ss_node_get(node, "version");
  unsigned long version;
  char name[64] = "";
  bool exact;
  SS_AUTO_DOC struct ss_doc *doc = NULL;
  if (!ss_node_present(text)) return ss_node_fail(node, error, "say which \"version\" of nccl, such as \"2.21\"");
  if (!read_version(out->version, &version))
    return ss_node_fail(text, error, "\"%s\" is no version (say \"2.21\")", out->version);
  if (!find_version(text, version, name, &exact, error) || !ss_data_open("libraries", name, NULL, &doc, error) ||
      !ss_object_read(&ss_beliefs_fields, ss_doc_root(doc), &out->beliefs, error))
    return false;
  if (!exact && !warning[0])
    snprintf(warning, 256, "of nccl %s nothing is known: it chooses as %s does", out->version, name);
  for (int p = 0; p < SS_PROTOCOLS; p++)
    if (isnan(out->start[p])) out->start[p] = out->beliefs.base.of[SS_WAY_RING].of[p];
  return true;
}

bool ss_library_read(struct ss_node node, struct ss_library *out, char warning[256], struct ss_error *error) {
  memset(out, 0, sizeof *out); /* what hashes it sees no rubbish between members */
  if (!ss_node_present(node)) return true;
  for (int p = 0; p < SS_PROTOCOLS; p++) out->start[p] = NAN;
  if (!ss_object_read(&ss_library_fields, node, out, error)) return false;
  if (!ss_node_present(ss_node_get(node, "ll128"))) out->ll128 = !out->pci;
  if (out->kind == SS_NCCL) return read_nccl(node, out, warning, error);
  static const char *const of_nccl[] = {"gpu", "cpu", "inside", "ll128", "channels", "channel_bandwidth", "costs"};
  for (size_t i = 0; i < sizeof of_nccl / sizeof *of_nccl; i++)
    if (ss_node_present(ss_node_get(node, of_nccl[i])))
      return ss_node_fail(ss_node_get(node, of_nccl[i]), error, "is of nccl: leave it out of %s",
                          ss_library_names[out->kind]);
  return true;
}

uint32_t ss_library_window(const struct ss_library *library) {
  switch (library->kind) {
  case SS_NCCL: return 2;
  case SS_GLOO: return UINT32_MAX;
  case SS_MPICH:
  case SS_CRAY_MPICH: return 32;
  case SS_NO_LIBRARY:
  case SS_OPEN_MPI: break;
  }
  return 1;
}

bool ss_library_same(const struct ss_library *a, const struct ss_library *b) {
  bool same = a->kind == b->kind && strcmp(a->version, b->version) == 0 && a->gpu == b->gpu && a->cpu == b->cpu &&
              a->pci == b->pci && a->ll128 == b->ll128 && a->channels == b->channels &&
              a->channel_rate == b->channel_rate && a->call == b->call;
  for (int p = 0; same && p < SS_PROTOCOLS; p++) {
    same = a->start[p] == b->start[p];
    for (int w = 0; same && w < SS_WAYS; w++)
      same = a->cost[w][p].alpha == b->cost[w][p].alpha && a->cost[w][p].beta == b->cost[w][p].beta;
  }
  return same;
}

/* --- channels and rates -------------------------------------------------------------------------------------- */

/* The largest that is tried and not above. */
static double speed_below(const double *speeds, double rate) {
  double best = 0, least = INFINITY;
  for (int i = 0; i < SS_SPEEDS && speeds[i] > 0; i++) {
    if (speeds[i] <= rate && speeds[i] > best) best = speeds[i];
    if (speeds[i] < least) least = speeds[i];
  }
  return best > 0 ? best : least;
}

/* ncclTopoDupChannels: fast channels are halved. */
static struct ss_channels halved(struct ss_channels c, enum ss_gpu gpu) {
  const bool kept = c.rate < 25e9 || (gpu == SS_HOPPER && c.rate < 50e9 && c.count > 4);
  return kept ? c : (struct ss_channels){2 * c.count, c.rate / 2};
}

/* As many of the first speed as the links carry; of a slower one, where these make more of them. */
static struct ss_channels over_nvlinks(const double *speeds, double links) {
  struct ss_channels best = {1, speed_below(speeds, links)};
  for (int i = 0; i < SS_SPEEDS && speeds[i] > 0; i++) {
    const double count = floor(links / speeds[i]);
    if (count * speeds[i] > best.count * best.rate) best = (struct ss_channels){(uint32_t)count, speeds[i]};
    if (best.rate > 0 && i + 1 < SS_SPEEDS && speeds[i + 1] / best.rate <= .49) break;
  }
  return best;
}

struct ss_channels ss_library_channels(const struct ss_cluster *cluster, uint32_t nodes) {
  const struct ss_library *l = &cluster->library;
  const double *const speeds = l->beliefs.speeds[l->gpu == SS_HOPPER][nodes > 1];
  if (nodes <= 1)
    return l->pci ? (struct ss_channels){1, speed_below(speeds, ss_cluster_bus_rate(cluster))}
                  : halved(over_nvlinks(speeds, l->beliefs.nvlinks[l->gpu]), l->gpu);
  const double cards = ss_cluster_nics(cluster), card = ss_cluster_card_rate(cluster);
  struct ss_channels c = {l->channels > 0 ? l->channels : (uint32_t)cards, l->channel_rate};
  if (!(c.rate > 0)) c.rate = speed_below(speeds, card * cards / c.count);
  return l->channels > 0 || l->channel_rate > 0 ? c : halved(c, l->gpu);
}

static double smaller(double a, double b) {
  return a < b ? a : b;
}

double ss_library_rate(const struct ss_cluster *cluster, enum ss_way way, enum ss_protocol protocol, uint32_t ranks,
                       bool one_way) {
  const struct ss_library *l = &cluster->library;
  const struct ss_beliefs *b = &l->beliefs;
  const uint32_t nodes = ss_cluster_nodes(cluster, ranks);
  const int n = nodes <= 2 ? (int)nodes - 1 : 2;
  const struct ss_channels c = ss_library_channels(cluster, nodes);
  const enum ss_gpu row = nodes == 1 ? l->gpu : l->cpu == SS_AMD ? SS_AMPERE : SS_VOLTA; /* as NCCL has it */
  const double all = c.count * c.rate, ll = b->ll_most[row].of[n];
  if (way == SS_WAY_RING) {
    if (protocol == SS_LL)
      return smaller(ll, all * (nodes == 1 && one_way ? b->share.ring_ll_one_way : b->share.ring_ll));
    if (protocol == SS_LL128)
      return smaller(all * (ranks < 2 * nodes ? b->share.ring_ll128_one_rank : b->share.ring_ll128),
                     c.count * b->ring_ll128_most[l->gpu].of[n]);
    return all;
  }
  const double most = (b->tree_together ? 1 : c.count) * b->tree_most[l->gpu].of[n];
  const double tree = smaller(all * b->share.tree, most);
  if (protocol == SS_LL) return smaller(tree * b->share.tree_ll, ll);
  if (protocol == SS_LL128)
    return smaller(tree * (nodes == 1 ? b->share.tree_ll128_inside : b->share.tree_ll128),
                   c.count * b->tree_ll128_most[l->gpu].of[n]);
  return tree;
}

/* --- the cluster as messages see it -------------------------------------------------------------------------- */

/* How latencies and times a byte of a class differ from those of rings in Simple, as the library believes. That
 * trees in Simple start later (2.21: 28 us for 14) turns the choice; of a step played by itself nothing says so. */
static struct ss_cluster_factors factors_of(const struct ss_cluster *c, const struct ss_by_way *steps,
                                            enum ss_way way, enum ss_protocol protocol, uint32_t ranks) {
  const double simple = steps->of[SS_WAY_RING].of[SS_SIMPLE];
  const double latency = protocol == SS_SIMPLE || !(simple > 0) ? 1 : steps->of[way].of[protocol] / simple;
  const double rate = ss_library_rate(c, way, protocol, ranks, false);
  return (struct ss_cluster_factors){latency, ss_library_rate(c, SS_WAY_RING, SS_SIMPLE, ranks, false) / rate, 1};
}

struct ss_cluster ss_cluster_protocol(const struct ss_cluster *cluster, enum ss_way way, enum ss_protocol protocol,
                                      uint32_t ranks) {
  struct ss_cluster c = *cluster;
  const struct ss_library *l = &cluster->library;
  const struct ss_link *cost = &l->cost[way][protocol];
  const uint32_t in_a_node = ranks < c.gpus_per_node ? ranks : c.gpus_per_node;
  struct ss_cluster_factors between = {1, 1, 1};
  if (l->kind != SS_NCCL) return c;
  if (cost->beta > 0) {
    c.inter = *cost;
    c.inter_segments.count = 0;
  } else {
    between = factors_of(cluster, &l->beliefs.net, way, protocol, ranks);
  }
  const struct ss_cluster_factors inside =
      factors_of(cluster, l->pci ? &l->beliefs.pci : &l->beliefs.nvlink, way, protocol, in_a_node);
  ss_cluster_scale_chains(&c, &between, &inside);
  return c;
}

double ss_library_start(const struct ss_cluster *cluster, enum ss_protocol protocol) {
  return cluster->library.kind == SS_NCCL ? cluster->library.start[protocol] : 0;
}
/* SPDX-License-Identifier: Apache-2.0 */
