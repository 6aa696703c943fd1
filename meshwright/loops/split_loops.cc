#include "meshwright/loops/split_loops.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "meshwright/annotations/recorded_names.h"
#include "meshwright/base/annotate.h"
#include "meshwright/base/check.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/hlo/verify.h"
#include "meshwright/loops/loop_piece.h"
#include "meshwright/program_passes/simplify.h"
#include "nlohmann/json.hpp"

namespace meshwright {
namespace {

using Kind = LoopElement::Kind;
using Values = std::vector<Instruction*>;

Mesh OneDevice() {
  absl::StatusOr<Mesh> mesh = Mesh::Create({{"one", 1}});
  MW_CHECK(mesh.ok()) << mesh.status();
  return *std::move(mesh);
}

// Rewrites the step, with divided values in parts.
class Splitter {
 public:
  Splitter(const Module& source, const LoopSplitOptions& options)
      : source_(source),
        from_(*source.entry()),
        options_(options),
        splits_(FindStackedSplits(source, options)),
        program_(source.name(), OneDevice()),
        entry_(
            program_.module.AddComputation(program_.UniqueName(from_.name()))),
        builder_(&program_, entry_),
        whole_(from_.size()),
        parts_(from_.size()),
        after_(from_.size()) {}

  absl::StatusOr<SplitStep> Run() {
    AddParameters();
    for (const auto& instruction : from_.instructions()) Emit(*instruction);
    AddRoot();
    CopyAliases();
    program_.module.frontend_attributes = source_.frontend_attributes;
    NameOutputs();
    program_.module.set_entry(entry_);
    Simplify(program_);
    program_.module.Finish();
    MW_RETURN_IF_ERROR(Annotate(Verify(program_.module),
                                "internal error: the step with loops split"));
    return SplitStep{.module = std::move(program_.module),
                     .parameters = std::move(parameters_),
                     .outputs = std::move(outputs_),
                     .has_split_loops = true};
  }

 private:
  const std::optional<DimensionSplit>& SplitOf(const Instruction& value) const {
    return splits_.values[value.id];
  }

  static Shape PartOf(Shape shape, const DimensionSplit& split, size_t part) {
    shape.layout.reset();
    shape.dimensions[split.dimension] =
        split.bounds[part + 1] - split.bounds[part];
    return shape;
  }

  void AddParameters() {
    int64_t next = 0;
    for (const Instruction* parameter : from_.Parameters()) {
      const std::optional<DimensionSplit>& split = SplitOf(*parameter);
      TensorParts& made = parameters_.emplace_back();
      made.first = next;
      if (!split.has_value()) {
        whole_[parameter->id] = AddParameter(*parameter, parameter->shape, "");
      } else {
        made.dimension = split->dimension;
        made.bounds = split->bounds;
        for (size_t i = 0; i + 1 < split->bounds.size(); ++i) {
          parts_[parameter->id].push_back(AddParameter(
              *parameter, PartOf(parameter->shape, *split, i),
              PartName("", split->bounds[i], split->bounds[i + 1])));
        }
      }
      next += made.count();
    }
  }

  Instruction* AddParameter(const Instruction& like, Shape shape,
                            const std::string& suffix) {
    Instruction* parameter =
        entry_->AddParameter(std::move(shape), program_.UniqueName(like.name));
    parameter->metadata = like.metadata;
    parameter->frontend_attributes = like.frontend_attributes;
    const auto name = parameter->frontend_attributes.find("mw.name");
    if (name != parameter->frontend_attributes.end()) name->second += suffix;
    return parameter;
  }

  // Tuples are assembled where they are needed.
  void Emit(const Instruction& instruction) {
    if (instruction.opcode == Opcode::kParameter ||
        instruction.opcode == Opcode::kTuple ||
        instruction.opcode == Opcode::kGetTupleElement) {
      return;
    }
    if (splits_.loops.contains(instruction.id)) return EmitLoop(instruction);
    const std::optional<DimensionSplit>& split = SplitOf(instruction);
    if (split.has_value()) return EmitParts(instruction, *split);
    if (EmitPartialResults(instruction)) return;
    whole_[instruction.id] = Copy(instruction);
  }

