#include "meshwright/schedule/trace.h"

#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace meshwright {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kMicros = 1e6;

// Appends events to a text one by one: there may be millions.
class Events {
 public:
  Events(int process, std::string& text) : process_(process), text_(text) {}

  void NameProcess(const std::string& name) {
    Add({{"ph", "M"}, {"name", "process_name"}, {"args", {{"name", name}}}});
  }

  // Tracks are shown in the order of their numbers.
  void NameTrack(int track, const std::string& name) {
    Add({{"ph", "M"},
         {"name", "thread_name"},
         {"tid", track},
         {"args", {{"name", name}}}});
    Add({{"ph", "M"},
         {"name", "thread_sort_index"},
         {"tid", track},
         {"args", {{"sort_index", track}}}});
  }

  void Slice(int track, const Action& action, double begin, double end,
             Json args) {
    args["stage"] = int{action.stage};
    if (action.kind != ActionKind::kApply) {
      args["micro_batch"] = action.micro_batch;
    }
    Add({{"ph", "X"},
         {"name", absl::StrCat("PP:", ToString(action))},
         {"cat", KindText(action.kind)},
         {"tid", track},
         {"ts", begin * kMicros},
         {"dur", (end - begin) * kMicros},
         {"args", std::move(args)}});
  }

  void Count(const std::string& name, double seconds, int64_t bytes) {
    Add({{"ph", "C"},
         {"name", name},
         {"ts", seconds * kMicros},
         {"args", {{"bytes", bytes}}}});
  }

 private:
  void Add(Json event) {
    event["pid"] = process_;
    absl::StrAppend(&text_, absl::EndsWith(text_, "}") ? ",\n" : "\n",
                    event.dump());
  }

  int process_;
  std::string& text_;
};

void Draw(const TracedRun& traced, int process, std::string& text) {
  const Simulation& run = *traced.run;
  Events events(process, text);
  events.NameProcess(traced.name);
  int track = 0;
  for (size_t rank = 0; rank < run.rows.size(); ++rank, ++track) {
    events.NameTrack(track, absl::StrCat("device ", rank));
    for (const TimedAction& timed : run.rows[rank]) {
      events.Slice(track, timed.action, timed.begin, timed.end, Json::object());
    }
  }
  std::map<std::pair<int, int>, int> links;
  for (const TimedTransfer& transfer : run.transfers) {
    links.try_emplace({transfer.from_rank, transfer.to_rank}, 0);
  }
  for (auto& [ends, number] : links) {
    number = track++;
    events.NameTrack(number,
                     absl::StrCat("link ", ends.first, " to ", ends.second));
  }
  for (const TimedTransfer& transfer : run.transfers) {
    events.Slice(
        links.at({transfer.from_rank, transfer.to_rank}), transfer.send,
        transfer.begin, transfer.end,
        {{"to_stage", int{transfer.send.peer}}, {"bytes", transfer.bytes}});
  }
  for (size_t rank = 0; rank < run.memory.size(); ++rank) {
    for (const MemoryPoint& point : run.memory[rank]) {
      events.Count(absl::StrCat("held by device ", rank), point.seconds,
                   point.bytes);
    }
  }
}

}  // namespace

std::string ToTrace(const std::vector<TracedRun>& runs) {
  std::string text = "{\"displayTimeUnit\": \"ms\", \"traceEvents\": [";
  for (size_t i = 0; i < runs.size(); ++i) {
    Draw(runs[i], static_cast<int>(i), text);
  }
  absl::StrAppend(&text, "\n]}\n");
  return text;
}

}  // namespace meshwright
