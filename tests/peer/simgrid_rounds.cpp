/* The rounds of a scheme, or of several at once, on SimGrid: a peer that shares no line with sparsync.
 *
 *   dump_rounds ... | simgrid_rounds
 *
 * Every endpoint of a play is three actors, one that sends, one that receives and one that computes, each in the
 * order of the rounds. A message starts when both its actors have come to it, after what they must wait for, and with
 * a place in their windows; then it sleeps its latency, and then its bytes flow over the platform: cards, uplinks and
 * buses are links, and a message's own bandwidth is the most that it is given. SimGrid's max-min solver says how
 * fast. Of several plays each begins at its instant, with actors and windows of its own; ports are then links that
 * they share.
 *
 * Prints one JSON object: seconds as the engine has them, as SimGrid has them, and how far they are apart (the
 * farthest, by the play's own length); "ends" has both of every play. */
#include <simgrid/s4u.hpp>
#include <simgrid/version.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <iostream>
#include <memory>
#include <sstream>
#include <string>
#include <sys/resource.h>
#include <vector>

namespace s4u = simgrid::s4u;

namespace {

struct Piece {
  uint64_t up_to;
  double alpha, rate;
};
using Class = std::vector<Piece>;

struct Level {
  long nodes;
  double rate, latency;
};

struct Endpoint;

struct Message {
  long from, to;
  Endpoint *source, *target;
  double bytes, alpha, rate;
  long need_from, need_to, number; /* operations done before at its ends; of messages to that receiver */
  s4u::BarrierPtr meet;
};

struct Work {
  double seconds;
  long need, receipts;
};

struct Endpoint {
  s4u::Host *host = nullptr;
  std::vector<Message *> out, in;
  std::vector<Work> work;
  std::vector<bool> received;
  size_t whole = 0; /* all messages before this one were received */
  long listed = 0, done = 0, barrier = 0;
  double at = 0, last = 0; /* the play's begin; when something was done last */
  s4u::MutexPtr mutex = s4u::Mutex::create();
  s4u::ConditionVariablePtr changed = s4u::ConditionVariable::create();
  s4u::SemaphorePtr out_places, in_places;
};

struct Play {
  double at, result;
  std::vector<Endpoint> ends;

  double end() const {
    double last = at;
    for (const Endpoint &e : ends) last = std::max(last, e.last);
    return last;
  }
};

struct World {
  long ranks = 0, ends = 0, gpus = 1, nics = 1, window = 1;
  bool bus = false;
  Class inter, exchange, intra;
  std::vector<Level> levels;
  std::deque<Message> messages;
  std::deque<Play> plays;