  Instruction* Copy(const Instruction& instruction) {
    Values operands;
    for (const Instruction* operand : instruction.operands) {
      operands.push_back(Whole(*operand));
    }
    return builder_.Clone(instruction, instruction.shape, std::move(operands));
  }

  void EmitParts(const Instruction& instruction, const DimensionSplit& split) {
    const std::optional<OpRestriction> parts =
        OpRestriction::OfResult(instruction, split);
    MW_CHECK(parts.has_value()) << instruction.name;
    for (size_t i = 0; i + 1 < split.bounds.size(); ++i) {
      parts_[instruction.id].push_back(
          builder_.Clone(instruction, PartOf(instruction.shape, split, i),
                         PartOperands(instruction, *parts, i)));
    }
  }

  Values PartOperands(const Instruction& instruction,
                      const OpRestriction& parts, size_t part) {
    Values operands;
    for (size_t i = 0; i < instruction.operands.size(); ++i) {
      const std::optional<DimensionSplit> split = parts.Operand(i);
      operands.push_back(split.has_value()
                             ? Slice(*instruction.operands[i], split->dimension,
                                     split->bounds[part],
                                     split->bounds[part + 1])
                             : Whole(*instruction.operands[i]));
    }
    return operands;
  }

  // A reduction over the dimension along which its operand is divided.
  bool EmitPartialResults(const Instruction& instruction) {
    if (instruction.opcode != Opcode::kReduce ||
        instruction.operands.size() != 2) {
      return false;
    }
    const Instruction& operand = splits_.Source(*instruction.operands[0]);
    const Instruction& start = splits_.Source(*instruction.operands[1]);
    if (!SplitOf(operand).has_value()) return false;
    const std::optional<OpRestriction> parts =
        OpRestriction::OfOperand(instruction, 0, *SplitOf(operand));
    if (!parts.has_value() || parts->Result().has_value() ||
        !LocalBuilder::IsIdentity(start, parts->reduction())) {
      return false;
    }
    Instruction* result = nullptr;
    for (size_t i = 0; i + 1 < SplitOf(operand)->bounds.size(); ++i) {
      Instruction* part = builder_.Clone(instruction, instruction.shape,
                                         PartOperands(instruction, *parts, i));
      result = result == nullptr
                   ? part
                   : builder_.Combine(parts->reduction(), result, part);
    }
    whole_[instruction.id] = result;
    return true;
  }

  void EmitLoop(const Instruction& loop) {
    const LoopPieces& pieces = splits_.loops.at(loop.id);
    const std::vector<LoopElement>& elements = pieces.loop.elements;
    const auto operand = [&](size_t e) -> const Instruction& {
      return *loop.operands[0]->operands[e];
    };
    // A loop that reads what an earlier one saved may rematerialise its work.
    // Without the loop around it that must not be merged with the original
    // (CSE).
    const bool is_apart = !options_.at.contains(loop.name);
    Values given(elements.size());
    std::vector<std::map<int64_t, Instruction*>> written(elements.size());
    for (size_t e = 0; e < elements.size(); ++e) {
      if (elements[e].kind == Kind::kInvariant ||
          elements[e].kind == Kind::kCarried) {
        given[e] = Whole(operand(e));
      }
    }
    for (size_t piece = 0; piece + 1 < pieces.bounds.size(); ++piece) {
      const int64_t begin = pieces.bounds[piece];
      const int64_t end = pieces.bounds[piece + 1];
      for (size_t e = 0; e < elements.size(); ++e) {
        if (elements[e].kind != Kind::kStacked) continue;
        const LoopElement::Range slots = elements[e].SlotsOf(begin, end);
        given[e] =
            Slice(operand(e), elements[e].dimension, slots.begin, slots.end);
        if (is_apart && end == begin + 1 && !elements[e].is_written) {
          given[e] = Apart(given[e]);
        }
      }
      const Values after =
          EmitLoopPiece(loop, pieces.loop, begin, end, given, builder_);
      for (size_t e = 0; e < elements.size(); ++e) {
        if (elements[e].kind == Kind::kCarried) given[e] = after[e];
        if (elements[e].is_written) {
          written[e][elements[e].SlotsOf(begin, end).begin] = after[e];
        }
      }
    }
    after_[loop.id] = std::move(given);
    slots_[loop.id] = std::move(written);
  }

