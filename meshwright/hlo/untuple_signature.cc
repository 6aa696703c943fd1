#include "meshwright/hlo/untuple_signature.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace meshwright {
namespace {

bool Nests(const Shape& shape) {
  return std::ranges::any_of(shape.tuple_shapes, &Shape::IsTuple);
}

// The index of the first leaf below `path`.
int64_t LeafAt(const Shape& shape, const std::vector<int64_t>& path) {
  const Shape* here = &shape;
  int64_t leaf = 0;
  for (const int64_t step : path) {
    if (step < 0 || step >= std::ssize(here->tuple_shapes)) break;
    leaf += LeavesBefore(*here, step);
    here = &here->tuple_shapes[step];
  }
  return leaf;
}

// The leaves, as children of one tuple.
std::vector<Shape> LeafShapes(const Shape& shape) {
  std::vector<Shape> shapes;
  for (const Shape* leaf : Leaves(shape)) shapes.push_back(*leaf);
  return shapes;
}

class Untupling {
 public:
  explicit Untupling(Module& module)
      : module_(module), entry_(*module.entry()) {
    for (const auto& computation : module.computations()) {
      for (const auto& instruction : computation->instructions()) {
        names_.insert(instruction->name);
      }
    }
  }

  void Run() {
    const std::vector<Instruction*> parameters = entry_.Parameters();
    for (const Instruction* parameter : parameters) {
      firsts_.push_back(count_);
      count_ += LeafCount(parameter->shape);
    }
    FollowParameters(parameters);
    for (Instruction* parameter : parameters) Untuple(*parameter);
    for (const auto& instruction : entry_.instructions()) {
      if (instruction->id < old_size_) order_.push_back(instruction.get());
    }
    if (Nests(entry_.root()->shape)) UntupleRoot();
    entry_.Keep(order_);
  }

 private:
  std::string Unique(const std::string& wanted) {
    std::string name = wanted;
    for (int i = 2; !names_.insert(name).second; ++i) {
      name = absl::StrCat(wanted, ".", i);
    }
    return name;
  }

  Instruction* Add(Opcode opcode, Shape shape,
                   std::vector<Instruction*> operands, std::string name) {
    // The first root is the last instruction added.
    Instruction* const root = entry_.root();
    Instruction* added = entry_.Add(opcode, std::move(shape),
                                    std::move(operands), Unique(name));
    entry_.set_root(root);
    order_.push_back(added);
    return added;
  }

  // The parameter becomes the tuple of new ones.
  void Untuple(Instruction& parameter) {
    next_ = firsts_[parameter.attributes->parameter_number];
    if (!parameter.shape.IsTuple()) {
      parameter.attributes.mutate().parameter_number = next_;
      return;
    }
    const Instruction whole = parameter;
    leaf_ = 0;
    std::vector<Instruction*> elements;
    for (size_t i = 0; i < whole.shape.tuple_shapes.size(); ++i) {
      elements.push_back(Part(whole, whole.shape.tuple_shapes[i],
                              absl::StrCat(i)));
    }
    parameter.opcode = Opcode::kTuple;
    parameter.operands = std::move(elements);
    parameter.attributes = {};
    parameter.frontend_attributes.clear();
    parameter.sharding = {};
    parameter.unknown_fields.clear();
  }

  Instruction* Part(const Instruction& whole, const Shape& shape,
                    const std::string& path) {
    const auto part_of = [&](const std::string& name, char separator) {
      return name.empty() ? name : absl::StrCat(name, std::string(1, separator),
                                                path);
    };
    if (shape.IsTuple()) {
      std::vector<Instruction*> elements;
      for (size_t i = 0; i < shape.tuple_shapes.size(); ++i) {
        elements.push_back(Part(whole, shape.tuple_shapes[i],
                                absl::StrCat(path, ".", i)));
      }
      return Add(Opcode::kTuple, shape, std::move(elements),
                 part_of(whole.name, '.'));
    }
    Instruction* leaf =
        Add(Opcode::kParameter, shape, {}, part_of(whole.name, '.'));
    leaf->attributes.mutate().parameter_number = next_++;
    leaf->metadata = whole.metadata;
    leaf->metadata.op_name = part_of(whole.metadata.op_name, '.');
    leaf->frontend_attributes = whole.frontend_attributes;
    const auto name = leaf->frontend_attributes.find("mw.name");
    if (name != leaf->frontend_attributes.end()) {
      name->second = part_of(name->second, '/');
    }
    leaf->sharding = whole.sharding;
    if (whole.sharding.has_value() &&
        leaf_ < std::ssize(whole.sharding->tuple)) {
      leaf->sharding.mutate() = OpSharding(whole.sharding->tuple[leaf_]);
    }
    ++leaf_;
    return leaf;
  }