  long nodes() const {
    return (ranks + gpus - 1) / gpus;
  }
  long node(long e) const {
    return e < ranks ? e / gpus : (e - ranks) % nodes();
  }
  long card(long e) const {
    return e < ranks ? e % gpus * nics / gpus : (e - ranks) / nodes() % nics;
  }
};

const Piece &piece_of(const Class &pieces, double bytes) {
  for (const Piece &piece : pieces)
    if (bytes <= static_cast<double>(piece.up_to)) return piece;
  return pieces.back();
}

double fastest(const Class &pieces) {
  double rate = 0;
  for (const Piece &piece : pieces) rate = std::max(rate, piece.rate);
  return rate;
}

/* --- reading ------------------------------------------------------------------------------------------------ */

Class read_class(std::istringstream &line) {
  size_t count = 0;
  line >> count;
  Class pieces(count);
  for (Piece &piece : pieces) line >> piece.up_to >> piece.alpha >> piece.rate;
  return pieces;
}

void begin_play(World &world, std::istringstream &line) {
  double at = 0;
  long servers = 0;
  line >> at >> servers;
  world.ends = std::max(world.ends, world.ranks + servers);
  world.plays.push_back({at, 0, std::vector<Endpoint>(static_cast<size_t>(world.ranks + servers))});
  for (Endpoint &end : world.plays.back().ends) end.at = at;
}

void settle(std::vector<Endpoint> &ends, std::istringstream &line) {
  long count = 0, e = 0;
  line >> count;
  if (count < 0)
    for (Endpoint &end : ends) end.barrier = end.listed;
  for (long i = 0; i < count && line >> e; ++i)
    ends[static_cast<size_t>(e)].barrier = ends[static_cast<size_t>(e)].listed;
}

void read_message(World &world, std::istringstream &line, bool exchange) {
  Message m{};
  line >> m.from >> m.to >> m.bytes;
  const long a = world.node(m.from), b = world.node(m.to);
  const Piece &piece = piece_of(a == b ? world.intra : exchange ? world.exchange : world.inter, m.bytes);
  m.alpha = piece.alpha;
  m.rate = piece.rate;
  for (const Level &level : world.levels)
    if (a / level.nodes != b / level.nodes) m.alpha += level.latency;
  std::vector<Endpoint> &ends = world.plays.back().ends;
  Endpoint &from = ends[static_cast<size_t>(m.from)], &to = ends[static_cast<size_t>(m.to)];
  m.source = &from;
  m.target = &to;
  m.need_from = from.barrier;
  m.need_to = to.barrier;
  m.number = static_cast<long>(to.in.size());
  world.messages.push_back(m);
  from.out.push_back(&world.messages.back());
  to.in.push_back(&world.messages.back());
  ++from.listed;
  ++to.listed;
}

World read_world(std::istream &input) {
  World world;
  bool exchange = false;
  size_t results = 0;
  for (std::string text, word; std::getline(input, text);) {
    std::istringstream line(text);
    line >> word;
    if (word == "cluster") {
      line >> world.ranks >> world.gpus >> world.nics >> world.window >> world.bus;
    } else if (word == "play") {
      begin_play(world, line);
    } else if (word == "class") {
      line >> word;
      (word == "inter" ? world.inter : word == "exchange" ? world.exchange : world.intra) = read_class(line);
    } else if (word == "level") {
      Level level{};
      line >> level.nodes >> level.rate >> level.latency;
      world.levels.push_back(level);
    } else if (word == "round") {
      bool dependent = false;
      line >> dependent >> exchange;
      if (dependent) settle(world.plays.back().ends, line);
    } else if (word == "m") read_message(world, line, exchange);
    else if (word == "c") {
      long e = 0;
      Work work{};
      line >> e >> work.seconds;
      Endpoint &end = world.plays.back().ends[static_cast<size_t>(e)];
      work.need = end.barrier;
      work.receipts = static_cast<long>(end.in.size());
      end.work.push_back(work);
      ++end.listed;
    } else if (word == "result") line >> world.plays[results++].result;
  }
  return world;
}

/* --- the platform ------------------------------------------------------------------------------------------- */

class Platform {
  const World &world;
  s4u::NetZone *zone = s4u::create_full_zone("cluster");
  s4u::Link *nothing = nullptr;
  std::vector<s4u::Link *> out, in, outer_out, outer_in, inner_out, inner_in, buses;
  std::vector<std::vector<s4u::Link *>> up, down;

  s4u::Link *link(const std::string &name, double rate) {
    return zone->create_link(name, rate)->seal();
  }
  std::vector<s4u::Link *> links(const std::string &name, long count, double rate) {
    std::vector<s4u::Link *> made;
    for (long i = 0; i < count; ++i) made.push_back(link(name + std::to_string(i), rate));
    return made;
  }
  static s4u::Link *at(const std::vector<s4u::Link *> &links, long i) {
    return links[static_cast<size_t>(i)];
  }

