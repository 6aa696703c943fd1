#include "meshwright/analysis/liveness.h"

#include <limits>
#include <random>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "meshwright/analysis/testdata_for_test.h"

namespace meshwright {
namespace {

class LivenessTest : public testing::Test {
 protected:
  LivenessTest() { Restart("main"); }

  void Restart(std::string name) {
    if (computation_ != nullptr && computation_->size() == 0) return;
    computation_ = module_.AddComputation(std::move(name));
    module_.set_entry(computation_);
  }
  // Arrays of bytes, so that dimensions are sizes.
  static Shape Array(int64_t bytes) {
    return Shape::Array(ElementType::kU8, {bytes});
  }
  Instruction* Parameter(int64_t bytes) {
    return computation_->AddParameter(Array(bytes), "p");
  }
  Instruction* Add(Opcode opcode, int64_t bytes,
                   std::vector<Instruction*> operands) {
    return computation_->Add(opcode, Array(bytes), std::move(operands), "i");
  }
  // Something that is neither fused nor done in place.
  Instruction* Make(int64_t bytes, std::vector<Instruction*> operands) {
    return Add(Opcode::kConcatenate, bytes, std::move(operands));
  }
  Instruction* Tuple(std::vector<Instruction*> operands) {
    std::vector<Shape> shapes;
    for (const Instruction* operand : operands) {
      shapes.push_back(operand->shape);
    }
    return computation_->Add(Opcode::kTuple, Shape::Tuple(std::move(shapes)),
                             std::move(operands), "t");
  }
  Instruction* Element(Instruction* tuple, int64_t index) {
    Instruction* element =
        computation_->Add(Opcode::kGetTupleElement,
                          tuple->shape.tuple_shapes[index], {tuple}, "e");
    element->attributes.mutate().tuple_index = index;
    return element;
  }
  int64_t Peak(bool fuse = true) const {
    return AnalyzeMemory(module_, {.fuse = fuse}).peak_bytes;
  }

