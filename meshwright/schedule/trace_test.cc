#include "meshwright/schedule/trace.h"

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "meshwright/schedule/generate.h"

namespace meshwright {
namespace {

TEST(TraceTest, TracksSlicesAndCounters) {
  const auto table = MakeTimetable(
      {.stages = 2, .ranks = 2, .micro_batches = 2}, ScheduleKind::k1F1B);
  ASSERT_TRUE(table.ok());
  const auto run = Simulate(*table, EvenCosts(2,
                                              {.forward = 1,
                                               .input_grad = 1,
                                               .weight_grad = 1,
                                               .apply = 0.5,
                                               .held_bytes = 8},
                                              0.25));
  ASSERT_TRUE(run.ok());
  const auto json =
      nlohmann::json::parse(ToTrace({{"simulated", &*run}, {"run", &*run}}));
  std::set<std::string> tracks, counters, processes;
  std::map<std::string, double> begin, duration;
  for (const auto& event : json["traceEvents"]) {
    const std::string name = event["name"];
    if (name == "process_name") processes.insert(event["args"]["name"]);
    if (event["pid"] != 0) continue;
    if (name == "thread_name") tracks.insert(event["args"]["name"]);
    if (event["ph"] == "C") counters.insert(name);
    if (event["ph"] == "X") {
      begin[name] = event["ts"];
      duration[name] = event["dur"];
    }
  }
  EXPECT_EQ(processes, (std::set<std::string>{"simulated", "run"}));
  EXPECT_EQ(tracks, (std::set<std::string>{"device 0", "device 1",
                                           "link 0 to 1", "link 1 to 0"}));
  EXPECT_EQ(counters,
            (std::set<std::string>{"held by device 0", "held by device 1"}));
  EXPECT_EQ(begin.size(), 8u + 4u + 2u);
  EXPECT_DOUBLE_EQ(begin["PP:1F0"], 1.25e6);
  EXPECT_DOUBLE_EQ(duration["PP:1B0"], 2e6);
  EXPECT_DOUBLE_EQ(begin["PP:0SEND_F0"], 1e6);
  EXPECT_DOUBLE_EQ(duration["PP:0SEND_F0"], 0.25e6);
  EXPECT_TRUE(begin.contains("PP:0A"));
}

}  // namespace
}  // namespace meshwright
