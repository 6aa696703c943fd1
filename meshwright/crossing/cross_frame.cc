#include "meshwright/crossing/cross_frame.h"

#include <utility>

namespace meshwright {

Shape Widened(const Shape& shape) {
  std::vector<Shape> shapes = {shape};
  if (shape.IsTuple()) shapes = shape.tuple_shapes;
  shapes.push_back(Shape::Scalar(ElementType::kU32));
  return Shape::Tuple(std::move(shapes));
}

Instruction* CrossFrame::ValueOf(const Instruction* from) {
  if (const auto found = copies.find(from); found != copies.end()) {
    return found->second;
  }
  std::vector<Instruction*> elements = build.Elements(wide.at(from));
  elements.pop_back();
  return copies[from] = build.Tuple(std::move(elements));
}

Instruction* CrossFrame::CarrierOf(const Instruction* from) const {
  for (const auto* carriers : {&calls, &wide}) {
    const auto found = carriers->find(from);
    if (found != carriers->end()) return found->second;
  }
  Instruction* copy = copies.at(from);
  const bool is_element = copy->opcode == Opcode::kGetTupleElement &&
                          from->opcode != Opcode::kGetTupleElement;
  return is_element ? copy->operands[0] : copy;
}

Instruction* CrossFrame::Replica(const std::vector<int64_t>& devices) {
  if (replica == nullptr) replica = build.DeviceNumber(devices);
  return replica;
}

Instruction* CrossFrame::DeviceAfterCalls() {
  if (last_call == nullptr) return device;
  device =
      build.Element(last_call, std::ssize(last_call->shape.tuple_shapes) - 1);
  last_call = nullptr;
  return device;
}

void CrossFrame::Bind(const Instruction* from, Instruction* value) {
  if (from->shape.IsTuple()) {
    wide[from] = value;
  } else {
    copies[from] = build.Element(value, 0);
  }
  device = build.Element(value, std::ssize(value->shape.tuple_shapes) - 1);
}

Instruction* CrossFrame::Widen(Instruction* value) {
  std::vector<Instruction*> elements = build.Elements(value);
  elements.push_back(DeviceAfterCalls());
  return build.Tuple(std::move(elements));
}

}  // namespace meshwright
