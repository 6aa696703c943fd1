#include "meshwright/cli/command_line.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "meshwright/base/nearest_word.h"

namespace meshwright {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const CommandSpec kSpec = {.name = "run",
                           .summary = "runs",
                           .positional = {"MODULE"},
                           .flags = {{"steps", "K", "how many"},
                                     {"data", "FILE", "repeatable"},
                                     {"json", "", "as JSON"}}};

absl::StatusOr<CommandLine> Parse(std::vector<std::string> words) {
  return CommandLine::Parse(words, kSpec);
}

std::string Refusal(std::vector<std::string> words) {
  const auto line = Parse(std::move(words));
  EXPECT_FALSE(line.ok());
  return std::string(line.status().message());
}

TEST(CommandLineTest, ReadsFlagsInBothForms) {
  const auto line =
      Parse({"--steps=5", "m.hlo.pb", "--data", "a", "--json", "--data=b=c"});
  ASSERT_TRUE(line.ok()) << line.status();
  EXPECT_EQ(line->positional(0), "m.hlo.pb");
  EXPECT_EQ(line->Integer("steps", 1, {1, 9}).value(), 5);
  EXPECT_THAT(line->All("data"), ElementsAre("a", "b=c"));
  EXPECT_TRUE(line->Has("json"));
}

TEST(CommandLineTest, FallsBackToDefaults) {
  const auto line = Parse({"m"});
  ASSERT_TRUE(line.ok());
  EXPECT_EQ(line->Integer("steps", 7, {1, 9}).value(), 7);
  EXPECT_EQ(line->Text("data", "none"), "none");
  EXPECT_TRUE(line->All("data").empty());
}

TEST(CommandLineTest, NamesWhatItDoesNotUnderstand) {
  EXPECT_THAT(Refusal({"m", "--stpes", "3"}),
              HasSubstr("did you mean --steps"));
  EXPECT_THAT(Refusal({"m", "--qqqqqqqq"}), HasSubstr("--help"));
  EXPECT_THAT(Refusal({"m", "--steps"}), HasSubstr("--steps needs a value: K"));
  EXPECT_THAT(Refusal({"m", "--steps="}),
              HasSubstr("--steps needs a value: K"));
  EXPECT_THAT(Refusal({"m", "--steps", ""}),
              HasSubstr("--steps needs a value: K"));
  EXPECT_THAT(Refusal({""}), HasSubstr("an argument is empty"));
  EXPECT_THAT(Refusal({"m", "--json=1"}), HasSubstr("takes no value"));
  EXPECT_THAT(Refusal({}), HasSubstr("expected MODULE, got nothing"));
  EXPECT_THAT(Refusal({"a", "b"}), HasSubstr("expected MODULE, got a b"));
}

TEST(CommandLineTest, IntegersMustBeInRange) {
  for (const std::string value :
       {"0", "10", "-1", "x", "99999999999999999999"}) {
    const auto line = Parse({"m", "--steps=" + value});
    ASSERT_TRUE(line.ok());
    const auto steps = line->Integer("steps", 1, {1, 9});
    ASSERT_FALSE(steps.ok()) << value;
    EXPECT_THAT(std::string(steps.status().message()),
                HasSubstr("whole number from 1 to 9"));
  }
}

TEST(CommandLineTest, NearestNeedsSomeLikeness) {
  EXPECT_EQ(NearestWord("inspct", {"run", "inspect"}), "inspect");
  EXPECT_EQ(NearestWord("zzz", {"run", "inspect"}), "");
}

TEST(CommandLineTest, WordsInBracketsMayBeLeftOut) {
  const CommandSpec spec = {.name = "explain",
                            .positional = {"PLAN", "[NAME]"}};
  const auto parse = [&](std::vector<std::string> words) {
    return CommandLine::Parse(words, spec);
  };
  EXPECT_EQ(parse({"p.json"})->positional_count(), 1);
  EXPECT_EQ(parse({"p.json", "dot.3"})->positional(1), "dot.3");
  EXPECT_EQ(parse({}).status().message(), "expected PLAN [NAME], got nothing");
  EXPECT_FALSE(parse({"p.json", "dot.3", "more"}).ok());
}

}  // namespace
}  // namespace meshwright