  std::vector<s4u::LinkInRoute> route(long from, long to) const {
    const long a = world.node(from), b = world.node(to);
    std::vector<s4u::LinkInRoute> path{s4u::LinkInRoute(nothing)};
    if (world.window > 1 || world.plays.size() > 1) {
      path.emplace_back(at(a == b ? inner_out : outer_out, from));
      path.emplace_back(at(a == b ? inner_in : outer_in, to));
    }
    if (a == b && world.bus) path.emplace_back(at(buses, a));
    if (a == b) return path;
    if (world.nics < world.gpus) {
      path.emplace_back(at(out, a * world.nics + world.card(from)));
      path.emplace_back(at(in, b * world.nics + world.card(to)));
    }
    for (size_t l = 0; l < world.levels.size(); ++l) {
      const long k = world.levels[l].nodes;
      if (a / k == b / k) continue;
      path.emplace_back(at(up[l], a / k));
      path.emplace_back(at(down[l], b / k));
    }
    return path;
  }

public:
  explicit Platform(World &of) : world(of) {
    const long ends = world.ends, nodes = world.nodes();
    const double card = std::max(fastest(world.inter), fastest(world.exchange)), bus = fastest(world.intra);
    nothing = zone->create_link("nothing", 1e18)->set_sharing_policy(s4u::Link::SharingPolicy::FATPIPE)->seal();
    out = links("out", nodes * world.nics, card);
    in = links("in", nodes * world.nics, card);
    buses = links("bus", nodes, bus);
    outer_out = links("outer-out", ends, card);
    outer_in = links("outer-in", ends, card);
    inner_out = links("inner-out", ends, bus);
    inner_in = links("inner-in", ends, bus);
    for (size_t l = 0; l < world.levels.size(); ++l) {
      const std::string name = "level" + std::to_string(l) + "-";
      up.push_back(links(name + "up", (nodes - 1) / world.levels[l].nodes + 1, world.levels[l].rate));
      down.push_back(links(name + "down", (nodes - 1) / world.levels[l].nodes + 1, world.levels[l].rate));
    }
    std::vector<s4u::Host *> hosts;
    for (long e = 0; e < ends; ++e) hosts.push_back(zone->create_host(std::to_string(e), 1e9));
    for (Play &play : of.plays)
      for (size_t e = 0; e < play.ends.size(); ++e) play.ends[e].host = hosts[e];
    for (long a = 0; a < ends; ++a)
      for (long b = 0; b < ends; ++b)
        if (a != b)
          zone->add_route(hosts[static_cast<size_t>(a)]->get_netpoint(),
                          hosts[static_cast<size_t>(b)]->get_netpoint(), nullptr, nullptr, route(a, b), false);
    zone->seal();
  }
};

/* --- actors ------------------------------------------------------------------------------------------------- */

void complete(Endpoint &end, const Message *received) {
  const std::scoped_lock lock(*end.mutex);
  ++end.done;
  end.last = s4u::Engine::get_clock();
  if (received) {
    end.received[static_cast<size_t>(received->number)] = true;
    while (end.whole < end.received.size() && end.received[end.whole]) ++end.whole;
  }
  end.changed->notify_all();
}

template <typename Condition> void wait_until(Endpoint &end, Condition condition) {
  std::unique_lock lock(*end.mutex);
  while (!condition()) end.changed->wait(lock);
}

s4u::Mailbox *mailbox(const Message &m) {
  /* of one play: no other has that endpoint */
  return s4u::Mailbox::by_name(std::to_string(reinterpret_cast<uintptr_t>(m.source)) + ">" + std::to_string(m.to));
}

/* The other end of carry, on the receiver's host. */
void take(const Message &m) {
  if (m.bytes > 0) mailbox(m)->get<char>();
}

void carry(const Message &m) {
  if (m.alpha > 0) s4u::this_actor::sleep_for(m.alpha);
  if (m.bytes > 0) {
    static char token;
    s4u::CommPtr comm = mailbox(m)->put_init(&token, static_cast<uint64_t>(m.bytes));
    comm->set_rate(m.rate);
    comm->wait();
  }
  m.source->out_places->release();
  m.target->in_places->release();
  complete(*m.source, nullptr);
  complete(*m.target, &m);
}

void send_all(const World &world, Endpoint &end) {
  s4u::this_actor::sleep_until(end.at);
  for (Message *m : end.out) {
    wait_until(end, [&end, m] { return end.done >= m->need_from; });
    end.out_places->acquire();
    m->meet->wait();
    if (world.window == 1) carry(*m);
    else s4u::Actor::create("message", end.host, [m] { carry(*m); });
  }
}

void receive_all(const World &world, Endpoint &end) {
  s4u::this_actor::sleep_until(end.at);
  for (Message *m : end.in) {
    wait_until(end, [&end, m] { return end.done >= m->need_to; });
    end.in_places->acquire();
    m->meet->wait();
    if (world.window == 1) take(*m);
    else s4u::Actor::create("message", end.host, [m] { take(*m); });
  }
}

void compute_all(Endpoint &end) {
  s4u::this_actor::sleep_until(end.at);
  for (const Work &work : end.work) {
    wait_until(end, [&] { return end.done >= work.need && end.whole >= static_cast<size_t>(work.receipts); });
    if (work.seconds > 0) s4u::this_actor::sleep_for(work.seconds);
    complete(end, nullptr);
  }
}

void populate(const World &world, std::vector<Endpoint> &ends) {
  for (Endpoint &end : ends) {
    const unsigned places = world.window > 1000000 ? 1000000 : static_cast<unsigned>(world.window);
    end.received.assign(end.in.size(), false);
    end.out_places = s4u::Semaphore::create(places);
    end.in_places = s4u::Semaphore::create(places);
    if (!end.out.empty()) s4u::Actor::create("send", end.host, [&world, &end] { send_all(world, end); });
    if (!end.in.empty()) s4u::Actor::create("receive", end.host, [&world, &end] { receive_all(world, end); });
    if (!end.work.empty()) s4u::Actor::create("compute", end.host, [&end] { compute_all(end); });
  }
}

} // namespace

