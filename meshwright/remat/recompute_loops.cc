#include "meshwright/remat/recompute_loops.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "meshwright/analysis/flops.h"
#include "meshwright/base/check.h"
#include "meshwright/hlo/inline_calls.h"
#include "meshwright/remat/loop_kept.h"
#include "meshwright/remat/loop_residuals.h"
#include "meshwright/remat/loop_tuple.h"
#include "meshwright/remat/remat_policy.h"
#include "meshwright/remat/rematerializable.h"

namespace meshwright {
namespace {

using Kind = LoopElement::Kind;

// Adds instructions that belong to no original instruction.
class Additions {
 public:
  Additions(Computation& computation, const std::string& name,
            RematNames& names)
      : computation_(computation), name_(name), names_(names) {}

  Instruction* Add(Opcode opcode, Shape shape,
                   std::vector<Instruction*> operands) {
    Instruction* const root = computation_.root();
    Instruction* made = computation_.Add(
        opcode, std::move(shape), std::move(operands), names_.NewName(name_));
    computation_.set_root(root);
    return made;
  }

  Instruction* Integer(ElementType type, int64_t value) {
    auto literal = std::make_shared<Literal>();
    literal->shape = Shape::Scalar(type);
    literal->shape.layout.emplace();
    const size_t size = static_cast<size_t>(HostBytes(type));
    literal->data.assign(size, '\0');
    std::memcpy(literal->data.data(), &value, std::min(size, sizeof(value)));
    Instruction* constant = Add(Opcode::kConstant, literal->shape, {});
    constant->attributes.mutate().literal = std::move(literal);
    return constant;
  }

  Instruction* Reshape(Instruction* value, Shape shape) {
    if (value->shape.dimensions == shape.dimensions) return value;
    return Add(Opcode::kReshape, std::move(shape), {value});
  }

  // Zeros.
  Instruction* Nothing(const Shape& shape) {
    return Add(Opcode::kBroadcast, shape, {Integer(shape.element_type, 0)});
  }

 private:
  Computation& computation_;
  const std::string& name_;
  RematNames& names_;
};

Shape WithSlots(const Shape& of_slot, int64_t count) {
  std::vector<int64_t> dimensions = of_slot.dimensions;
  dimensions.insert(dimensions.begin(), count);
  return Shape::Array(of_slot.element_type, std::move(dimensions));
}

// One scan with residuals, and its reverse scans.
class Rewriter {
 public:
  Rewriter(Computation& around, Instruction& loop,
           const LoopResiduals& residuals, const LoopKept& kept,
           RematNames& names)
      : around_(around),
        loop_(loop),
        residuals_(residuals),
        kept_(kept),
        names_(names),
        body_(*loop.called[0]),
        size_(body_.size()),
        tuple_(around, loop, names) {}

  // Returns how many instructions are rematerialised.
  int64_t Run() {
    FindStacks();
    std::vector<Instruction*> readers;
    for (const Residual& residual : residuals_.residuals) {
      for (const Residual::Reader& reader : residual.readers) {
        if (!std::ranges::count(readers, reader.loop)) {
          readers.push_back(reader.loop);
        }
      }
    }
    // Shared elements first: new ones have no numbers yet.
    int64_t count = 0;
    for (Instruction* reader : readers) count += RewriteReader(*reader);
    for (const Residual& residual : residuals_.residuals) {
      if (IsDropped(residual)) tuple_.Drop(residual.element);
    }
    tuple_.Finish();
    PutInOrder(around_);
    return count;
  }

 private:
  bool IsDropped(const Residual& residual) const {
    return residual.is_only_read_back && !IsStackOf(residual);
  }
  // Whether this stacked array is the one in which its update is saved.
  bool IsStackOf(const Residual& residual) const {
    const auto stack = stacks_.find(residual.update()->id);
    return stack != stacks_.end() && stack->second == residual.element;
  }