  Module module_{"m"};
  Computation* computation_ = nullptr;
};

TEST_F(LivenessTest, ParametersStayUnlessDonated) {
  Instruction* p = Parameter(100);
  Instruction* a = Make(10, {p});
  Instruction* b = Make(50, {a});
  Make(70, {b});
  const MemoryUse use = AnalyzeMemory(module_);
  EXPECT_EQ(use.peak_bytes, 100 + 50 + 70);
  EXPECT_EQ(use.peak_at, 3);
  EXPECT_EQ(use.parameter_bytes, 100);
  EXPECT_EQ(use.output_bytes, 70);
  ASSERT_EQ(use.ranges.size(), 4);
  EXPECT_EQ(use.ranges[0].end, 4);  // Held.
  EXPECT_EQ(use.ranges[1].begin, 1);
  EXPECT_EQ(use.ranges[1].end, 2);
  EXPECT_EQ(use.ranges[3].end, 4);
  module_.buffer_donors.push_back({.parameter_number = 0});
  EXPECT_EQ(Peak(), 50 + 70);
  module_.buffer_donors.clear();
  module_.aliases.push_back({.parameter_number = 0});
  EXPECT_EQ(Peak(), 50 + 70);
}

TEST_F(LivenessTest, TuplesAndReshapesTakeNoMemory) {
  Instruction* p = Parameter(1);
  Instruction* a = Make(10, {p});
  Instruction* b = Make(20, {p});
  Instruction* tuple = Tuple({a, b});
  Instruction* c = Element(tuple, 1);
  Instruction* d = Add(Opcode::kReshape, 20, {c});
  Instruction* e = Make(5, {p});  // b lives, through d; a is gone.
  Make(7, {d, e});
  EXPECT_EQ(Peak(), 1 + 20 + 5 + 7);
}

TEST_F(LivenessTest, UpdatesAndElementwiseOpsWorkInPlace) {
  Instruction* p = Parameter(1);
  Instruction* a = Make(100, {p});
  Instruction* i = computation_->Add(Opcode::kConstant,
                                     Shape::Scalar(ElementType::kS32), {}, "i");
  Instruction* b = Add(Opcode::kDynamicUpdateSlice, 100, {a, p, i});
  Instruction* c = Add(Opcode::kNegate, 100, {b});
  Make(1, {c});
  EXPECT_EQ(Peak(), 1 + 4 + 100);
  const MemoryUse use = AnalyzeMemory(module_);
  EXPECT_TRUE(use.ranges[3].in_place);
  // Not while somebody reads the old value later, nor over a parameter.
  Make(1, {a});
  EXPECT_EQ(Peak(), 1 + 4 + 200);
  Restart("parameter");
  Add(Opcode::kNegate, 100, {Parameter(100)});
  EXPECT_EQ(Peak(), 200);
  module_.buffer_donors.push_back({.parameter_number = 0});
  EXPECT_EQ(Peak(), 100);
}

TEST_F(LivenessTest, FusedArraysAreNotMade) {
  Instruction* p = Parameter(1);
  Instruction* a = Make(100, {p});
  Instruction* wide = Add(Opcode::kBroadcast, 100, {p});
  Instruction* b = Add(Opcode::kAdd, 100, {a, wide});
  Instruction* c = Add(Opcode::kMultiply, 100, {b, wide});
  Instruction* d = Make(2, {c});
  Make(2, {d, a});
  // Only a, c and d are made.
  EXPECT_EQ(Peak(), 1 + 202);
  EXPECT_EQ(Peak(/*fuse=*/false), 1 + 300);
  Restart("once");
  p = Parameter(1);
  a = Make(100, {p});
  wide = Add(Opcode::kBroadcast, 100, {p});
  b = Add(Opcode::kAdd, 100, {a, wide});
  c = Add(Opcode::kMultiply, 100, {b, a});
  Make(2, {c});
  // c takes a's place, which b and wide are computed from on the way.
  EXPECT_EQ(Peak(), 1 + 102);
  EXPECT_EQ(Peak(/*fuse=*/false), 1 + 200);
}

TEST_F(LivenessTest, OnlyCheapArraysAreComputedForEachReader) {
  for (const bool cheap : {true, false}) {
    Restart("main");
    Instruction* a = Make(100, {Parameter(1)});
    Instruction* b = Add(cheap ? Opcode::kNegate : Opcode::kTanh, 100, {a});
    Instruction* c = Make(2, {Add(Opcode::kSine, 100, {b})});
    Instruction* d = Make(2, {Add(Opcode::kCosine, 100, {b})});
    Make(1, {c, d});
    // The sine beside a or b; tanh takes a's place.
    EXPECT_EQ(Peak(), 1 + 100 + 100 + 2) << cheap;
    bool made = false;
    for (const LiveRange& range : AnalyzeMemory(module_).ranges) {
      made |= range.instruction == b;
    }
    EXPECT_EQ(made, !cheap);
  }
}

TEST_F(LivenessTest, ElementwiseCallsAreFused) {
  Restart("f");
  Instruction* x = Parameter(100);
  Instruction* y = Add(Opcode::kTanh, 100, {x});
  Add(Opcode::kMultiply, 100, {y, x});
  Computation* f = computation_;
  Restart("main");
  Instruction* a = Make(100, {Parameter(1)});
  Instruction* call = Add(Opcode::kCall, 100, {a});
  call->called = {f};
  Make(1, {Add(Opcode::kNegate, 100, {call})});
  EXPECT_EQ(Peak(), 1 + 100 + 1);
  EXPECT_EQ(Peak(/*fuse=*/false), 1 + 200);
}

TEST_F(LivenessTest, CallsTakeWhatTheirCalleeTakes) {
  Restart("f");
  Instruction* x = Parameter(10);
  Instruction* big = Make(1000, {x});
  Make(30, {big});
  Computation* f = computation_;
  Restart("main");
  Instruction* p = Parameter(10);
  Instruction* held = Make(5, {p});
  Instruction* call = Add(Opcode::kCall, 30, {p});
  call->called = {f};
  Make(1, {call, held});
  EXPECT_EQ(Peak(), 10 + 5 + 1030);
}

TEST_F(LivenessTest, LoopsWorkInPlace) {
  const Shape carry = Shape::Tuple({Array(100), Array(20)});
  Restart("condition");
  computation_->AddParameter(carry, "c");
  computation_->Add(Opcode::kConstant, Shape::Scalar(ElementType::kPred), {},
                    "go");
  Computation* condition = computation_;
  Restart("body");
  Instruction* c = computation_->AddParameter(carry, "c");
  Instruction* big = Element(c, 0);
  Instruction* small = Element(c, 1);
  Instruction* index = computation_->Add(
      Opcode::kConstant, Shape::Scalar(ElementType::kS8), {}, "i");
  Instruction* next = Make(20, {small});
  Tuple({Add(Opcode::kDynamicUpdateSlice, 100, {big, small, index}), next});
  Computation* body = computation_;
  Restart("main");
  Instruction* a = Make(100, {Parameter(3)});
  Instruction* b = Make(20, {a});
  Instruction* loop =
      computation_->Add(Opcode::kWhile, carry, {Tuple({a, b})}, "loop");
  loop->called = {condition, body};
  Make(4, {Element(loop, 0)});
  // The body makes a new array of 20 (and a scalar), and updates the other.
  EXPECT_EQ(Peak(), 3 + 100 + 20 + 20 + 1);
}

// Without fusion and reuse: at each moment, everything made and still read.
TEST_F(LivenessTest, AgreesWithBruteForce) {
  std::mt19937 random(5);
  const auto pick = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  for (int trial = 0; trial < 200; ++trial) {
    Restart("main");
    module_.buffer_donors.clear();
    std::vector<Instruction*> all;
    const int64_t parameters = pick(1, 3);
    for (int64_t i = 0; i < parameters; ++i) {
      all.push_back(Parameter(pick(1, 50)));
      if (pick(0, 1) == 1) module_.buffer_donors.push_back({i});
    }
    for (int64_t i = pick(1, 20); i > 0; --i) {
      std::vector<Instruction*> operands;
      for (int64_t j = pick(1, 3); j > 0; --j) {
        operands.push_back(all[pick(0, std::ssize(all) - 1)]);
      }
      all.push_back(Make(pick(1, 50), operands));
    }
    const int64_t outputs = pick(1, 3);
    Tuple({all.end() - std::min(outputs, std::ssize(all)), all.end()});
    const int32_t size = computation_->size();
    int64_t peak = 0;
    for (int32_t now = 0; now < size; ++now) {
      int64_t live = 0;
      for (int32_t id = 0; id + 1 < size; ++id) {
        const Instruction* value = computation_->instruction(id);
        int32_t end = id;
        for (int32_t user = 0; user < size; ++user) {
          for (const Instruction* operand :
               computation_->instruction(user)->operands) {
            if (operand == value) end = user == size - 1 ? size : user;
          }
        }
        const bool is_parameter = id < parameters;
        bool donated = false;
        for (const BufferDonor& donor : module_.buffer_donors) {
          donated |= donor.parameter_number == id;
        }
        if (is_parameter && !donated) end = size;
        if ((is_parameter || id <= now) && now <= end) {
          live += ByteSize(value->shape);
        }
      }
      peak = std::max(peak, live);
    }
    EXPECT_EQ(Peak(), peak) << trial;
  }
}

TEST_F(LivenessTest, SizesSaturate) {
  std::vector<Instruction*> parameters;
  for (int i = 0; i < 64; ++i)
    parameters.push_back(Parameter(int64_t{1} << 58));
  Make(1, parameters);
  EXPECT_EQ(Peak(), std::numeric_limits<int64_t>::max());
}

TEST(StepMemoryTest, MoreThanTheStateLessThanEverything) {
  for (const std::string version : kJaxVersions) {
    for (const std::string name : {"gpt.", "gpt_scanned."}) {
      const Module module = ReadTestModule(name + version);
      const MemoryUse use = AnalyzeMemory(module);
      const MemoryUse unfused = AnalyzeMemory(module, {.fuse = false});
      EXPECT_GT(use.peak_bytes, use.parameter_bytes);
      // Fused arrays are not made, but what they are made of lives longer.
      EXPECT_LE(use.peak_bytes, unfused.peak_bytes + 1000);
    }
  }
}

}  // namespace
}  // namespace meshwright
