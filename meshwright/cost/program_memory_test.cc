#include "meshwright/cost/program_memory.h"

#include <limits>

#include "gtest/gtest.h"
#include "meshwright/cost/module_for_test.h"

namespace meshwright {
namespace {

constexpr int64_t kArray = 256;  // Bytes of f32[8,8].
constexpr int64_t kPointer = 8;  // Of a result in a tuple.

ProgramBytes Estimate(Module& module, BodyForTest& body,
                      const FusionStyle& style = {}) {
  module.set_entry(body.computation());
  module.Finish();
  return EstimateMemory(module, KernelsOf(module, ModuleWork(module), style),
                        style);
}

TEST(EstimateMemoryTest, ValuesLiveUntilTheirLastReader) {
  Module module("m");
  BodyForTest body(module.AddComputation("main"));
  Instruction* x = body.Parameter(F32({8, 8}));
  Instruction* a = body.Dot(x, x);
  Instruction* b = body.Dot(a, a);
  Instruction* c = body.Dot(b, a);  // a and b are there.
  Instruction* d = body.Dot(c, c);  // Only c.
  body.Tuple({d});
  const ProgramBytes bytes = Estimate(module, body);
  EXPECT_EQ(bytes.arguments, kArray);
  EXPECT_EQ(bytes.outputs, kArray + kPointer);
  EXPECT_EQ(bytes.aliased, 0);
  EXPECT_EQ(bytes.temporaries, 3 * kArray);
  EXPECT_EQ(bytes.peak(), 5 * kArray + kPointer);
  EXPECT_EQ(bytes.peak_at, c);
}

TEST(EstimateMemoryTest, WhatCannotBeCountedIsTheLargestNumber) {
  Module module("m");
  BodyForTest body(module.AddComputation("main"));
  for (int i = 0; i < 64; ++i) body.Parameter(F32({int64_t{1} << 56}));
  body.Tuple({body.Parameter(F32({8}))});
  const ProgramBytes bytes = Estimate(module, body);
  EXPECT_EQ(bytes.peak(), std::numeric_limits<int64_t>::max());
  EXPECT_EQ(bytes.peak_at, nullptr);
}

TEST(EstimateMemoryTest, ElementwiseKernelsWorkInPlace) {
  Module module("m");
  BodyForTest body(module.AddComputation("main"));
  Instruction* x = body.Parameter(F32({8, 8}));
  Instruction* a = body.Dot(x, x);
  Instruction* b = body.Add(Opcode::kTanh, F32({8, 8}), {a});
  body.Tuple({body.Dot(b, b)});
  EXPECT_EQ(Estimate(module, body).temporaries, kArray);
}

TEST(EstimateMemoryTest, AResultTakesThePlaceOfTheArgumentItReplaces) {
  const auto temporaries = [](bool read_later) {
    Module module("m");
    BodyForTest body(module.AddComputation("main"));
    Instruction* w = body.Parameter(F32({8, 8}));
    Instruction* next = body.Add(Opcode::kTanh, F32({8, 8}), {w});
    Instruction* other = body.Dot(read_later ? w : next, next);
    body.Tuple({next, other});
    module.aliases.push_back({.output_index = {0}, .parameter_number = 0});
    const ProgramBytes bytes = Estimate(module, body);
    EXPECT_EQ(bytes.aliased, kArray);
    return bytes.temporaries;
  };
  EXPECT_EQ(temporaries(false), 0);
  EXPECT_EQ(temporaries(true), kArray);  // Not before w has been read.
}

TEST(EstimateMemoryTest, AllReduceInPlaceOrNot) {
  const auto temporaries = [](bool in_place) {
    Module module("m");
    Computation* adder = AdderForTest(module);
    BodyForTest body(module.AddComputation("main"));
    Instruction* x = body.Parameter(F32({8, 8}));
    Instruction* sum = body.AllReduce(body.Dot(x, x), adder, {{0, 1}});
    body.Tuple({body.Dot(sum, sum)});
    return Estimate(module, body, {.all_reduce_in_place = in_place})
        .temporaries;
  };
  EXPECT_EQ(temporaries(true), kArray);
  EXPECT_EQ(temporaries(false), 2 * kArray);
}

// Contractions read a copy of what is gathered along columns, in rows: one for
// all of them.
TEST(EstimateMemoryTest, WhatCollectivesTransposeIsCopied) {
  const auto temporaries = [](bool transposes) {
    Module module("m");
    BodyForTest body(module.AddComputation("main"));
    Instruction* x = body.Parameter(F32({8, 4}));
    Instruction* all = body.Add(Opcode::kAllGather, F32({8, 8}), {x});
    all->attributes.mutate().dimensions = {1};
    Instruction* w = body.Parameter(F32({8, 8}));
    body.Tuple({body.Dot(all, w), body.Dot(w, all)});
    return Estimate(module, body,
                    {.transposes_for_collectives = transposes,
                     .runs_when_ready = true})
        .temporaries;
  };
  EXPECT_EQ(temporaries(false), kArray);
  EXPECT_EQ(temporaries(true), 2 * kArray);
}

// The gradient of a weight reads a copy of its left operand; what elementwise
// kernels make for it alone they write in that order.
TEST(EstimateMemoryTest, ContractionsOverSeveralDimensionsReadCopies) {
  const auto temporaries = [](bool elementwise) {
    Module module("m");
    BodyForTest body(module.AddComputation("main"));
    Instruction* x = body.Parameter(F32({2, 4, 8}));
    Instruction* made =
        elementwise ? body.Add(Opcode::kNegate, F32({2, 4, 8}), {x})
                    : body.Add(Opcode::kCollectivePermute, F32({2, 4, 8}), {x});
    Instruction* dot = body.Add(Opcode::kDot, F32({8, 8}), {made, x});
    dot->attributes.mutate().dot = DotDimensionNumbers{
        .lhs_contracting = {0, 1}, .rhs_contracting = {0, 1}};
    body.Tuple({dot});
    return Estimate(module, body,
                    {.transposes_for_dots = true, .runs_when_ready = true})
        .temporaries;
  };
  EXPECT_EQ(temporaries(false), 2 * kArray);
  EXPECT_EQ(temporaries(true), kArray);
}

// A copy of a product is made when the factors are gone.
TEST(EstimateMemoryTest, CopiesAreMadeAfterTheirMakersInputsAreGone) {
  Module module("m");
  BodyForTest body(module.AddComputation("main"));
  Instruction* x = body.Parameter(F32({8, 8}));
  Instruction* factor = body.Dot(x, x);
  Instruction* product = body.Dot(factor, x);
  Instruction* part = body.Add(Opcode::kReduceScatter, F32({8, 4}), {product});
  part->attributes.mutate().dimensions = {1};
  body.Tuple({part});
  // The factor and the product, then the product and its copy.
  EXPECT_EQ(
      Estimate(module, body,
               {.transposes_for_collectives = true, .runs_when_ready = true})
          .temporaries,
      2 * kArray);
}

// Until a result takes its memory, an argument that is read no more has room.
TEST(EstimateMemoryTest, ValuesLieInArgumentsThatAreReadNoMore) {
  const auto temporaries = [](bool read_later) {
    Module module("m");
    BodyForTest body(module.AddComputation("main"));
    Instruction* w = body.Parameter(F32({8, 8}));
    Instruction* x = body.Parameter(F32({8, 8}));
    Instruction* a = body.Dot(w, x);
    Instruction* b = body.Dot(a, x);
    Instruction* c = body.Dot(b, read_later ? w : x);
    body.Tuple({body.Dot(c, x)});
    module.aliases.push_back({.output_index = {0}, .parameter_number = 0});
    return Estimate(module, body, {.runs_when_ready = true}).temporaries;
  };
  // Where w was lies b, beside a and c.
  EXPECT_EQ(temporaries(false), kArray);
  EXPECT_EQ(temporaries(true), 2 * kArray);
}

// A loop carries an array and collects rows in another, in place.
TEST(EstimateMemoryTest, LoopsUpdateInPlace) {
  Module module("m");
  BodyForTest body(module.AddComputation("main"));
  Instruction* x = body.Parameter(F32({8, 8}));
  Instruction* start = body.Dot(x, x);
  Instruction* rows = body.Broadcast(body.Constant(Literal::Scalar(0.0f)),
                                     F32({100, 8, 8}), {});
  Instruction* loop = LoopForTest(
      module, body, {start, rows}, 100,
      [](BodyForTest& inner, const std::vector<Instruction*>& carried) {
        Instruction* next = inner.Dot(carried[0], carried[0]);
        Instruction* row = inner.Add(Opcode::kReshape, F32({1, 8, 8}), {next});
        Instruction* zero = inner.Constant(Literal::Scalar(int32_t{0}));
        Instruction* all =
            inner.Add(Opcode::kDynamicUpdateSlice, F32({100, 8, 8}),
                      {carried[1], row, zero, zero, zero});
        return std::vector<Instruction*>{next, all};
      });
  body.Tuple({body.Element(loop, 2)});
  const ProgramBytes bytes = Estimate(module, body);
  // The carried array and the counter; the next array is written while the old
  // one is read, and takes a place of its own. The rows are the result, from
  // the start.
  EXPECT_EQ(bytes.temporaries, 2 * kArray + 4);
}

// Zeros to begin with, once; what a loop makes of them is two arrays.
TEST(EstimateMemoryTest, OnlyOneTakesThePlaceOfWhatSeveralBeginWith) {
  Module module("m");
  BodyForTest body(module.AddComputation("main"));
  Instruction* zeros =
      body.Broadcast(body.Constant(Literal::Scalar(0.0f)), F32({8, 8}), {});
  Instruction* loop = LoopForTest(
      module, body, {zeros, zeros}, 100,
      [](BodyForTest& inner, const std::vector<Instruction*>& carried) {
        return std::vector<Instruction*>{
            inner.Add(Opcode::kNegate, F32({8, 8}), {carried[0]}),
            inner.Add(Opcode::kTanh, F32({8, 8}), {carried[1]})};
      });
  body.Tuple({body.Dot(body.Element(loop, 1), body.Element(loop, 2))});
  EXPECT_EQ(Estimate(module, body).temporaries, 2 * kArray + 4);
}

// An argument that loops within loops only read has no second place, and what
// was made for them alone goes when they are done.
TEST(EstimateMemoryTest, WhatLoopsOnlyReadStaysWhereItIs) {
  using Values = std::vector<Instruction*>;
  Module module("m");
  BodyForTest body(module.AddComputation("main"));
  Instruction* w = body.Parameter(F32({8, 8}));
  Instruction* made = body.Dot(w, w);
  Instruction* loop = LoopForTest(
      module, body, {w, made, body.Dot(made, made)}, 100,
      [&](BodyForTest& outer, const Values& carried) {
        Instruction* inside = LoopForTest(
            module, outer, carried, 100,
            [](BodyForTest& inner, const Values& values) {
              Instruction* next = inner.Dot(values[0], values[1]);
              return Values{values[0], values[1], inner.Dot(next, values[2])};
            });
        return Values{outer.Element(inside, 1), outer.Element(inside, 2),
                      outer.Element(inside, 3)};
      });
  Instruction* then = body.Dot(body.Element(loop, 3), body.Element(loop, 1));
  body.Tuple({body.Dot(then, then)});
  // What was made, what is carried and two products; the counters.
  EXPECT_EQ(Estimate(module, body).temporaries, 4 * kArray + 2 * 4);
}

}  // namespace
}  // namespace meshwright