  // Saved values go to an existing stacked array, or to a new one.
  void FindStacks() {
    for (const Residual& residual : residuals_.residuals) {
      const int32_t update = residual.update()->id;
      if (!kept_.is_kept[update]) continue;
      const bool stays = !residual.is_only_read_back;
      const auto [stack, is_new] =
          stacks_.try_emplace(update, residual.element);
      if (!is_new && stays) stack->second = residual.element;
      by_element_[residual.element] = &residual;
    }
    const Residual& like = residuals_.residuals[0];
    for (int32_t id = 0; id < size_; ++id) {
      if (!kept_.is_kept[id] || stacks_.contains(id)) continue;
      Instruction* const value = body_.instruction(id);
      const Shape shape = WithSlots(value->shape, residuals_.counted.count);
      const int64_t element =
          tuple_.Add(Additions(around_, value->name, names_).Nothing(shape));
      Additions add(body_, value->name, names_);
      Instruction* const update =
          add.Add(Opcode::kReshape, WithSlots(value->shape, 1), {value});
      std::vector<Instruction*> operands = {tuple_.Element(element), update,
                                            like.slot()};
      AddZeros(value->shape.rank(), add, operands);
      Instruction* const write =
          add.Add(Opcode::kDynamicUpdateSlice, shape, std::move(operands));
      write->metadata = value->metadata;
      tuple_.set_next(element, write);
      stacks_[id] = element;
    }
  }

  // For the dimensions behind that of the slots; all indices have one type.
  static void AddZeros(int64_t count, Additions& add,
                       std::vector<Instruction*>& indices) {
    if (count == 0) return;
    Instruction* const zero =
        add.Integer(indices.back()->shape.element_type, 0);
    indices.insert(indices.end(), static_cast<size_t>(count), zero);
  }

  int64_t RewriteReader(Instruction& reader) {
    LoopTuple tuple(around_, reader, names_);
    // By the update that they read: what is to be replaced.
    std::map<int32_t, std::vector<Instruction*>> reads;
    std::vector<int64_t> dropped;
    Instruction* slot = nullptr;
    for (const Residual& residual : residuals_.residuals) {
      for (const Residual::Reader& one : residual.readers) {
        if (one.loop != &reader) continue;
        for (Instruction* read : ReadsOf(one)) {
          slot = read->operands[1 + residual.dimension];
          if (IsDropped(residual)) {
            reads[residual.update()->id].push_back(read);
          }
        }
        if (IsDropped(residual)) dropped.push_back(one.element);
      }
    }
    MW_CHECK(slot != nullptr) << reader.name;
    const int64_t count = Replace(reads, *slot, tuple);
    for (const int64_t element : dropped) tuple.Drop(element);
    tuple.Finish();
    return count;
  }

  // Replaces reads by rematerialised values.
  int64_t Replace(const std::map<int32_t, std::vector<Instruction*>>& reads,
                  Instruction& slot, LoopTuple& tuple) {
    std::vector<bool> needed(size_, false);
    for (const auto& [update, all] : reads) needed[update] = true;
    for (int32_t id = size_; id-- > 0;) {
      if (!needed[id] || kept_.is_kept[id]) continue;
      for (const Instruction* operand : body_.instruction(id)->operands) {
        needed[operand->id] = true;
      }
    }
    std::vector<Instruction*> copies(size_, nullptr);
    int64_t count = 0;
    for (int32_t id = 0; id < size_; ++id) {
      const Instruction& value = *body_.instruction(id);
      if (!needed[id] || &value == body_.Parameters()[0]) continue;
      if (kept_.is_kept[id]) {
        copies[id] = Kept(value, slot, tuple);
      } else if (IsElement(value)) {
        copies[id] = Element(value, slot, tuple);
      } else {
        std::vector<Instruction*> operands;
        for (const Instruction* operand : value.operands) {
          operands.push_back(copies[operand->id]);
        }
        copies[id] = AddCopy(tuple.body(), value, std::move(operands), names_);
        ++count;
      }
    }
    absl::flat_hash_map<const Instruction*, Instruction*> instead;
    for (const auto& [update, all] : reads) {
      for (const Instruction* read : all) instead[read] = copies[update];
    }
    for (const auto& instruction : tuple.body().instructions()) {
      for (Instruction*& operand : instruction->operands) {
        const auto found = instead.find(operand);
        if (found != instead.end()) operand = found->second;
      }
    }
    return count;
  }

