#include "meshwright/microbatch/micro_batch_loop.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "meshwright/analysis/roles.h"
#include "meshwright/base/annotate.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/hlo/inline_calls.h"
#include "meshwright/hlo/verify.h"
#include "meshwright/microbatch/batch_dimensions.h"
#include "meshwright/program/local_builder.h"

namespace meshwright {
namespace {

using Kind = MicroBatchArgument::Kind;

// Moves what only the root needs, such as gradients and their accumulation,
// right behind its operands. Nothing else depends on it, so that it would
// otherwise run last, with the gradients of all layers in memory.
void AddUpSoon(Computation& body) {
  const auto users = Users(body);
  const auto is_source = [](const Instruction& instruction) {
    return instruction.operands.empty() ||
           (instruction.opcode == Opcode::kGetTupleElement &&
            instruction.operands[0]->opcode == Opcode::kParameter);
  };
  std::vector<bool> for_root(body.size(), false);
  std::vector<size_t> missing(body.size(), 0);  // Operands not yet emitted.
  for (int32_t id = body.size(); id-- > 0;) {
    const Instruction& instruction = *body.instruction(id);
    missing[id] = instruction.operands.size();
    for_root[id] = &instruction != body.root() && !is_source(instruction) &&
                   instruction.control_predecessors.empty() &&
                   std::ranges::all_of(users[id], [&](const Instruction* user) {
                     return user == body.root() || for_root[user->id];
                   });
  }
  std::vector<Instruction*> order;
  const auto place = [&](Instruction* instruction) {
    size_t next = order.size();
    order.push_back(instruction);
    for (; next < order.size(); ++next) {
      const Instruction* made = order[next];
      for (Instruction* user : users[made->id]) {
        missing[user->id] -=
            static_cast<size_t>(std::ranges::count(user->operands, made));
        if (for_root[user->id] && missing[user->id] == 0) {
          order.push_back(user);
        }
      }
    }
  };
  // Parameters and constants are available from the start.
  for (const bool sources : {true, false}) {
    for (const auto& instruction : body.instructions()) {
      if (!for_root[instruction->id] && is_source(*instruction) == sources &&
          instruction.get() != body.root()) {
        place(instruction.get());
      }
    }
  }
  order.push_back(body.root());
  body.Keep(order);
}

class LoopWriter {
 public:
  LoopWriter(const Module& step, const MicroBatched& split)
      : step_(step),
        split_(split),
        program_(step.name(), *Mesh::Parse("1")),
        entry_(program_.module.AddComputation(
            program_.UniqueName(step.entry()->name()))),
        builder_(&program_, entry_) {
    program_.module.set_entry(entry_);
    // First, so that instructions keep their names: strategies for parts of the
    // step are looked up by name (stage_strategies.h).
    for (const MicroBatchProgram& phase : split.phases) Copy(phase.module);
    Copy(split.apply.module);
    Copy(split.start);
  }

  Module Write() && {
    const ModuleRoles roles = AnalyzeRoles(step_);
    for (const Instruction* parameter : step_.entry()->Parameters()) {
      Instruction* copy = entry_->AddParameter(
          parameter->shape, program_.UniqueName(parameter->name));
      copy->metadata = parameter->metadata;
      copy->frontend_attributes = parameter->frontend_attributes;
      // Keeps the name under which users know it.
      if (copy->name != parameter->name) {
        copy->frontend_attributes.try_emplace(
            "mw.name", roles.parameters[parameters_.size()].name);
      }
      parameters_.push_back(copy);
    }
    RecordBatch();
    Instruction* const start = Call(builder_, split_.start, {});
    for (size_t i = 0; i < split_.accumulators.size(); ++i) {
      totals_.push_back(
          builder_.GetTupleElement(start, static_cast<int64_t>(i)));
    }
    for (const MicroBatchProgram& phase : split_.phases) Loop(phase);
    std::vector<Instruction*> arguments;
    for (const MicroBatchArgument& argument : split_.apply.arguments) {
      arguments.push_back(argument.kind == Kind::kAccumulator
                              ? totals_[argument.index]
                              : parameters_[argument.index]);
    }
    entry_->set_root(Call(builder_, split_.apply.module, std::move(arguments)));
    Module& module = program_.module;
    module.aliases = step_.aliases;
    module.buffer_donors = step_.buffer_donors;
    module.frontend_attributes = step_.frontend_attributes;
    module.entry_layout = step_.entry_layout;
    module.Finish();
    Module looped = InlineCalls(module);
    for (const auto& instruction : looped.entry()->instructions()) {
      if (instruction->opcode == Opcode::kWhile) {
        AddUpSoon(*instruction->called[0]);
      }
    }
    return looped;
  }

 private:
  // Records the batch dimensions, which are hard to infer from a loop.
  void RecordBatch() {
    for (const MicroBatchProgram& phase : split_.phases) {
      for (const MicroBatchArgument& argument : phase.arguments) {
        if (!argument.batch_dim.has_value()) continue;
        parameters_[argument.index]->frontend_attributes[kBatchAttribute] =
            absl::StrCat(*argument.batch_dim);
      }
    }
  }

  void Copy(const Module& module) {
    copies_[&module] = program_.Copy(*module.entry());
  }

