#include "meshwright/hlo/undo_compilation.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "meshwright/hlo/inline_calls.h"

namespace meshwright {
namespace {

// The dimensions from the outermost to the innermost in memory.
std::vector<int64_t> MajorToMinor(const Shape& shape) {
  if (shape.layout.has_value() &&
      std::ssize(shape.layout->minor_to_major) == shape.rank()) {
    return {shape.layout->minor_to_major.rbegin(),
            shape.layout->minor_to_major.rend()};
  }
  std::vector<int64_t> order(shape.dimensions.size());
  std::iota(order.begin(), order.end(), 0);
  return order;
}

bool IsRowMajor(const Shape& shape) {
  return std::ranges::is_sorted(MajorToMinor(shape));
}

bool IsTiled(const Shape& shape) {
  return shape.layout.has_value() && !shape.layout->tiles.empty();
}

// Whether it only relabels what is in memory, and has another form: those of
// tiled arrays have none.
bool Relabels(const Instruction& instruction) {
  if (instruction.opcode != Opcode::kBitcast) return false;
  const Shape& from = instruction.operand_shape(0);
  const Shape& to = instruction.shape;
  return from.IsArray() && to.IsArray() &&
         from.element_type == to.element_type && !IsTiled(from) && !IsTiled(to);
}

// The dimensions in this order.
std::vector<int64_t> Permuted(const std::vector<int64_t>& dimensions,
                              const std::vector<int64_t>& order) {
  std::vector<int64_t> permuted;
  for (const int64_t dimension : order) {
    permuted.push_back(dimensions[dimension]);
  }
  return permuted;
}

// Replaces the bitcasts of a computation.
class Relabelling {
 public:
  Relabelling(Computation& computation, std::set<std::string>& names)
      : computation_(computation), names_(names) {}

  void Run() {
    const int32_t count = computation_.size();
    for (int32_t id = 0; id < count; ++id) {
      Instruction* instruction = computation_.instruction(id);
      if (Relabels(*instruction)) Relabel(*instruction);
      order_.push_back(instruction);
    }
    computation_.Keep(order_);
  }

 private:
  // The bitcast becomes the last of: what is in memory as a row-major array,
  // with the result's sizes, and with its dimensions in their own order.
  void Relabel(Instruction& bitcast) {
    const Shape to = bitcast.shape;
    Instruction* operand = bitcast.operands[0];
    bitcast.attributes = {};
    if (IsRowMajor(operand->shape) && IsRowMajor(to)) {
      bitcast.opcode = Opcode::kReshape;
      return;
    }
    const std::vector<int64_t> from_order = MajorToMinor(operand->shape);
    const std::vector<int64_t> to_order = MajorToMinor(to);
    Instruction* in_memory =
        Add(Opcode::kTranspose, Permuted(operand->shape.dimensions, from_order),
            operand, bitcast);
    in_memory->attributes.mutate().dimensions = from_order;
    Instruction* resized =
        Add(Opcode::kReshape, Permuted(to.dimensions, to_order), in_memory,
            bitcast);
    std::vector<int64_t> places(to_order.size());
    for (size_t i = 0; i < to_order.size(); ++i) {
      places[to_order[i]] = static_cast<int64_t>(i);
    }
    bitcast.opcode = Opcode::kTranspose;
    bitcast.operands = {resized};
    bitcast.attributes.mutate().dimensions = std::move(places);
  }

  Instruction* Add(Opcode opcode, std::vector<int64_t> dimensions,
                   Instruction* operand, const Instruction& source) {
    std::string name = source.name;
    for (int i = 2; !names_.insert(name).second; ++i) {
      name = absl::StrCat(source.name, ".", i);
    }
    Instruction* const root = computation_.root();
    Instruction* added = computation_.Add(
        opcode, Shape::Array(source.shape.element_type, std::move(dimensions)),
        {operand}, name);
    computation_.set_root(root);
    added->metadata = source.metadata;
    order_.push_back(added);
    return added;
  }

  Computation& computation_;
  std::set<std::string>& names_;
  std::vector<Instruction*> order_;
};

bool HasFusionOrBitcast(const Computation& computation) {
  return std::ranges::any_of(
      computation.instructions(), [](const auto& instruction) {
        return instruction->opcode == Opcode::kFusion || Relabels(*instruction);
      });
}

}  // namespace

bool IsCompiled(const Module& module) {
  return module.is_scheduled ||
         std::ranges::any_of(module.computations(), [](const auto& one) {
           return one->is_scheduled || HasFusionOrBitcast(*one);
         });
}

Module UndoCompilation(Module module) {
  module = InlineCalls(module);  // And fusions; it keeps no schedule.
  std::set<std::string> names;
  for (const auto& computation : module.computations()) {
    for (const auto& instruction : computation->instructions()) {
      names.insert(instruction->name);
    }
  }
  for (const auto& computation : module.computations()) {
    Relabelling(*computation, names).Run();
  }
  module.Finish();
  return module;
}

}  // namespace meshwright
