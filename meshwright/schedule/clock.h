// A discrete-event simulation of a pipeline: what is ready when, transfers on
// their links, bytes held. The order is decided by a Dispatcher: the rows of a
// timetable (simulate.cc) or priority rules (list_schedule.cc).
//
// A rank computes one action at a time. Transfers overlap with computation, one
// at a time per link; a link is an ordered pair of ranks.
#ifndef MESHWRIGHT_SCHEDULE_CLOCK_H_
#define MESHWRIGHT_SCHEDULE_CLOCK_H_

#include <cstdint>
#include <deque>
#include <optional>
#include <queue>
#include <set>
#include <tuple>
#include <vector>

#include "meshwright/schedule/pipeline.h"
#include "meshwright/schedule/simulate.h"

namespace meshwright {

class PipelineClock;

class Dispatcher {
 public:
  virtual ~Dispatcher() = default;
  // A compute action for an idle rank that IsReady(); nullopt: wait until the
  // next event on the rank.
  virtual std::optional<Action> Next(int rank, PipelineClock& clock) = 0;
  // The inputs of F, of I (or B; the kind given is I) or of W are available.
  virtual void OnReady(const Action& action) { (void)action; }
};

struct ClockOptions {
  // Transfers start once both ends are posted; otherwise as soon as the value
  // is available.
  bool explicit_transfers = false;
  // Whether to record actions, transfers and memory over time.
  bool record = true;
};

class PipelineClock {
 public:
  // Requires: costs fit the stages and ranks (CheckCosts). All arguments must
  // outlive the clock.
  PipelineClock(const std::vector<int>& rank_of_stage, int ranks,
                int micro_batches, const PipelineCosts& costs,
                const ClockOptions& options);

  // Runs until no event is left; returns whether every micro-batch passed
  // forward and backward through all stages.
  bool Run(Dispatcher& dispatcher);

  double now() const { return now_; }
  bool IsReady(const Action& action) const;
  int64_t BytesHeld(int rank) const { return bytes_[rank]; }
  // When the next value in transit will reach the rank, unless it is delayed.
  std::optional<double> NextArrival(int rank) const;
  // Posts a send or receive. Requires: the value of a send has been computed.
  void Post(const Action& transfer);

  // After Run: what happened. Rows end with the apply action of each stage.
  Simulation TakeResult();

 private:
  struct Edge {
    const StageEdge* edge;
    int link[2];  // Forward, backward; -1 within one rank.
  };
  struct Link {
    std::deque<int64_t> waiting;
    bool busy = false;
  };
  struct Event {
    double time;
    int64_t order;
    int rank;          // Of a computation that ends; otherwise -1.
    int64_t transfer;  // That ends.
    // Among simultaneous events transfers come first, since they free what they
    // sent.
    bool operator>(const Event& other) const {
      return std::tuple(time, rank >= 0, order) >
             std::tuple(other.time, other.rank >= 0, other.order);
    }
  };
  // The state of a micro-batch in a stage.
  struct Task {
    int missing_inputs = 0;
    int missing_gradients = 0;
    bool forward_started = false;
    bool forward_done = false;
    bool gradient_started = false;
    bool input_grad_done = false;
    bool weight_started = false;
  };

  // Transfers are numbered by (edge, direction, micro-batch).
  int64_t TransferId(int edge, bool backward, int micro_batch) const;
  const Task& task(StageId stage, int micro_batch) const;
  Task& task(StageId stage, int micro_batch);
  int EdgeIndex(StageId from, StageId to) const;

  void Start(int rank, const Action& action);
  void Finish(int rank);
  void Produce(int edge, bool backward, int micro_batch);
  void Arrive(int edge, bool backward, int micro_batch);
  void FinishTransfer(int64_t transfer);
  void StartTransfers(int link);
  void Hold(int rank, int64_t bytes);
  void Push(double time, int rank, int64_t transfer);
  void Ready(ActionKind kind, StageId stage, int micro_batch);
  void Dispatch();
  void Apply();

  const std::vector<int>& rank_of_stage_;
  const PipelineCosts& costs_;
  ClockOptions options_;
  int micro_batches_;
  double tolerance_ = 0;
  double now_ = 0;
  int64_t order_ = 0;
  // Pairs of micro-batch and stage whose gradients are incomplete.
  int64_t left_;
  Dispatcher* dispatcher_ = nullptr;

  std::vector<Edge> edges_;
  std::vector<std::vector<int>> in_edges_, out_edges_;  // By stage.
  std::vector<Link> links_;
  std::vector<Task> tasks_;
  std::vector<uint8_t> posted_;      // By transfer: how many ends are posted.
  std::vector<double> expected_at_;  // By transfer.
  std::vector<std::multiset<double>> expected_;  // By rank.
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::vector<std::optional<Action>> running_;  // By rank.
  std::vector<double> free_since_;
  std::vector<int64_t> bytes_;
  std::vector<int> awake_;  // Ranks to ask, and links to start.
  std::vector<int> links_awake_;
  Simulation result_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_SCHEDULE_CLOCK_H_