  Instruction* Call(LocalBuilder& builder, const Module& module,
                    std::vector<Instruction*> arguments) {
    Instruction* call = builder.Add(
        Opcode::kCall, module.entry()->root()->shape, std::move(arguments));
    call->called = {copies_.at(&module)};
    return call;
  }

  // while (t < count): carries t, the phase's accumulators, and what it reads.
  void Loop(const MicroBatchProgram& phase) {
    std::vector<Instruction*> carried = {
        builder_.Constant(ElementType::kS32, 0)};
    for (const int64_t index : phase.accumulators) {
      carried.push_back(totals_[index]);
    }
    for (const MicroBatchArgument& argument : phase.arguments) {
      if (Position(phase, argument) < 0) carried.push_back(Outside(argument));
    }
    Instruction* const start = builder_.Tuple(std::move(carried));
    Instruction* const loop =
        builder_.Add(Opcode::kWhile, start->shape, {start});
    loop->called = {Body(phase, start->shape), Condition(start->shape)};
    for (size_t i = 0; i < phase.accumulators.size(); ++i) {
      totals_[phase.accumulators[i]] =
          builder_.GetTupleElement(loop, static_cast<int64_t>(i) + 1);
    }
  }

  Instruction* Outside(const MicroBatchArgument& argument) const {
    return argument.kind == Kind::kAccumulator ? totals_[argument.index]
                                               : parameters_[argument.index];
  }

  // The element of the loop's tuple; -1 for what is only read.
  static int64_t Position(const MicroBatchProgram& phase,
                          const MicroBatchArgument& argument) {
    if (argument.kind == Kind::kIndex) return 0;
    if (argument.kind != Kind::kAccumulator) return -1;
    for (size_t i = 0; i < phase.accumulators.size(); ++i) {
      if (phase.accumulators[i] == argument.index) {
        return static_cast<int64_t>(i) + 1;
      }
    }
    return -1;
  }

  Computation* Body(const MicroBatchProgram& phase, const Shape& shape) {
    Computation* body =
        program_.module.AddComputation(program_.UniqueName("micro_batch"));
    LocalBuilder builder(&program_, body);
    Instruction* const carry =
        body->AddParameter(shape, program_.UniqueName("carry"));
    const auto at = [&](int64_t index) {
      return builder.GetTupleElement(carry, index);
    };
    Instruction* const index = at(0);
    int64_t next = static_cast<int64_t>(phase.accumulators.size()) + 1;
    const int64_t first_read = next;
    std::vector<Instruction*> arguments;
    for (const MicroBatchArgument& argument : phase.arguments) {
      const int64_t position = Position(phase, argument);
      Instruction* value = position >= 0 ? at(position) : at(next++);
      if (argument.batch_dim.has_value()) {
        const int64_t size =
            value->shape.dimensions[*argument.batch_dim] / split_.count;
        Instruction* const from = builder.Binary(
            Opcode::kMultiply, index,
            builder.Constant(ElementType::kS32, static_cast<double>(size)));
        value = builder.DynamicSlice(value, *argument.batch_dim, from, size);
      }
      arguments.push_back(value);
    }
    Instruction* const results =
        Call(builder, phase.module, std::move(arguments));
    std::vector<Instruction*> carried = {builder.Binary(
        Opcode::kAdd, index, builder.Constant(ElementType::kS32, 1))};
    for (size_t i = 0; i < phase.accumulators.size(); ++i) {
      carried.push_back(
          builder.GetTupleElement(results, static_cast<int64_t>(i)));
    }
    for (int64_t i = first_read; i < next; ++i) carried.push_back(at(i));
    body->set_root(builder.Tuple(std::move(carried)));
    return body;
  }

  Computation* Condition(const Shape& shape) {
    Computation* condition =
        program_.module.AddComputation(program_.UniqueName("more"));
    LocalBuilder builder(&program_, condition);
    Instruction* const carry =
        condition->AddParameter(shape, program_.UniqueName("carry"));
    condition->set_root(
        builder.Compare("LT", builder.GetTupleElement(carry, 0),
                        builder.Constant(ElementType::kS32,
                                         static_cast<double>(split_.count))));
    return condition;
  }

  const Module& step_;
  const MicroBatched& split_;
  LocalProgram program_;
  Computation* entry_;
  LocalBuilder builder_;
  absl::flat_hash_map<const Module*, Computation*> copies_;
  std::vector<Instruction*> parameters_;
  std::vector<Instruction*> totals_;  // The present values of the accumulators.
};

}  // namespace

absl::StatusOr<Module> LoopOverMicroBatches(const Module& module,
                                            const MicroBatchOptions& options) {
  for (const Instruction* parameter : module.entry()->Parameters()) {
    if (parameter->shape.IsArray()) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("parameter ", parameter->name,
                     " is no array; micro-batches need one per tensor"));
  }
  MW_ASSIGN_OR_RETURN(const MicroBatched split,
                      SplitMicroBatches(module, options));
  Module looped = LoopWriter(module, split).Write();
  MW_RETURN_IF_ERROR(
      Annotate(Verify(looped), "internal error: the loop over micro-batches"));
  return looped;
}

}  // namespace meshwright