  bool IsElement(const Instruction& value) const {
    return value.opcode == Opcode::kGetTupleElement &&
           value.operands[0] == body_.Parameters()[0];
  }

  // What an iteration saved of `value`, behind a barrier: if loops are
  // unrolled, it must not be merged with the original (CSE).
  Instruction* Kept(const Instruction& value, Instruction& slot,
                    LoopTuple& tuple) {
    const int64_t element = stacks_.at(value.id);
    const auto residual = by_element_.find(element);
    const int64_t dimension =
        residual == by_element_.end() ? 0 : residual->second->dimension;
    Instruction* const stack =
        tuple.Element(tuple.Share(tuple_.After(element)));
    Additions add(tuple.body(), value.name, names_);
    Shape shape =
        residual == by_element_.end() ? WithSlots(value.shape, 1) : value.shape;
    std::vector<Instruction*> operands = {stack};
    Instruction* zero = nullptr;
    for (int64_t d = 0; d < shape.rank(); ++d) {
      if (d != dimension && zero == nullptr) {
        zero = add.Integer(slot.shape.element_type, 0);
      }
      operands.push_back(d == dimension ? &slot : zero);
    }
    Instruction* const read =
        add.Add(Opcode::kDynamicSlice, shape, std::move(operands));
    read->attributes.mutate().dynamic_slice_sizes = shape.dimensions;
    Instruction* const barrier = add.Add(Opcode::kOptBarrier, shape, {read});
    for (Instruction* made : {read, barrier}) made->metadata = value.metadata;
    return add.Reshape(barrier, value.shape);
  }

  // Loop-invariant values are shared, known integers are computed.
  Instruction* Element(const Instruction& value, Instruction& slot,
                       LoopTuple& tuple) {
    const int64_t number = value.attributes->tuple_index;
    const LoopElement& element = residuals_.counted.elements[number];
    if (element.kind != Kind::kKnown) {
      return tuple.Element(tuple.Share(loop_.operands[0]->operands[number]));
    }
    const std::optional<OfSlot> of_slot = ValueOfSlot(residuals_, element);
    MW_CHECK(of_slot.has_value()) << value.name;
    Additions add(tuple.body(), value.name, names_);
    const ElementType type = value.shape.element_type;
    if (of_slot->factor == 0) return add.Integer(type, of_slot->offset);
    // Signed, whatever it becomes.
    const Shape integer = Shape::Scalar(ElementType::kS64);
    const auto converted = [&](Instruction* from, const Shape& to) {
      return from->shape.element_type == to.element_type
                 ? from
                 : add.Add(Opcode::kConvert, to, {from});
    };
    if (of_slot->factor == 1 && of_slot->offset == 0) {
      return converted(&slot, value.shape);
    }
    Instruction* result = converted(&slot, integer);
    if (of_slot->factor != 1) {
      result =
          add.Add(Opcode::kMultiply, integer,
                  {result, add.Integer(ElementType::kS64, of_slot->factor)});
    }
    if (of_slot->offset != 0) {
      result =
          add.Add(Opcode::kAdd, integer,
                  {result, add.Integer(ElementType::kS64, of_slot->offset)});
    }
    return converted(result, value.shape);
  }

