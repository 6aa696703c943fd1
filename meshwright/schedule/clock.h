// Plays a pipeline in time: what is ready when, transfers on their links,
// bytes held. Who decides the order is a Dispatcher: the rows of a timetable
// (simulate.cc) or rules of priority (list_schedule.cc).
//
// A rank computes one action at a time. Transfers run beside computation, one
// at a time on each link, a link being a pair of ranks and a direction.
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
  // A compute action for an idle rank that IsReady(), or nothing: wait until
  // the next event on the rank.
  virtual std::optional<Action> Next(int rank, PipelineClock& clock) = 0;
  // The inputs of F, of I (or B, the kind given is I) or of W are there.
  virtual void OnReady(const Action& action) { (void)action; }
};

struct ClockOptions {
  // Transfers wait until both ends are posted; otherwise they start when the
  // value is there.
  bool explicit_transfers = false;
  bool record = true;  // Actions, transfers and memory over time.
};

class PipelineClock {
 public:
  // Costs fit the stages and ranks (CheckCosts), and outlive the clock.
  PipelineClock(const std::vector<int>& rank_of_stage, int ranks,
                int micro_batches, const PipelineCosts& costs,
                const ClockOptions& options);

  // Until nothing happens any more; whether every micro-batch went through
  // all stages and back.
  bool Run(Dispatcher& dispatcher);

  double now() const { return now_; }
  bool IsReady(const Action& action) const;
  int64_t BytesHeld(int rank) const { return bytes_[rank]; }
  // When the next value that is on its way will reach the rank, if nothing
  // holds it up.
  std::optional<double> NextArrival(int rank) const;
  // A send or receive; the value of a send has been computed.
  void Post(const Action& transfer);

  // After Run: what happened. Rows end with the apply of each stage.
  Simulation TakeResult();

 private:
  struct Edge {
    const StageEdge* edge;
    int link[2];  // Forward, backward; -1 on the same rank.
  };
  struct Link {
    std::deque<int64_t> waiting;
    bool busy = false;
  };
  struct Event {
    double time;
    int64_t order;
    int rank;          // Of a computation that ends, or
    int64_t transfer;  // of a transfer that does.
    // Of events at one time, transfers first: they free what they sent.
    bool operator>(const Event& other) const {
      return std::tuple(time, rank >= 0, order) >
             std::tuple(other.time, other.rank >= 0, other.order);
    }
  };
  // Of a micro-batch in a stage.
  struct Task {
    int missing_inputs = 0;
    int missing_gradients = 0;
    bool forward_started = false;
    bool forward_done = false;
    bool gradient_started = false;
    bool input_grad_done = false;
    bool weight_started = false;
  };

  // Transfers are numbered (edge, direction, micro-batch).
  int64_t TransferId(int edge, bool backward, int micro_batch) const;
  const Task& task(int stage, int micro_batch) const;
  Task& task(int stage, int micro_batch);
  int EdgeIndex(int from, int to) const;

  void Start(int rank, const Action& action);
  void Finish(int rank);
  void Produce(int edge, bool backward, int micro_batch);
  void Arrive(int edge, bool backward, int micro_batch);
  void FinishTransfer(int64_t transfer);
  void StartTransfers(int link);
  void Hold(int rank, int64_t bytes);
  void Push(double time, int rank, int64_t transfer);
  void Ready(ActionKind kind, int stage, int micro_batch);
  void Dispatch();
  void Apply();

  const std::vector<int>& rank_of_stage_;
  const PipelineCosts& costs_;
  ClockOptions options_;
  int micro_batches_;
  double tolerance_ = 0;
  double now_ = 0;
  int64_t order_ = 0;
  int64_t left_;  // Micro-batches times stages without all gradients.
  Dispatcher* dispatcher_ = nullptr;

  std::vector<Edge> edges_;
  std::vector<std::vector<int>> in_edges_, out_edges_;  // By stage.
  std::vector<Link> links_;
  std::vector<Task> tasks_;
  std::vector<uint8_t> posted_;                  // By transfer: ends that are.
  std::vector<double> expected_at_;              // By transfer.
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
