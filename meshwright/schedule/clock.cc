#include "meshwright/schedule/clock.h"

#include <algorithm>
#include <limits>
#include <map>

#include "meshwright/base/check.h"

namespace meshwright {
namespace {

// Events closer to each other than this part of the shortest duration count as
// simultaneous.
constexpr double kSameTime = 1e-6;

double ShortestDuration(const PipelineCosts& costs) {
  double shortest = std::numeric_limits<double>::infinity();
  const auto look = [&](double seconds) {
    if (seconds > 0) shortest = std::min(shortest, seconds);
  };
  for (const StageCost& stage : costs.stages) {
    look(stage.forward);
    look(stage.input_grad);
    look(stage.weight_grad);
    look(stage.BackwardSeconds());
  }
  for (const StageEdge& edge : costs.edges) {
    look(edge.forward_seconds);
    look(edge.backward_seconds);
  }
  return shortest == std::numeric_limits<double>::infinity() ? 0 : shortest;
}

}  // namespace

PipelineClock::PipelineClock(const std::vector<int>& rank_of_stage, int ranks,
                             int micro_batches, const PipelineCosts& costs,
                             const ClockOptions& options)
    : rank_of_stage_(rank_of_stage),
      costs_(costs),
      options_(options),
      micro_batches_(micro_batches),
      tolerance_(kSameTime * ShortestDuration(costs)),
      left_(std::ssize(rank_of_stage) * micro_batches) {
  const size_t stages = rank_of_stage.size();
  in_edges_.resize(stages);
  out_edges_.resize(stages);
  std::map<std::pair<int, int>, int> links;
  for (const StageEdge& edge : costs.edges) {
    const int index = static_cast<int>(edges_.size());
    out_edges_[edge.from].push_back(index);
    in_edges_[edge.to].push_back(index);
    const int from = rank_of_stage[edge.from];
    const int to = rank_of_stage[edge.to];
    Edge entry = {.edge = &edge, .link = {-1, -1}};
    if (from != to) {
      const auto link = [&](int a, int b) {
        return links.try_emplace({a, b}, static_cast<int>(links.size()))
            .first->second;
      };
      entry.link[0] = link(from, to);
      entry.link[1] = link(to, from);
    }
    edges_.push_back(entry);
  }
  links_.resize(links.size());
  tasks_.resize(stages * static_cast<size_t>(micro_batches));
  for (StageId stage{0}; stage < std::ssize(rank_of_stage); ++stage) {
    for (int m = 0; m < micro_batches; ++m) {
      task(stage, m).missing_inputs = static_cast<int>(in_edges_[stage].size());
      task(stage, m).missing_gradients =
          static_cast<int>(out_edges_[stage].size());
    }
  }
  const size_t transfers = edges_.size() * 2 * size_t(micro_batches);
  posted_.resize(transfers);
  expected_at_.resize(transfers);
  const size_t rank_count = static_cast<size_t>(ranks);
  expected_.resize(rank_count);
  running_.resize(rank_count);
  free_since_.resize(rank_count);
  bytes_.resize(rank_count);
  result_.busy_seconds.resize(rank_count);
  result_.peak_bytes.resize(rank_count);
  result_.rows.resize(rank_count);
  result_.memory.resize(rank_count);
}

int64_t PipelineClock::TransferId(int edge, bool backward,
                                  int micro_batch) const {
  return (int64_t{edge} * 2 + (backward ? 1 : 0)) * micro_batches_ +
         micro_batch;
}

const PipelineClock::Task& PipelineClock::task(StageId stage,
                                               int micro_batch) const {
  return tasks_[int64_t{stage} * micro_batches_ + micro_batch];
}

PipelineClock::Task& PipelineClock::task(StageId stage, int micro_batch) {
  return tasks_[int64_t{stage} * micro_batches_ + micro_batch];
}

int PipelineClock::EdgeIndex(StageId from, StageId to) const {
  for (const int edge : out_edges_[from]) {
    if (edges_[edge].edge->to == to) return edge;
  }
  MW_CHECK(false) << "no values flow from stage " << from << " to " << to;
  return -1;
}

bool PipelineClock::Run(Dispatcher& dispatcher) {
  dispatcher_ = &dispatcher;
  for (StageId stage{0}; stage < std::ssize(rank_of_stage_); ++stage) {
    if (!in_edges_[stage].empty()) continue;
    for (int m = 0; m < micro_batches_; ++m) {
      Ready(ActionKind::kForward, stage, m);
    }
  }
  for (int rank = 0; rank < std::ssize(running_); ++rank) {
    awake_.push_back(rank);
  }
  Dispatch();
  while (!events_.empty()) {
    const double until = events_.top().time + tolerance_;
    while (!events_.empty() && events_.top().time <= until) {
      const Event event = events_.top();
      events_.pop();
      now_ = std::max(now_, event.time);
      if (event.rank >= 0) {
        Finish(event.rank);
      } else {
        FinishTransfer(event.transfer);
      }
    }
    Dispatch();
  }
  Apply();
  return left_ == 0;
}

bool PipelineClock::IsReady(const Action& action) const {
  const Task& t = task(action.stage, action.micro_batch);
  switch (action.kind) {
    case ActionKind::kForward:
      return !t.forward_started && t.missing_inputs == 0;
    case ActionKind::kInputGrad:
    case ActionKind::kBackward:
      return !t.gradient_started && t.forward_done && t.missing_gradients == 0;
    case ActionKind::kWeightGrad:
      return !t.weight_started && t.input_grad_done;
    default:
      return false;
  }
}

std::optional<double> PipelineClock::NextArrival(int rank) const {
  const std::multiset<double>& expected = expected_[rank];
  if (expected.empty()) return std::nullopt;
  return *expected.begin();
}

void PipelineClock::Ready(ActionKind kind, StageId stage, int micro_batch) {
  dispatcher_->OnReady(
      {.stage = stage, .kind = kind, .micro_batch = micro_batch});
}

void PipelineClock::Push(double time, int rank, int64_t transfer) {
  events_.push({time, order_++, rank, transfer});
}

void PipelineClock::Hold(int rank, int64_t bytes) {
  if (bytes == 0) return;
  bytes_[rank] += bytes;
  result_.peak_bytes[rank] = std::max(result_.peak_bytes[rank], bytes_[rank]);
  if (!options_.record) return;
  std::vector<MemoryPoint>& points = result_.memory[rank];
  if (!points.empty() && points.back().seconds == now_) {
    points.back().bytes = bytes_[rank];
  } else {
    points.push_back({now_, bytes_[rank]});
  }
}

void PipelineClock::Dispatch() {
  // Computations first: they release buffers that transfers need.
  while (!awake_.empty()) {
    const int rank = awake_.back();
    awake_.pop_back();
    if (running_[rank].has_value()) continue;
    const std::optional<Action> next = dispatcher_->Next(rank, *this);
    if (next.has_value()) Start(rank, *next);
  }
  for (const int link : links_awake_) StartTransfers(link);
  links_awake_.clear();
}

void PipelineClock::Start(int rank, const Action& action) {
  MW_CHECK(IsReady(action)) << ToString(action);
  const StageCost& cost = costs_.stages[action.stage];
  Task& t = task(action.stage, action.micro_batch);
  const bool forward = action.kind == ActionKind::kForward;
  if (forward) {
    t.forward_started = true;
  } else if (TakesGradients(action.kind)) {
    t.gradient_started = true;
  } else {
    t.weight_started = true;
  }
  // Received values now count as held by the stage.
  if (forward) {
    for (const int edge : in_edges_[action.stage]) {
      Hold(rank, -edges_[edge].edge->forward_bytes);
    }
    Hold(rank, cost.held_bytes);
  }
  if (action.kind == ActionKind::kBackward) Hold(rank, cost.MoreInBackward());
  running_[rank] = action;
  const double end = now_ + cost.Seconds(action.kind);
  result_.busy_seconds[rank] += end - now_;
  if (options_.record) result_.rows[rank].push_back({action, now_, end});
  Push(end, rank, -1);
  // Ranks that wait for the result can now expect it at a known time.
  if (forward) {
    for (const int edge : out_edges_[action.stage]) {
      const Edge& e = edges_[edge];
      if (e.link[0] < 0) continue;
      const double at = end + e.edge->forward_seconds;
      expected_at_[TransferId(edge, false, action.micro_batch)] = at;
      expected_[rank_of_stage_[e.edge->to]].insert(at);
    }
  } else if (TakesGradients(action.kind)) {
    for (const int edge : in_edges_[action.stage]) {
      const Edge& e = edges_[edge];
      if (e.link[1] < 0) continue;
      const double at = end + e.edge->backward_seconds;
      expected_at_[TransferId(edge, true, action.micro_batch)] = at;
      expected_[rank_of_stage_[e.edge->from]].insert(at);
    }
  }
}

void PipelineClock::Finish(int rank) {
  const Action action = *running_[rank];
  running_[rank].reset();
  free_since_[rank] = now_;
  awake_.push_back(rank);
  const StageCost& cost = costs_.stages[action.stage];
  Task& t = task(action.stage, action.micro_batch);
  if (action.kind == ActionKind::kForward) {
    t.forward_done = true;
    for (const int edge : out_edges_[action.stage]) {
      Produce(edge, false, action.micro_batch);
    }
    if (t.missing_gradients == 0) {
      Ready(ActionKind::kInputGrad, action.stage, action.micro_batch);
    }
    return;
  }
  if (TakesGradients(action.kind)) {
    // Incoming gradients are freed after the action.
    for (const int edge : out_edges_[action.stage]) {
      Hold(rank, -edges_[edge].edge->backward_bytes);
    }
    for (const int edge : in_edges_[action.stage]) {
      Produce(edge, true, action.micro_batch);
    }
  }
  if (action.kind == ActionKind::kInputGrad) {
    t.input_grad_done = true;
    Hold(rank, cost.KeptBytes() - cost.held_bytes);
    Ready(ActionKind::kWeightGrad, action.stage, action.micro_batch);
    return;
  }
  Hold(rank, action.kind == ActionKind::kBackward
                 ? -cost.held_bytes - cost.MoreInBackward()
                 : -cost.KeptBytes());
  --left_;
}

void PipelineClock::Produce(int edge, bool backward, int micro_batch) {
  const StageEdge& e = *edges_[edge].edge;
  const int from = rank_of_stage_[backward ? e.to : e.from];
  Hold(from, backward ? e.backward_bytes : e.forward_bytes);
  if (edges_[edge].link[backward ? 1 : 0] < 0) {
    Arrive(edge, backward, micro_batch);
  } else if (!options_.explicit_transfers) {
    const int64_t id = TransferId(edge, backward, micro_batch);
    const int link = edges_[edge].link[backward ? 1 : 0];
    posted_[id] = 2;
    links_[link].waiting.push_back(id);
    links_awake_.push_back(link);
  }
}

void PipelineClock::Post(const Action& transfer) {
  const bool backward = !IsForwardTransfer(transfer.kind);
  const int edge = EdgeIndex(std::min(transfer.stage, transfer.peer),
                             std::max(transfer.stage, transfer.peer));
  const int64_t id = TransferId(edge, backward, transfer.micro_batch);
  if (++posted_[id] < 2) return;
  const int link = edges_[edge].link[backward ? 1 : 0];
  links_[link].waiting.push_back(id);
  links_awake_.push_back(link);
}

void PipelineClock::StartTransfers(int link) {
  Link& l = links_[link];
  if (l.busy || l.waiting.empty()) return;
  const int64_t id = l.waiting.front();
  l.waiting.pop_front();
  l.busy = true;
  const bool backward = id / micro_batches_ % 2 == 1;
  const StageEdge& e = *edges_[id / micro_batches_ / 2].edge;
  const int64_t bytes = backward ? e.backward_bytes : e.forward_bytes;
  const double end = now_ + (backward ? e.backward_seconds : e.forward_seconds);
  const StageId from = backward ? e.to : e.from;
  const StageId to = backward ? e.from : e.to;
  Hold(rank_of_stage_[to], bytes);
  if (options_.record) {
    result_.transfers.push_back(
        {.send = {.stage = from,
                  .kind = backward ? ActionKind::kSendBackward
                                   : ActionKind::kSendForward,
                  .micro_batch = static_cast<int>(id % micro_batches_),
                  .peer = to},
         .from_rank = rank_of_stage_[from],
         .to_rank = rank_of_stage_[to],
         .begin = now_,
         .end = end,
         .bytes = bytes});
  }
  Push(end, -1, id);
}

void PipelineClock::FinishTransfer(int64_t transfer) {
  const int micro_batch = static_cast<int>(transfer % micro_batches_);
  const bool backward = transfer / micro_batches_ % 2 == 1;
  const int edge = static_cast<int>(transfer / micro_batches_ / 2);
  const StageEdge& e = *edges_[edge].edge;
  const int link = edges_[edge].link[backward ? 1 : 0];
  links_[link].busy = false;
  links_awake_.push_back(link);
  Hold(rank_of_stage_[backward ? e.to : e.from],
       -(backward ? e.backward_bytes : e.forward_bytes));
  std::multiset<double>& expected =
      expected_[rank_of_stage_[backward ? e.from : e.to]];
  expected.erase(expected.find(expected_at_[transfer]));
  Arrive(edge, backward, micro_batch);
}

void PipelineClock::Arrive(int edge, bool backward, int micro_batch) {
  const StageEdge& e = *edges_[edge].edge;
  const StageId stage = backward ? e.from : e.to;
  Task& t = task(stage, micro_batch);
  awake_.push_back(rank_of_stage_[stage]);
  if (!backward) {
    if (--t.missing_inputs == 0) {
      Ready(ActionKind::kForward, stage, micro_batch);
    }
  } else if (--t.missing_gradients == 0 && t.forward_done) {
    Ready(ActionKind::kInputGrad, stage, micro_batch);
  }
}

void PipelineClock::Apply() {
  const double last = *std::ranges::max_element(free_since_);
  for (StageId stage{0}; stage < std::ssize(rank_of_stage_); ++stage) {
    const double seconds = costs_.stages[stage].apply;
    if (seconds == 0) continue;
    const int rank = rank_of_stage_[stage];
    double begin = free_since_[rank];
    if (costs_.apply_after_all) begin = std::max(begin, last);
    free_since_[rank] = begin + seconds;
    result_.busy_seconds[rank] += seconds;
    if (!options_.record) continue;
    result_.rows[rank].push_back(
        {{.stage = stage, .kind = ActionKind::kApply}, begin, begin + seconds});
  }
  result_.step_seconds = *std::ranges::max_element(free_since_);
}

Simulation PipelineClock::TakeResult() {
  double busy = 0;
  for (const double seconds : result_.busy_seconds) busy += seconds;
  const double all =
      result_.step_seconds * static_cast<double>(result_.busy_seconds.size());
  result_.bubble_share = all > 0 ? std::max(0.0, 1 - busy / all) : 0;
  return std::move(result_);
}

}  // namespace meshwright
