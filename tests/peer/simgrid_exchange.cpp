/* The same exchange on SimGrid: a peer that shares no line with sparsync.
 *
 *   simgrid_exchange [--ranks P] [--bytes B | --bytes-of FILE] [--latency S] [--bandwidth B_PER_S] [--at-once]
 *
 * In round s = 1..P-1 rank r sends its message to (r+s) mod P and receives from (r-s) mod P. Rank r's messages have B
 * bytes, or what line r of FILE says. A rank is two actors, one that sends and one that receives, each blocking, in
 * the order of the rounds: a single-port, full-duplex machine with rendezvous, as in sparsync's alpha-beta model.
 *
 * With --at-once every rank posts all its sends and receives and then waits for all: what SimGrid adds to our model,
 * flows that share links max-min fairly and latencies that overlap, is then what decides the time.
 *
 * The platform: P hosts on a star, each with an up-link and a down-link. Half the latency stands on each, and the
 * CM02 network model runs without its TCP corrections, so that a message alone takes latency + bytes / bandwidth.
 *
 * Prints one JSON object: simulated seconds, wall seconds, peak resident bytes. */
#include <simgrid/s4u.hpp>
#include <simgrid/version.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <sys/resource.h>
#include <vector>

namespace s4u = simgrid::s4u;

namespace {

struct Exchange {
  long ranks = 256;
  double latency = 25e-6;
  double bandwidth = 3.125e9;
  bool at_once = false;
  std::vector<double> bytes; // of every message that rank r sends
};

[[noreturn]] void fail(const std::string &why) {
  std::fprintf(stderr, "simgrid_exchange: %s\n", why.c_str());
  std::exit(2);
}

double number(const char *text) {
  char *end = nullptr;
  const double value = std::strtod(text, &end);
  if (end == text || *end != '\0' || !(value >= 0)) fail(std::string(text) + " is not a number of at least 0");
  return value;
}

Exchange parse(int argc, char **argv) {
  Exchange exchange;
  double bytes = 1e6;
  std::string file;
  for (int i = 1; i < argc; ++i) {
    const std::string option = argv[i];
    if (option == "--at-once") {
      exchange.at_once = true;
      continue;
    }
    if (i + 1 == argc) fail(option + " needs a value, or is unknown");
    const char *value = argv[++i];
    if (option == "--ranks") exchange.ranks = static_cast<long>(number(value));
    else if (option == "--bytes") bytes = number(value);
    else if (option == "--bytes-of") file = value;
    else if (option == "--latency") exchange.latency = number(value);
    else if (option == "--bandwidth") exchange.bandwidth = number(value);
    else fail(option + " is unknown");
  }
  if (exchange.ranks < 1 || !(exchange.bandwidth > 0)) fail("ranks and bandwidth must be above zero");
  if (file.empty()) {
    exchange.bytes.assign(static_cast<size_t>(exchange.ranks), bytes);
    return exchange;
  }
  std::ifstream lines(file);
  for (double value; lines >> value;) exchange.bytes.push_back(value);
  if (exchange.bytes.size() != static_cast<size_t>(exchange.ranks)) fail(file + " does not hold one number per rank");
  return exchange;
}

/* One mailbox per ordered pair: with ragged sizes a sender may wait rounds ahead of its receiver. */
s4u::Mailbox *mailbox(long from, long to) {
  return s4u::Mailbox::by_name(std::to_string(from) + ">" + std::to_string(to));
}

void send_all(const Exchange &exchange, long rank) {
  static char token;
  const auto bytes = static_cast<uint64_t>(exchange.bytes[static_cast<size_t>(rank)]);
  std::vector<s4u::CommPtr> posted;
  for (long round = 1; round < exchange.ranks; ++round) {
    s4u::Mailbox *to = mailbox(rank, (rank + round) % exchange.ranks);
    if (exchange.at_once) posted.push_back(to->put_async(&token, bytes));
    else to->put(&token, bytes);
  }
  s4u::Comm::wait_all(posted);
}

void receive_all(const Exchange &exchange, long rank) {
  std::vector<s4u::CommPtr> posted;
  std::vector<char *> tokens(static_cast<size_t>(exchange.ranks));
  for (long round = 1; round < exchange.ranks; ++round) {
    s4u::Mailbox *from = mailbox((rank - round + exchange.ranks) % exchange.ranks, rank);
    if (exchange.at_once) posted.push_back(from->get_async<char>(&tokens[static_cast<size_t>(round)]));
    else from->get<char>();
  }
  s4u::Comm::wait_all(posted);
}

void build_platform(const Exchange &exchange) {
  s4u::NetZone *star = s4u::create_star_zone("star");
  for (long rank = 0; rank < exchange.ranks; ++rank) {
    const std::string name = std::to_string(rank);
    const s4u::Host *host = star->create_host(name, 1e9);
    const s4u::Link *up =
        star->create_link("up" + name, exchange.bandwidth)->set_latency(exchange.latency / 2)->seal();
    const s4u::Link *down =
        star->create_link("down" + name, exchange.bandwidth)->set_latency(exchange.latency / 2)->seal();
    star->add_route(host->get_netpoint(), nullptr, nullptr, nullptr, {s4u::LinkInRoute(up)}, false);
    star->add_route(nullptr, host->get_netpoint(), nullptr, nullptr, {s4u::LinkInRoute(down)}, false);
  }
  star->seal();
}

} // namespace

int main(int argc, char **argv) {
  const Exchange exchange = parse(argc, argv);
  const auto start = std::chrono::steady_clock::now();

  std::string quiet[] = {"simgrid_exchange", "--log=xbt_cfg.thres:warning"};
  char *engine_argv[] = {quiet[0].data(), quiet[1].data(), nullptr};
  int engine_argc = 2;
  s4u::Engine engine(&engine_argc, engine_argv);
  for (const char *setting : {"network/model:CM02", "network/TCP-gamma:0", "network/crosstraffic:0",
                              "network/bandwidth-factor:1", "network/latency-factor:1", "network/weight-S:0",
                              "contexts/stack-size:64", "surf/precision:1e-15", "maxmin/precision:1e-9"})
    s4u::Engine::set_config(setting);
  build_platform(exchange);

  for (long rank = 0; rank < exchange.ranks; ++rank) {
    s4u::Host *host = engine.host_by_name(std::to_string(rank));
    s4u::Actor::create("send", host, [&exchange, rank] { send_all(exchange, rank); });
    s4u::Actor::create("receive", host, [&exchange, rank] { receive_all(exchange, rank); });
  }
  engine.run();

  const double wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  std::printf("{\"peer\":\"SimGrid %d.%d\",\"ranks\":%ld,\"messages\":%ld,\"at_once\":%s,\"simulated_s\":%.17g,"
              "\"wall_s\":%.6f,\"peak_bytes\":%ld}\n",
              SIMGRID_VERSION_MAJOR, SIMGRID_VERSION_MINOR, exchange.ranks, exchange.ranks * (exchange.ranks - 1),
              exchange.at_once ? "true" : "false", s4u::Engine::get_clock(), wall, usage.ru_maxrss * 1024L);
  return 0;
}
/* SPDX-License-Identifier: Apache-2.0 */