int main() {
  std::string quiet[] = {"simgrid_rounds", "--log=xbt_cfg.thres:warning"};
  char *engine_argv[] = {quiet[0].data(), quiet[1].data(), nullptr};
  int engine_argc = 2;
  s4u::Engine engine(&engine_argc, engine_argv);
  for (const char *setting :
       {"network/model:CM02", "network/TCP-gamma:0", "network/crosstraffic:0", "network/bandwidth-factor:1",
        "network/latency-factor:1", "network/weight-S:0", "network/optim:Full", "contexts/stack-size:64",
        "surf/precision:1e-12", "maxmin/precision:1e-12"})
    s4u::Engine::set_config(setting);
  World world = read_world(std::cin);
  const auto start = std::chrono::steady_clock::now();
  const Platform platform(world);
  for (Message &m : world.messages) m.meet = s4u::Barrier::create(2);
  for (Play &play : world.plays) populate(world, play.ends);
  engine.run();
  const double wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  double simulated = 0, ours = 0, off = 0;
  std::ostringstream all;
  all.precision(17);
  for (const Play &play : world.plays) {
    const double end = play.end(), apart = std::fabs(end - play.result);
    all << (all.tellp() > 0 ? ",[" : "[") << play.result << ',' << end << ']';
    simulated = std::max(simulated, end);
    ours = std::max(ours, play.result);
    off = std::max(off, play.result > play.at ? apart / (play.result - play.at) : apart);
  }
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  const double cpu = static_cast<double>(usage.ru_utime.tv_sec) + 1e-6 * static_cast<double>(usage.ru_utime.tv_usec);
  std::printf("{\"peer\":\"SimGrid %d.%d\",\"messages\":%zu,\"engine_s\":%.17g,\"simulated_s\":%.17g,\"off\":%.3g,"
              "\"ends\":[%s],\"wall_s\":%.6f,\"cpu_s\":%.6f,\"peak_bytes\":%ld}\n",
              SIMGRID_VERSION_MAJOR, SIMGRID_VERSION_MINOR, world.messages.size(), ours, simulated, off,
              all.str().c_str(), wall, cpu, usage.ru_maxrss * 1024L);
  return 0;
}
/* SPDX-License-Identifier: Apache-2.0 */
