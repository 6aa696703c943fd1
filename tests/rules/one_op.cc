#include "tests/rules/one_op.h"

#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "meshwright/base/check.h"
#include "meshwright/hlo/infer_shape.h"
#include "meshwright/hlo/verify.h"
#include "tests/rules/host_values.h"

namespace meshwright {
namespace {

Shape ParseOne(absl::string_view& text) {
  text = absl::StripLeadingAsciiWhitespace(text);
  if (absl::ConsumePrefix(&text, "(")) {
    std::vector<Shape> elements;
    while (!absl::ConsumePrefix(&text, ")")) {
      elements.push_back(ParseOne(text));
      absl::ConsumePrefix(&text, ",");
      text = absl::StripLeadingAsciiWhitespace(text);
    }
    return Shape::Tuple(std::move(elements));
  }
  const size_t open = text.find('[');
  const size_t close = text.find(']');
  MW_CHECK(close != absl::string_view::npos) << text;
  const std::optional<ElementType> type =
      ParseElementType(text.substr(0, open));
  MW_CHECK(type.has_value()) << text;
  std::vector<int64_t> dimensions;
  for (const absl::string_view size : absl::StrSplit(
           text.substr(open + 1, close - open - 1), ',', absl::SkipEmpty())) {
    MW_CHECK(absl::SimpleAtoi(size, &dimensions.emplace_back())) << text;
  }
  text.remove_prefix(close + 1);
  if (*type == ElementType::kToken) return Shape::Token();
  return Shape::Array(*type, std::move(dimensions));
}

// The value of `shape`, its leaves made by `leaf`.
template <typename MakeLeaf>
Instruction* Assemble(const Shape& shape, Computation& entry,
                      const MakeLeaf& leaf) {
  if (!shape.IsTuple()) return leaf(shape);
  std::vector<Instruction*> elements;
  for (const Shape& element : shape.tuple_shapes) {
    elements.push_back(Assemble(element, entry, leaf));
  }
  return entry.Add(Opcode::kTuple, shape, std::move(elements),
                   absl::StrCat("tuple", entry.size()));
}

void Disassemble(Instruction* value, Computation& entry,
                 std::vector<Instruction*>& leaves) {
  if (!value->shape.IsTuple()) {
    leaves.push_back(value);
    return;
  }
  for (size_t i = 0; i < value->shape.tuple_shapes.size(); ++i) {
    Instruction* element =
        entry.Add(Opcode::kGetTupleElement, value->shape.tuple_shapes[i],
                  {value}, absl::StrCat("element", entry.size()));
    element->attributes.mutate().tuple_index = static_cast<int64_t>(i);
    Disassemble(element, entry, leaves);
  }
}

Instruction* AddConstant(Computation& entry, const Shape& shape, double value) {
  Literal literal = Zeros(shape);
  SetElement(literal, 0, value);
  literal.shape.layout.emplace();
  Shape with_layout = literal.shape;
  Instruction* constant = entry.Add(Opcode::kConstant, std::move(with_layout),
                                    {}, absl::StrCat("constant", entry.size()));
  constant->attributes.mutate().literal =
      std::make_shared<const Literal>(std::move(literal));
  return constant;
}

Shape InferredShape(const Instruction& instruction) {
  const absl::StatusOr<std::optional<Shape>> shape = InferShape(instruction);
  MW_CHECK(shape.ok()) << shape.status();
  MW_CHECK(shape->has_value()) << "give the result's shape";
  return **shape;
}

}  // namespace

Draw Integers(int64_t low, int64_t high) {
  return [low, high](Random& random) {
    return static_cast<double>(
        std::uniform_int_distribution<int64_t>(low, high)(random));
  };
}

Draw Reals(double low, double high) {
  return [low, high](Random& random) {
    return std::uniform_real_distribution<double>(low, high)(random);
  };
}

Callee Combiner(Opcode opcode, ElementType type) {
  return [opcode, type](Module& module) {
    Computation* combiner = module.AddComputation(
        absl::StrCat("combine", module.computations().size()));
    const Shape scalar = Shape::Scalar(type);
    const std::string& stem = combiner->name();
    Instruction* a = combiner->AddParameter(scalar, stem + "_a");
    Instruction* b = combiner->AddParameter(scalar, stem + "_b");
    combiner->Add(opcode, scalar, {a, b}, stem + "_root");
    return combiner;
  };
}

Shape ParseShape(absl::string_view text) {
  Shape shape = ParseOne(text);
  MW_CHECK(absl::StripAsciiWhitespace(text).empty()) << text;
  return shape;
}

std::string ShapeText(ElementType type,
                      const std::vector<int64_t>& dimensions) {
  return absl::StrCat(Name(type), "[", absl::StrJoin(dimensions, ","), "]");
}

BuiltOp Build(OneOp spec) {
  BuiltOp op;
  op.module = std::make_unique<Module>("one_op");
  std::vector<Computation*> called;
  for (const Callee& callee : spec.called) called.push_back(callee(*op.module));
  Computation* entry = op.module->AddComputation("entry");
  op.module->set_entry(entry);
  std::vector<Instruction*> operands;
  for (size_t i = 0; i < spec.operands.size(); ++i) {
    const auto constant = spec.constants.find(static_cast<int32_t>(i));
    operands.push_back(
        Assemble(ParseShape(spec.operands[i]), *entry, [&](const Shape& shape) {
          op.operand_leaves.push_back(shape);
          if (constant != spec.constants.end()) {
            return AddConstant(*entry, shape, constant->second);
          }
          return entry->AddParameter(shape, absl::StrCat("p", entry->size()));
        }));
  }
  const bool inferred = spec.result.empty();
  // Some inferred shapes keep the given element type.
  const Shape start =
      op.operand_leaves.empty() ? Shape() : op.operand_leaves[0];
  Instruction* instruction =
      entry->Add(spec.opcode, inferred ? start : ParseShape(spec.result),
                 std::move(operands), "op");
  instruction->called = std::move(called);
  if (spec.set) spec.set(instruction->attributes.mutate());
  instruction->frontend_attributes = spec.frontend_attributes;
  instruction->unknown_fields = spec.unknown_fields;
  if (inferred) instruction->shape = InferredShape(*instruction);
  if (spec.opcode == Opcode::kConstant) {
    instruction->shape = instruction->attributes->literal->shape;
  }
  std::vector<Instruction*> leaves;
  Disassemble(instruction, *entry, leaves);
  std::vector<Shape> shapes;
  for (const Instruction* leaf : leaves) {
    shapes.push_back(
        Shape::Array(leaf->shape.element_type, leaf->shape.dimensions));
  }
  op.result_leaves = shapes;
  entry->set_root(entry->Add(Opcode::kTuple, Shape::Tuple(std::move(shapes)),
                             std::move(leaves), "results"));
  op.instruction = instruction;
  op.spec = std::move(spec);
  op.module->Finish();
  const absl::Status status = Verify(*op.module);
  MW_CHECK(status.ok()) << status;
  return op;
}

bool BuiltOp::IsConstant(int32_t leaf) const {
  // Constants are given by operand; leaves before them may be of tuples.
  int32_t first = 0;
  for (size_t i = 0; i < instruction->operands.size(); ++i) {
    const int32_t count =
        static_cast<int32_t>(Leaves(instruction->operand_shape(i)).size());
    if (leaf < first + count) {
      return spec.constants.contains(static_cast<int32_t>(i));
    }
    first += count;
  }
  return false;
}

Values DrawInputs(const BuiltOp& op, Random& random) {
  Values inputs;
  for (size_t i = 0; i < op.operand_leaves.size(); ++i) {
    const Shape& shape = op.operand_leaves[i];
    const int32_t leaf = static_cast<int32_t>(i);
    const bool is_signed =
        IsSignedInteger(shape.element_type) || !IsInteger(shape.element_type);
    Draw draw = shape.element_type == ElementType::kPred ? Integers(0, 1)
                : is_signed                              ? Integers(-4, 4)
                                                         : Integers(0, 8);
    if (const auto given = op.spec.draws.find(leaf);
        given != op.spec.draws.end()) {
      draw = given->second;
    }
    Literal values = Zeros(shape);
    for (int64_t j = 0; j < ElementCount(shape); ++j) {
      SetElement(values, j, draw(random));
    }
    inputs.push_back(std::move(values));
  }
  return inputs;
}

}  // namespace meshwright