  Instruction* Apart(Instruction* value) {
    return builder_.Add(Opcode::kOptBarrier, value->shape, {value});
  }

  // The element of a loop that was split.
  void Define(const Instruction& value) {
    const Instruction& loop = *value.operands[0];
    const size_t e = value.attributes->tuple_index;
    const LoopElement& element = splits_.loops.at(loop.id).loop.elements[e];
    if (element.kind == Kind::kKnown) {
      whole_[value.id] = builder_.Constant(
          value.shape.element_type, static_cast<double>(element.values.back()));
    } else if (element.kind == Kind::kCarried) {
      whole_[value.id] = after_[loop.id][e];
    } else {
      const DimensionSplit& split = *SplitOf(value);
      const auto& written = slots_[loop.id][e];
      for (size_t i = 0; i + 1 < split.bounds.size(); ++i) {
        const auto found = written.find(split.bounds[i]);
        // Slots that no iteration uses keep their initial values.
        parts_[value.id].push_back(found != written.end()
                                       ? found->second
                                       : Slice(*loop.operands[0]->operands[e],
                                               split.dimension, split.bounds[i],
                                               split.bounds[i + 1]));
      }
    }
  }

  bool IsOfSplitLoop(const Instruction& value) const {
    return value.opcode == Opcode::kGetTupleElement &&
           splits_.loops.contains(value.operands[0]->id);
  }

  const Values& Parts(const Instruction& value) {
    if (parts_[value.id].empty()) Define(value);
    return parts_[value.id];
  }

  Instruction* Whole(const Instruction& value) {
    const Instruction& at = splits_.Source(value);
    Instruction*& whole = whole_[at.id];
    if (whole != nullptr) return whole;
    if (SplitOf(at).has_value()) {
      return whole = builder_.Concatenate(Parts(at), SplitOf(at)->dimension);
    }
    if (IsOfSplitLoop(at)) {
      Define(at);
      return whole_[at.id];
    }
    MW_CHECK(at.opcode == Opcode::kTuple ||
             at.opcode == Opcode::kGetTupleElement)
        << at.name;
    return whole = Copy(at);
  }

  // [begin, end) of a dimension.
  Instruction* Slice(const Instruction& value, int64_t dimension, int64_t begin,
                     int64_t end) {
    const Instruction& at = splits_.Source(value);
    if (begin == 0 && end == at.shape.dimensions[dimension]) return Whole(at);
    const std::optional<DimensionSplit>& split = SplitOf(at);
    if (split.has_value() && split->dimension == dimension) {
      return SliceOfParts(at, *split, begin, end);
    }
    if (at.opcode == Opcode::kBroadcast &&
        !std::ranges::count(at.attributes->dimensions, dimension)) {
      Shape shape = at.shape;
      shape.layout.reset();
      shape.dimensions[dimension] = end - begin;
      return builder_.Clone(at, std::move(shape), {Whole(*at.operands[0])});
    }
    return builder_.Slice(Whole(at), dimension, begin, end);
  }

  Instruction* SliceOfParts(const Instruction& at, const DimensionSplit& split,
                            int64_t begin, int64_t end) {
    const Values parts = Parts(at);
    Values found;
    for (size_t i = 0; i < parts.size(); ++i) {
      const int64_t low = std::max(begin, split.bounds[i]);
      const int64_t high = std::min(end, split.bounds[i + 1]);
      if (low >= high) continue;
      const bool all = low == split.bounds[i] && high == split.bounds[i + 1];
      found.push_back(all ? parts[i]
                          : builder_.Slice(parts[i], split.dimension,
                                           low - split.bounds[i],
                                           high - split.bounds[i]));
    }
    return found.size() == 1
               ? found[0]
               : builder_.Concatenate(std::move(found), split.dimension);
  }