  // What the module records about parameters and results.
  void FollowParameters(const std::vector<Instruction*>& parameters) {
    const auto follow = [&](auto& place) {
      const int64_t number = place.parameter_number;
      if (number < 0 || number >= std::ssize(parameters)) return;
      place.parameter_number =
          firsts_[number] +
          LeafAt(parameters[number]->shape, place.parameter_index);
      place.parameter_index.clear();
    };
    const Shape& result = entry_.root()->shape;
    for (Alias& alias : module_.aliases) {
      follow(alias);
      if (result.IsTuple()) {
        alias.output_index = {LeafAt(result, alias.output_index)};
      }
    }
    std::ranges::for_each(module_.buffer_donors, follow);
    if (module_.entry_layout.has_value()) FollowLayout(*module_.entry_layout);
    if (module_.spmd_parameters_shardings.size() != parameters.size()) return;
    std::vector<OpSharding> shardings;
    for (size_t i = 0; i < parameters.size(); ++i) {
      const OpSharding& sharding = module_.spmd_parameters_shardings[i];
      if (sharding.tuple.empty()) {
        shardings.resize(shardings.size() + LeafCount(parameters[i]->shape),
                         sharding);
      } else {
        shardings.insert(shardings.end(), sharding.tuple.begin(),
                         sharding.tuple.end());
      }
    }
    module_.spmd_parameters_shardings = std::move(shardings);
  }

  static void FollowLayout(ProgramShape& layout) {
    std::vector<Shape> shapes;
    std::vector<std::string> names;
    for (size_t i = 0; i < layout.parameters.size(); ++i) {
      const std::vector<Shape> leaves = LeafShapes(layout.parameters[i]);
      for (size_t k = 0; k < leaves.size(); ++k) {
        shapes.push_back(leaves[k]);
        if (i >= layout.parameter_names.size()) continue;
        const std::string& name = layout.parameter_names[i];
        names.push_back(layout.parameters[i].IsTuple() && !name.empty()
                            ? absl::StrCat(name, ".", k)
                            : name);
      }
    }
    layout.parameters = std::move(shapes);
    layout.parameter_names = std::move(names);
    if (Nests(layout.result)) {
      layout.result = Shape::Tuple(LeafShapes(layout.result));
    }
  }

  void UntupleRoot() {
    Instruction& root = *entry_.root();
    std::vector<Instruction*> leaves;
    AddLeaves(root, leaves);
    Instruction* flat =
        Add(Opcode::kTuple, Shape::Tuple(LeafShapes(root.shape)),
            std::move(leaves), absl::StrCat(root.name, ".flat"));
    flat->metadata = root.metadata;
    flat->sharding = root.sharding;
    entry_.set_root(flat);
  }

  void AddLeaves(Instruction& value, std::vector<Instruction*>& leaves) {
    if (!value.shape.IsTuple()) {
      leaves.push_back(&value);
      return;
    }
    for (size_t i = 0; i < value.shape.tuple_shapes.size(); ++i) {
      if (value.opcode == Opcode::kTuple) {
        AddLeaves(*value.operands[i], leaves);
        continue;
      }
      Instruction* element =
          Add(Opcode::kGetTupleElement, value.shape.tuple_shapes[i], {&value},
              absl::StrCat(value.name, ".", i));
      element->attributes.mutate().tuple_index = static_cast<int64_t>(i);
      AddLeaves(*element, leaves);
    }
  }

  Module& module_;
  Computation& entry_;
  const int32_t old_size_ = entry_.size();
  std::set<std::string> names_;
  std::vector<Instruction*> order_;
  std::vector<int64_t> firsts_;  // By parameter: the number of its first leaf.
  int64_t count_ = 0;
  int64_t next_ = 0;
  int64_t leaf_ = 0;
};

}  // namespace

void UntupleSignature(Module& module) {
  const Computation& entry = *module.entry();
  bool is_flat = !Nests(entry.root()->shape);
  for (const Instruction* parameter : entry.Parameters()) {
    if (parameter == nullptr) return;
    is_flat = is_flat && !parameter->shape.IsTuple();
  }
  if (!is_flat) Untupling(module).Run();
}

}  // namespace meshwright
