// Runs the tables of instruction cases, and rules on hostile instructions.
#include "meshwright/hlo/infer_shape.h"

#include <random>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "meshwright/hlo/instruction_case.h"
#include "meshwright/hlo/verify.h"

namespace meshwright {
namespace {

using testing::HasSubstr;

std::vector<InstructionCase> AllCases() {
  return Joined({ElementwiseCases, DataMovementCases, ContractionCases,
                 GatherScatterCases, ReduceCases, CollectiveCases,
                 ControlFlowCases, LinearAlgebraCases});
}

// Reads one shape from the front of `text`.
Shape TakeShape(absl::string_view& text) {
  if (absl::ConsumePrefix(&text, "(")) {
    std::vector<Shape> shapes;
    while (!absl::ConsumePrefix(&text, ")")) {
      shapes.push_back(TakeShape(text));
      absl::ConsumePrefix(&text, ", ");
    }
    return Shape::Tuple(std::move(shapes));
  }
  const size_t open = text.find('[');
  const size_t close = text.find(']');
  Shape shape;
  shape.element_type =
      ParseElementType(text.substr(0, open)).value_or(ElementType::kInvalid);
  EXPECT_NE(shape.element_type, ElementType::kInvalid) << text;
  const absl::string_view sizes = text.substr(open + 1, close - open - 1);
  for (absl::string_view size : absl::StrSplit(sizes, ',', absl::SkipEmpty())) {
    shape.dimensions.push_back(std::stoll(std::string(size)));
  }
  text.remove_prefix(close + 1);
  return shape;
}

class InstructionTest : public testing::TestWithParam<InstructionCase> {};

TEST_P(InstructionTest, IsInferredAndVerified) {
  const InstructionCase& test_case = GetParam();
  const std::unique_ptr<Module> module = BuildModule(test_case);
  const absl::Status verified = Verify(*module);
  const auto inferred = InferShape(*module->entry()->root());
  if (!test_case.error.empty()) {
    EXPECT_EQ(verified.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(verified.message()), HasSubstr(test_case.error));
    EXPECT_THAT(std::string(verified.message()),
                HasSubstr(absl::StrCat(
                    "main/it (", module->entry()->root()->opcode_name(), ")")));
    return;
  }
  EXPECT_TRUE(verified.ok()) << verified;
  ASSERT_TRUE(inferred.ok()) << inferred.status();
  EXPECT_EQ(inferred->has_value(), !test_case.own);
  if (inferred->has_value()) {
    EXPECT_EQ((*inferred)->ToString(), test_case.result);
  }
}

INSTANTIATE_TEST_SUITE_P(Table, InstructionTest, testing::ValuesIn(AllCases()),
                         [](const auto& test) {
                           return absl::StrCat(
                               test.param.name,
                               test.param.error.empty() ? "" : "_Fails");
                         });

TEST(InferShapeTest, EveryOpcodeHasAGoodCase) {
  std::set<Opcode> seen;
  for (const InstructionCase& test_case : AllCases()) {
    if (test_case.error.empty()) seen.insert(test_case.opcode);
  }
#define MW_EXPECT_SEEN(symbol, name) \
  EXPECT_TRUE(seen.count(Opcode::symbol)) << name;
  MW_HLO_OPCODES(MW_EXPECT_SEEN)
#undef MW_EXPECT_SEEN
}

TEST(InferShapeTest, WrongResultShapesAreRejected) {
  for (InstructionCase test_case : AllCases()) {
    if (!test_case.error.empty() || test_case.own) continue;
    test_case.result = "(u4[77], token[])";
    EXPECT_FALSE(Verify(*BuildModule(test_case)).ok()) << test_case.name;
  }
}

// Small numbers, and those at which arithmetic breaks.
class HostileNumbers {
 public:
  explicit HostileNumbers(uint32_t seed) : random_(seed) {}

  int64_t Below(int64_t limit) {
    return static_cast<int64_t>(random_() % static_cast<uint64_t>(limit));
  }
  int64_t Any() {
    constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
    constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
    const int64_t extremes[] = {kMax, kMin,     kMax - 1, -1,
                                1000, 1l << 62, 1l << 31, -(1l << 40)};
    return Below(3) == 0 ? extremes[Below(8)] : Below(4);
  }
  std::vector<int64_t> List() {
    std::vector<int64_t> list(Below(5));
    for (int64_t& value : list) value = Any();
    return list;
  }
  Shape AnyShape(int depth = 0) {
    const int64_t type = 1 + Below(36);
    Shape shape;
    shape.element_type = *ElementTypeFromNumber(Below(2) ? 11 : type);
    if (shape.IsTuple() && depth < 3) {
      for (int64_t i = Below(3); i > 0; --i) {
        shape.tuple_shapes.push_back(AnyShape(depth + 1));
      }
    }
    if (shape.IsArray() || Below(20) == 0) shape.dimensions = List();
    if (Below(20) == 0) shape.dimensions.assign(300, 1);
    return shape;
  }

