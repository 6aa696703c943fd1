#include "meshwright/crossing/cross_builder.h"

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"

namespace meshwright {
namespace {

std::string BytesOf(const std::vector<uint32_t>& values) {
  return std::string(reinterpret_cast<const char*>(values.data()),
                     values.size() * sizeof(uint32_t));
}

Shape Numbers(size_t count) {
  return Shape::Array(ElementType::kU32, {static_cast<int64_t>(count)});
}

}  // namespace

Shape RowMajor(Shape shape) {
  for (Shape& element : shape.tuple_shapes) element = RowMajor(element);
  if (!shape.IsArray()) return shape;
  shape.layout.emplace();
  for (int64_t i = shape.rank(); i-- > 0;) {
    shape.layout->minor_to_major.push_back(i);
  }
  return shape;
}

CrossNames::CrossNames(const Module& program) {
  for (const auto& computation : program.computations()) {
    known_.insert(computation->name());
    for (const auto& instruction : computation->instructions()) {
      known_.insert(instruction->name);
    }
  }
}

std::string CrossNames::OfCopy(const std::string& name) {
  return copied_.insert(name).second ? name : New(name);
}

std::string CrossNames::New(absl::string_view stem) {
  std::string name(stem);
  for (int64_t i = 1; !known_.insert(name).second; ++i) {
    name = absl::StrCat(stem, ".", i);
  }
  return name;
}

Instruction* CrossBuilder::Add(Opcode opcode, Shape shape,
                               std::vector<Instruction*> operands,
                               absl::string_view stem) {
  return to_->Add(opcode, std::move(shape), std::move(operands),
                  names_.New(stem));
}

Instruction* CrossBuilder::Constant(Shape shape, std::string bytes) {
  Literal literal;
  literal.shape = RowMajor(std::move(shape));
  literal.data = std::move(bytes);
  Instruction* constant = Add(Opcode::kConstant, literal.shape, {}, "constant");
  constant->attributes.mutate().literal =
      std::make_shared<const Literal>(std::move(literal));
  return constant;
}

Instruction* CrossBuilder::Zeros(const Shape& shape) {
  Instruction* zero =
      Constant(Shape::Scalar(shape.element_type),
               std::string(HostBytes(shape.element_type), '\0'));
  if (shape.IsScalar()) return zero;
  return Add(Opcode::kBroadcast, shape, {zero}, "zeros");
}

Instruction* CrossBuilder::Tuple(std::vector<Instruction*> values) {
  std::vector<Shape> shapes;
  for (const Instruction* value : values) shapes.push_back(value->shape);
  return Add(Opcode::kTuple, Shape::Tuple(std::move(shapes)), std::move(values),
             "tuple");
}

Instruction* CrossBuilder::Element(Instruction* tuple, int64_t index) {
  Instruction* element = Add(Opcode::kGetTupleElement,
                             tuple->shape.tuple_shapes[index], {tuple}, "part");
  element->attributes.mutate().tuple_index = index;
  return element;
}

Instruction* CrossBuilder::Convert(Instruction* value, ElementType type) {
  if (value->shape.element_type == type) return value;
  return Add(Opcode::kConvert, Shape::Array(type, value->shape.dimensions),
             {value}, "converted");
}

std::vector<Instruction*> CrossBuilder::Elements(Instruction* value) {
  if (!value->shape.IsTuple()) return {value};
  if (value->opcode == Opcode::kTuple) return value->operands;
  std::vector<Instruction*> elements;
  for (int64_t i = 0; i < std::ssize(value->shape.tuple_shapes); ++i) {
    elements.push_back(Element(value, i));
  }
  return elements;
}

Instruction* CrossBuilder::DeviceNumber(const std::vector<int64_t>& devices) {
  const std::vector<uint32_t> numbers(devices.begin(), devices.end());
  const Shape scalar = Shape::Scalar(ElementType::kU32);
  if (numbers.size() == 1) return Constant(scalar, BytesOf(numbers));
  Instruction* replica = Add(Opcode::kReplicaId, scalar, {}, "replica");
  if (numbers.back() - numbers.front() + 1 == numbers.size()) {
    if (numbers.front() == 0) return replica;
    Instruction* first = Constant(scalar, BytesOf({numbers.front()}));
    return Add(Opcode::kAdd, scalar, {replica, first}, "device");
  }
  Instruction* table = Constant(Numbers(numbers.size()), BytesOf(numbers));
  Instruction* one =
      Add(Opcode::kDynamicSlice, Numbers(1), {table, replica}, "one_device");
  one->attributes.mutate().dynamic_slice_sizes = {1};
  return Add(Opcode::kReshape, scalar, {one}, "device");
}

}  // namespace meshwright
