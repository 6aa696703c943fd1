#include "meshwright/loops/counted_loop.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "meshwright/base/file.h"
#include "meshwright/hlo/inline_calls.h"
#include "meshwright/hlo/read_module.h"
#include "meshwright/loops/small_loop_for_test.h"

namespace meshwright {
namespace {

using Kind = LoopElement::Kind;
using ::testing::ElementsAre;

CountedLoop Analyze(Way way) {
  SmallLoops step(4);
  const auto results = step.Scan("scan", step.Parameter("x", {8}),
                                 step.Parameter("w", {4, 8}), way);
  step.Return({results.carried, results.stacked});
  const std::optional<CountedLoop> loop = AnalyzeLoop(*results.loop);
  EXPECT_TRUE(loop.has_value());
  return loop.value_or(CountedLoop{});
}

TEST(CountedLoopTest, TellsWhatIsCarried) {
  const CountedLoop loop = Analyze(Way::kUp);
  EXPECT_EQ(loop.count, 4);
  ASSERT_EQ(loop.elements.size(), 4u);
  EXPECT_EQ(loop.elements[0].kind, Kind::kKnown);
  EXPECT_THAT(loop.elements[0].values, ElementsAre(0, 1, 2, 3, 4));
  EXPECT_EQ(loop.elements[1].kind, Kind::kCarried);
  for (const int e : {2, 3}) {
    EXPECT_EQ(loop.elements[e].kind, Kind::kStacked);
    EXPECT_EQ(loop.elements[e].dimension, 0);
    EXPECT_EQ(loop.elements[e].first, 0);
    EXPECT_EQ(loop.elements[e].step, 1);
    EXPECT_EQ(loop.elements[e].is_written, e == 2);
  }
}

TEST(CountedLoopTest, WalksTheOtherWay) {
  const CountedLoop loop = Analyze(Way::kDown);
  const LoopElement& w = loop.elements[3];
  EXPECT_EQ(w.kind, Kind::kStacked);
  EXPECT_EQ(w.first, 3);
  EXPECT_EQ(w.step, -1);
  EXPECT_EQ(w.SlotsOf(0, 1).begin, 3);
  EXPECT_EQ(w.SlotsOf(1, 4).begin, 0);
  EXPECT_EQ(w.SlotsOf(1, 4).end, 3);
}

// The last slice of the shifted walk would lie outside and is clamped.
TEST(CountedLoopTest, ClampedSlicesAreNoSlots) {
  const CountedLoop loop = Analyze(Way::kShifted);
  EXPECT_EQ(loop.elements[2].kind, Kind::kCarried);
  EXPECT_EQ(loop.elements[3].kind, Kind::kInvariant);
}

// As two versions of jax lower them, layers and their gradients.
TEST(CountedLoopTest, ReadsScans) {
  for (const std::string name : {"scan_gradient.jax04", "scan_gradient.jax10",
                                 "gpt_scanned.jax04", "gpt_scanned.jax10"}) {
    const auto bytes = ReadFile(MW_SOURCE_DIR "/meshwright/analysis/testdata/" +
                                name + ".hlo.pb.gz");
    ASSERT_TRUE(bytes.ok()) << bytes.status();
    const auto read = ReadModule(*bytes);
    ASSERT_TRUE(read.ok()) << read.status();
    const Module module = InlineCalls(*read);
    std::vector<int64_t> steps;
    for (const auto& instruction : module.entry()->instructions()) {
      if (instruction->opcode != Opcode::kWhile) continue;
      const std::optional<CountedLoop> loop = AnalyzeLoop(*instruction);
      ASSERT_TRUE(loop.has_value()) << name;
      for (const LoopElement& element : loop->elements) {
        if (element.kind == Kind::kStacked) steps.push_back(element.step);
      }
    }
    EXPECT_THAT(steps, ::testing::Contains(1)) << name;
    EXPECT_THAT(steps, ::testing::Contains(-1)) << name;
  }
}

}  // namespace
}  // namespace meshwright
