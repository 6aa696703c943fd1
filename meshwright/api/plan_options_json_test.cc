#include "meshwright/api/plan_options_json.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace meshwright {
namespace {

using testing::HasSubstr;

TEST(PlanOptionsJsonTest, NothingIsTheDefault) {
  for (const char* json : {"", "{}", R"({"mesh": null})"}) {
    const auto options = PlanOptionsFromJson(json);
    ASSERT_TRUE(options.ok()) << json;
    EXPECT_EQ(options->strategy, "auto");
    EXPECT_EQ(options->mesh, std::nullopt);
    EXPECT_EQ(options->time_limit_seconds, 60);
  }
  EXPECT_EQ(PlanOptionsFromJson("", {.max_seconds = 5})->time_limit_seconds, 5);
}

TEST(PlanOptionsJsonTest, NamesAreThoseOfTheFlags) {
  const auto options = PlanOptionsFromJson(R"({
      "strategy": "zero3", "mesh": {"model": 2, "data": 4},
      "micro-batches": 4, "stages": "2", "schedule": "1f1b",
      "recompute": "full", "memory": 1.5,
      "forbid": ["all-gather", "all-to-all@data"], "batch_axis": "data",
      "pins": {"parameters": {}}, "assumed": true, "require_rules": true,
      "time_limit": 7, "steps": 1000, "seed": 9})");
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_EQ(options->strategy, "zero3");
  EXPECT_EQ(options->mesh, "model=2,data=4");
  EXPECT_EQ(options->micro_batches, 4);
  EXPECT_EQ(options->stages, 2);
  EXPECT_EQ(options->schedule, "1f1b");
  EXPECT_EQ(options->recompute, "full");
  EXPECT_EQ(options->memory_bytes, int64_t{3} << 29);
  EXPECT_EQ(options->forbid, "all-gather,all-to-all@data");
  EXPECT_EQ(options->batch_axis, "data");
  EXPECT_EQ(options->pins_text, R"({"parameters":{}})");
  EXPECT_EQ(options->pins, std::nullopt);
  EXPECT_TRUE(options->assumed);
  EXPECT_TRUE(options->require_rules);
  EXPECT_EQ(options->time_limit_seconds, 7);
  EXPECT_EQ(options->steps, 1000);
  EXPECT_EQ(options->seed, 9);
}

TEST(PlanOptionsJsonTest, MistakesAreNamed) {
  const struct {
    const char* json;
    const char* wanted;
  } kCases[] = {
      {"[1]", "the options are no JSON object"},
      {"{", "the options are no JSON object"},
      {R"({"micro-batchs": 2})", "did you mean micro-batches?"},
      {R"({"colour": 2})", "unknown option colour; there are assumed, "},
      {R"({"stages": 0})", "option stages must be an integer from 1 to 1024"},
      {R"({"stages": 2.5})", "option stages must be an integer"},
      {R"({"seed": 18446744073709551615})", "option seed must be"},
      {R"({"seed": -1})", "option seed must be"},
      {R"({"memory": "much"})", "a positive number of GiB"},
      {R"({"memory": 0})", "a positive number of GiB"},
      {R"({"time-limit": 601})", "seconds, at most 600, not 601"},
      {R"({"strategy": 3})", "option strategy must be text, not 3"},
      {R"({"mesh": {"data": "x"}})", "option mesh.data must be an integer"},
      {R"({"require-rules": 1})", "option require-rules must be true or false"},
      {R"({"assumed": "yes"})", "option assumed must be true or false"},
      {R"({"pin": "pins.json"})", "the coordinator reads no files"},
      {R"({"database": "rates.db"})", "option database names a file"},
      {R"({"rules": "rules.json"})", "option rules names a file"},
      {R"({"output": "plan.json"})", "option output names a file"},
      {R"({"dump": "/tmp"})", "option dump names a folder"},
      {R"({"measure": true})", "option measure is for `meshwright plan`"},
  };
  for (const auto& [json, wanted] : kCases) {
    const auto options = PlanOptionsFromJson(json);
    EXPECT_EQ(options.status().code(), absl::StatusCode::kInvalidArgument)
        << json;
    EXPECT_THAT(std::string(options.status().message()), HasSubstr(wanted));
  }
}

}  // namespace
}  // namespace meshwright