  void AddRoot() {
    const Instruction& root = *from_.root();
    absl::flat_hash_map<int64_t, int64_t> parameter_of;
    for (const NextValue& next : options_.state) {
      parameter_of[next.output] = next.parameter;
    }
    Values results;
    for (size_t i = 0; i < root.operands.size(); ++i) {
      TensorParts& made = outputs_.emplace_back();
      const auto state = parameter_of.find(static_cast<int64_t>(i));
      if (state != parameter_of.end()) made = parameters_[state->second];
      made.first = std::ssize(results);
      if (made.bounds.empty()) results.push_back(Whole(*root.operands[i]));
      for (size_t part = 0; part + 1 < made.bounds.size(); ++part) {
        results.push_back(Slice(*root.operands[i], made.dimension,
                                made.bounds[part], made.bounds[part + 1]));
      }
    }
    entry_->set_root(builder_.Tuple(std::move(results)));
  }

  void CopyAliases() {
    for (const Alias& alias : source_.aliases) {
      const TensorParts& from = parameters_[alias.parameter_number];
      const TensorParts& to = outputs_[alias.output_index[0]];
      if (from.bounds != to.bounds) continue;
      for (int64_t part = 0; part < from.count(); ++part) {
        Alias copy = alias;
        copy.parameter_number = from.first + part;
        copy.output_index[0] = to.first + part;
        program_.module.aliases.push_back(std::move(copy));
      }
    }
    for (const BufferDonor& donor : source_.buffer_donors) {
      const TensorParts& from = parameters_[donor.parameter_number];
      for (int64_t part = 0; part < from.count(); ++part) {
        BufferDonor copy = donor;
        copy.parameter_number = from.first + part;
        program_.module.buffer_donors.push_back(std::move(copy));
      }
    }
  }

  void NameOutputs() {
    FrontendAttributes& attributes = program_.module.frontend_attributes;
    if (const auto loss = attributes.find("mw.loss");
        loss != attributes.end()) {
      int64_t number = 0;
      if (absl::SimpleAtoi(loss->second, &number) && number >= 0 &&
          number < std::ssize(outputs_)) {
        loss->second = absl::StrCat(outputs_[number].first);
      }
    }
    const std::vector<std::string> names = RecordedOutputs(source_);
    if (names.size() != outputs_.size()) return;
    nlohmann::json made = nlohmann::json::array();
    for (size_t i = 0; i < outputs_.size(); ++i) {
      const std::vector<int64_t>& bounds = outputs_[i].bounds;
      if (bounds.empty()) made.push_back(names[i]);
      for (size_t part = 0; part + 1 < bounds.size(); ++part) {
        made.push_back(PartName(names[i], bounds[part], bounds[part + 1]));
      }
    }
    attributes["mw.outputs"] = made.dump();
  }

  const Module& source_;
  const Computation& from_;
  const LoopSplitOptions& options_;
  const StackedSplits splits_;
  LocalProgram program_;
  Computation* const entry_;
  LocalBuilder builder_;
  // By instruction id of the source: its value, whole and in parts.
  Values whole_;
  std::vector<Values> parts_;
  // By loop and element: loop-carried values behind it, and written parts by
  // where they begin.
  std::vector<Values> after_;
  std::map<int32_t, std::vector<std::map<int64_t, Instruction*>>> slots_;
  std::vector<TensorParts> parameters_;
  std::vector<TensorParts> outputs_;
};

}  // namespace

std::string PartName(const std::string& name, int64_t begin, int64_t end) {
  return absl::StrCat(name, "[", begin, ":", end, "]");
}

absl::StatusOr<SplitStep> SplitLoops(const Module& module,
                                     const LoopSplitOptions& options) {
  return Splitter(module, options).Run();
}

}  // namespace meshwright