 private:
  std::mt19937_64 random_;
};

void SetHostileAttributes(HostileNumbers& numbers, Attributes& a) {
  const auto list = [&] { return numbers.List(); };
  const auto any = [&] { return numbers.Any(); };
  a.dimensions = list();
  a.tuple_index = any();
  a.feature_index = any();
  a.k = any();
  a.fft_length = list();
  a.fft_type = static_cast<int32_t>(numbers.Below(5));
  a.feature_group_count = any();
  a.batch_group_count = any();
  a.gather_slice_sizes = list();
  a.dynamic_slice_sizes = list();
  a.channel_id = numbers.Below(2);
  a.comparison_direction = "LT";
  a.exponent_bits = static_cast<int32_t>(any());
  a.distribution = 1;
  for (int64_t i = numbers.Below(3); i > 0; --i) {
    a.replica_groups.push_back(list());
    a.source_target_pairs.push_back({any(), any(), ""});
    a.output_operand_aliasing.push_back({list(), any(), list(), ""});
  }
  if (numbers.Below(10) == 0) return;
  a.dot = {list(), list(), list(), list(), ""};
  a.convolution = {any(),  any(), list(), any(),  any(),
                   list(), any(), any(),  list(), ""};
  a.gather = {list(), list(), list(), any(), list(), list(), ""};
  a.scatter = {list(), list(), list(), any(), list(), list(), ""};
  a.triangular_solve = {true, true, false, 1, ""};
  a.window.emplace();
  a.padding.emplace();
  for (int64_t i = numbers.Below(4); i > 0; --i) {
    a.window->dimensions.push_back(
        {any(), any(), any(), any(), any(), any(), false, ""});
    a.padding->dimensions.push_back({any(), any(), any(), ""});
    a.slice.push_back({any(), any(), any(), ""});
  }
}

TEST(InferShapeTest, SurvivesHostileInstructions) {
  const int opcodes = static_cast<int>(Opcode::kXor) + 1;
  HostileNumbers numbers(7);
  for (int round = 0; round < 100 * opcodes; ++round) {
    Module module("m");
    Computation* callee = module.AddComputation("callee");
    for (int64_t i = numbers.Below(3); i > 0; --i) {
      callee->AddParameter(numbers.AnyShape(), absl::StrCat("c", i));
    }
    Computation* entry = module.AddComputation("main");
    std::vector<Instruction*> operands;
    for (int64_t i = numbers.Below(6); i > 0; --i) {
      operands.push_back(
          entry->AddParameter(numbers.AnyShape(), absl::StrCat("p", i)));
    }
    Instruction* it = entry->Add(static_cast<Opcode>(round % opcodes),
                                 numbers.AnyShape(), operands, "it");
    it->called.assign(numbers.Below(3), callee);
    SetHostileAttributes(numbers, it->attributes.mutate());
    module.set_entry(entry);
    const auto inferred = InferShape(*it);
    const absl::Status verified = Verify(module);
    EXPECT_EQ(std::string(verified.message()).find('\n'), std::string::npos);
    EXPECT_TRUE(inferred.ok() || !verified.ok());
  }
}

}  // namespace

std::vector<InstructionCase> Joined(std::initializer_list<CaseTable> tables) {
  std::vector<InstructionCase> all;
  for (const CaseTable table : tables) {
    for (InstructionCase& row : table()) all.push_back(std::move(row));
  }
  return all;
}

Shape ParseShape(const std::string& text) {
  absl::string_view rest = text;
  Shape shape = TakeShape(rest);
  EXPECT_EQ(std::string(rest), "") << text;
  return shape;
}

Computation* AddCallee(Module& module, const std::string& signature,
                       const std::string& name) {
  Computation* callee = module.AddComputation(name);
  const std::vector<std::string> sides = absl::StrSplit(signature, "-> ");
  absl::string_view rest = sides.at(0);
  std::vector<Instruction*> parameters;
  while (!absl::ConsumePrefix(&rest, " ") && !rest.empty()) {
    parameters.push_back(callee->AddParameter(
        TakeShape(rest), absl::StrCat(name, ".p", parameters.size())));
    absl::ConsumePrefix(&rest, ", ");
  }
  callee->Add(Opcode::kCustomCall, ParseShape(sides.at(1)), parameters,
              absl::StrCat(name, ".root"));
  return callee;
}

std::unique_ptr<Module> BuildModule(const InstructionCase& test_case) {
  auto module = std::make_unique<Module>("test");
  std::vector<Computation*> called;
  for (const std::string& signature : test_case.called) {
    called.push_back(
        AddCallee(*module, signature, absl::StrCat("callee", called.size())));
  }
  Computation* entry = module->AddComputation("main");
  module->set_entry(entry);
  std::vector<Instruction*> operands;
  for (const std::string& shape : test_case.operands) {
    operands.push_back(entry->AddParameter(
        ParseShape(shape), absl::StrCat("operand", operands.size())));
  }
  Instruction* it = entry->Add(test_case.opcode, ParseShape(test_case.result),
                               operands, "it");
  it->called = called;
  if (test_case.opcode == Opcode::kParameter) {
    it->attributes.mutate().parameter_number = 0;
  }
  if (test_case.set) test_case.set(it->attributes.mutate());
  it->unknown_fields = test_case.unknown_fields;
  return module;
}

}  // namespace meshwright
