#include "meshwright/analysis/segments.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "meshwright/analysis/repeats.h"
#include "meshwright/analysis/testdata_for_test.h"

namespace meshwright {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<Repeat> RepeatsOf(const std::string& text) {
  return FindRepeats(std::vector<uint64_t>(text.begin(), text.end()));
}

TEST(RepeatsTest, FindsThem) {
  EXPECT_THAT(RepeatsOf(""), IsEmpty());
  EXPECT_THAT(RepeatsOf("a"), IsEmpty());
  EXPECT_THAT(RepeatsOf("abcd"), IsEmpty());
  EXPECT_THAT(RepeatsOf("aa"), ElementsAre(Repeat{0, 1, 2}));
  EXPECT_THAT(RepeatsOf("xabcabcabcy"), ElementsAre(Repeat{1, 3, 3}));
  // The shortest period.
  EXPECT_THAT(RepeatsOf("abababab"), ElementsAre(Repeat{0, 2, 4}));
  // A short repeat does not break into a long one.
  EXPECT_THAT(RepeatsOf("aabcabc"), ElementsAre(Repeat{1, 3, 2}));
  EXPECT_THAT(RepeatsOf("aabcaabcaabc"), ElementsAre(Repeat{0, 4, 3}));
  EXPECT_THAT(RepeatsOf("ababxcdcdcd"),
              ElementsAre(Repeat{0, 2, 2}, Repeat{5, 2, 3}));
}

TEST(RepeatsTest, LongSequencesAreFast) {
  std::vector<uint64_t> values;
  for (int copy = 0; copy < 1000; ++copy) {
    for (int i = 0; i < 97; ++i) values.push_back(i * i % 31);
  }
  EXPECT_THAT(FindRepeats(values), ElementsAre(Repeat{0, 97, 1000}));
}

std::vector<Segment> SegmentsOf(const Module& module) {
  return FindSegments(module, ModuleWork(module));
}

TEST(SegmentsTest, UnrolledLayers) {
  for (const std::string version : kJaxVersions) {
    const Module module = ReadTestModule("gpt." + version);
    const std::vector<Segment> segments = SegmentsOf(module);
    ASSERT_GE(segments.size(), 2);
    // Forward: qkv, scores, mix, out, up, down.
    EXPECT_EQ(segments[0].count, 4);
    EXPECT_EQ(segments[0].contractions, 6);
    EXPECT_GT(segments[0].flops, 24 * 10 * 64 + 4 * 2 * 25 * 8);
    // Four weights of 12 h^2 elements together.
    EXPECT_EQ(segments[0].parameters, 4);
    EXPECT_EQ(segments[0].parameter_bytes, 4 * 12 * 64);
    // At least the weights and the scores.
    EXPECT_GT(segments[0].bytes, 4 * (12 * 64 + 2 * 2 * 25));
    // Backward: both gradients of each.
    EXPECT_EQ(segments[1].count, 4);
    EXPECT_EQ(segments[1].contractions, 12);
    double flops = 0;
    for (const Segment& segment : segments) {
      flops += static_cast<double>(segment.count) * segment.flops;
    }
    EXPECT_LE(flops, ModuleWork(module).total().flops);
    EXPECT_EQ(SegmentsOf(module), segments);
  }
}

TEST(SegmentsTest, ScannedLayers) {
  for (const std::string version : kJaxVersions) {
    const Module module = ReadTestModule("gpt_scanned." + version);
    const std::vector<Segment> segments = SegmentsOf(module);
    ASSERT_EQ(segments.size(), 2);
    EXPECT_EQ(segments[0].count, 4);
    EXPECT_EQ(segments[0].contractions, 6);
    EXPECT_EQ(segments[0].parameters, 4);
    EXPECT_EQ(segments[0].parameter_bytes, 4 * 12 * 64);
    EXPECT_EQ(segments[1].count, 4);
    EXPECT_EQ(segments[1].contractions, 12);
  }
}

TEST(SegmentsTest, LoopsWithoutContractionsAreNone) {
  for (const std::string version : kJaxVersions) {
    EXPECT_THAT(SegmentsOf(ReadTestModule("fori." + version)), IsEmpty());
  }
}

TEST(SegmentsTest, CallsThatDoubleDoNotTakeForever) {
  const Shape shape = Shape::Array(ElementType::kF32, {4, 4});
  Module module("m");
  Computation* callee = module.AddComputation("f0");
  Instruction* p = callee->AddParameter(shape, "x");
  callee->Add(Opcode::kDot, shape, {p, p}, "dot");
  for (int n = 1; n < 100; ++n) {
    Computation* f = module.AddComputation("f");
    Instruction* x = f->AddParameter(shape, "x");
    Instruction* once = f->Add(Opcode::kCall, shape, {x}, "once");
    Instruction* twice = f->Add(Opcode::kCall, shape, {once}, "twice");
    once->called = {callee};
    twice->called = {callee};
    callee = f;
  }
  module.set_entry(callee);
  const std::vector<Segment> segments = SegmentsOf(module);
  ASSERT_EQ(segments.size(), 1);
  EXPECT_GE(segments[0].count, 2);
}

}  // namespace
}  // namespace meshwright