  Computation& around_;
  Instruction& loop_;
  const LoopResiduals& residuals_;
  const LoopKept& kept_;
  RematNames& names_;
  Computation& body_;
  const int32_t size_;  // Instructions there were.
  LoopTuple tuple_;
  // By instruction id of the body: the element that stacks all its values.
  std::map<int32_t, int64_t> stacks_;
  std::map<int64_t, const Residual*> by_element_;  // Of those before.
};

// Null if there is none of this name.
Instruction* FindInstruction(const Computation& computation,
                             absl::string_view name) {
  const auto found =
      std::ranges::find_if(computation.instructions(),
                           [&](const auto& one) { return one->name == name; });
  return found == computation.instructions().end() ? nullptr : found->get();
}

// Replaces elements of tuples that are built here by the tuples' operands:
// otherwise whatever needs one of them would need all.
void TakeElementsDirectly(Computation& computation) {
  for (const auto& instruction : computation.instructions()) {
    for (Instruction*& operand : instruction->operands) {
      while (operand->opcode == Opcode::kGetTupleElement &&
             operand->operands[0]->opcode == Opcode::kTuple) {
        const int64_t index = operand->attributes->tuple_index;
        operand = operand->operands[0]->operands[index];
      }
    }
  }
}

// A copy of a loop's computation, so that it has one of its own.
Computation* CopyOf(const Computation& from, Module& module,
                    RematNames& names) {
  Computation* to = module.AddComputation(names.NewName(from.name()));
  to->execution_thread = from.execution_thread;
  to->unknown_fields = from.unknown_fields;
  std::vector<Instruction*> copies(from.size());
  for (const auto& instruction : from.instructions()) {
    std::vector<Instruction*> operands;
    for (const Instruction* operand : instruction->operands) {
      operands.push_back(copies[operand->id]);
    }
    Instruction* copy = AddCopy(*to, *instruction, std::move(operands), names);
    for (const Instruction* before : instruction->control_predecessors) {
      copy->control_predecessors.push_back(copies[before->id]);
    }
    copies[instruction->id] = copy;
  }
  to->set_root(copies[from.root()->id]);
  return to;
}

void GiveOwnComputations(Module& module, RematNames& names) {
  absl::flat_hash_map<const Computation*, int64_t> callers;
  std::vector<Instruction*> loops;
  for (const auto& computation : module.computations()) {
    for (const auto& instruction : computation->instructions()) {
      for (const Computation* called : instruction->called) ++callers[called];
      if (instruction->opcode == Opcode::kWhile) {
        loops.push_back(instruction.get());
      }
    }
  }
  for (Instruction* loop : loops) {
    for (Computation*& called : loop->called) {
      if (callers[called] == 1) continue;
      --callers[called];
      called = CopyOf(*called, module, names);
      callers[called] = 1;
    }
  }
}

}  // namespace

LoopsAgain RecomputeLoops(Module& module, bool light) {
  LoopsAgain result;
  RematNames names(module);
  GiveOwnComputations(module, names);
  for (const auto& computation : module.computations()) {
    TakeElementsDirectly(*computation);
  }
  const ModuleWork work(module);
  std::vector<std::pair<Computation*, std::string>> loops;
  for (const auto& computation : module.computations()) {
    for (const auto& instruction : computation->instructions()) {
      if (instruction->opcode == Opcode::kWhile) {
        loops.push_back({computation.get(), instruction->name});
      }
    }
  }
  for (const auto& [around, name] : loops) {
    // Earlier changes may have removed it together with its users.
    Instruction* const loop = FindInstruction(*around, name);
    if (loop == nullptr) continue;
    std::string why;
    const LoopResiduals residuals = FindResiduals(*around, *loop, why);
    if (!why.empty()) result.notes.push_back(why);
    if (!residuals.HasReaders()) continue;
    const LoopKept kept = ChooseKept(*loop, residuals, light, work);
    if (static_cast<double>(kept.bytes) >
        (1 - kRematPolicy.least_saved) *
            static_cast<double>(kept.bytes_before)) {
      result.notes.push_back(absl::StrCat(
          "loop '", loop->name, "' saves no more residuals than it has to",
          light ? " unless contractions are rematerialised" : ""));
      continue;
    }
    result.count += Rewriter(*around, *loop, residuals, kept, names).Run();
  }
  return result;
}

std::vector<std::string> WhyLoopsStay(const Module& module, bool light) {
  Module copy = InlineCalls(module);
  return RecomputeLoops(copy, light).notes;
}

}  // namespace meshwright
