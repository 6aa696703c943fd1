#include "meshwright/pipeline/cut_module.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "meshwright/base/annotate.h"
#include "meshwright/base/check.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/hlo/verify.h"
#include "meshwright/program/local_builder.h"

namespace meshwright {
namespace {

class Cutter {
 public:
  Cutter(const Module& module, const CutGraph& graph,
         absl::Span<const int32_t> program_of, int32_t count)
      : module_(module),
        entry_(*module.entry()),
        graph_(graph),
        program_of_(program_of),
        wanted_(count),
        is_output_(entry_.size()),
        mesh_(*Mesh::Parse("1")) {}

  absl::StatusOr<ModuleCut> Run() {
    for (const Instruction* output : entry_.root()->operands) {
      if (output->opcode == Opcode::kParameter) continue;
      is_output_[output->id] = true;
      wanted_[ProgramOf(*output)].insert(output->id);
    }
    // A program's users come after it, so its results are known by then.
    const auto count = static_cast<int32_t>(wanted_.size());
    std::vector<Needs> needs(count);
    for (int32_t program = count; program-- > 0;) {
      MW_ASSIGN_OR_RETURN(needs[program], NeedsOf(program));
    }
    for (int32_t program = 0; program < count; ++program) {
      AddValues(program);
    }
    for (int32_t program = 0; program < count; ++program) {
      MW_RETURN_IF_ERROR(Write(program, needs[program]));
    }
    for (const Instruction* output : entry_.root()->operands) {
      cut_.outputs.push_back(SourceOf(*output));
    }
    return std::move(cut_);
  }

 private:
  // Ids, ascending: instructions of the program, copies among them, and values
  // of others.
  struct Needs {
    std::set<int32_t> inside;
    std::set<int32_t> parameters;
    std::set<int32_t> values;
  };

  int32_t ProgramOf(const Instruction& instruction) const {
    return program_of_[graph_.owner[instruction.id]];
  }

  absl::StatusOr<Needs> NeedsOf(int32_t program) {
    Needs needs;
    std::vector<const Instruction*> stack;
    for (const int32_t id : wanted_[program]) {
      stack.push_back(entry_.instruction(id));
      needs.inside.insert(id);
    }
    while (!stack.empty()) {
      const Instruction* user = stack.back();
      stack.pop_back();
      for (const Instruction* operand : user->operands) {
        if (operand->opcode == Opcode::kParameter) {
          needs.parameters.insert(operand->id);
          continue;
        }
        if (!graph_.copied[operand->id] && ProgramOf(*operand) != program) {
          MW_RETURN_IF_ERROR(Take(*operand, *user, program));
          needs.values.insert(operand->id);
          continue;
        }
        if (needs.inside.insert(operand->id).second) stack.push_back(operand);
      }
    }
    return needs;
  }

  absl::Status Take(const Instruction& value, const Instruction& user,
                    int32_t program) {
    if (ProgramOf(value) > program) {
      return absl::InvalidArgumentError(absl::StrCat(
          user.name, " in program ", program, " needs ", value.name,
          " of program ", ProgramOf(value), ", which comes later"));
    }
    MW_CHECK(value.shape.IsArray()) << value.name << " is no array";
    wanted_[ProgramOf(value)].insert(value.id);
    users_[value.id].insert(program);
    return absl::OkStatus();
  }

  void AddValues(int32_t program) {
    int32_t result = 0;
    for (const int32_t id : wanted_[program]) {
      numbers_[id] = static_cast<int32_t>(cut_.values.size());
      const std::set<int32_t>& users = users_[id];
      cut_.values.push_back({.instruction = entry_.instruction(id),
                             .program = program,
                             .result = result++,
                             .users = {users.begin(), users.end()},
                             .is_output = is_output_[id]});
    }
  }

  CutSource SourceOf(const Instruction& value) const {
    if (value.opcode == Opcode::kParameter) {
      return {CutSource::Kind::kParameter,
              static_cast<int32_t>(value.attributes->parameter_number)};
    }
    return {CutSource::Kind::kValue, numbers_.at(value.id)};
  }

  absl::Status Write(int32_t number, const Needs& needs) {
    LocalProgram program(absl::StrCat(module_.name(), "_", number), mesh_);
    Computation* const entry =
        program.module.AddComputation(program.UniqueName(entry_.name()));
    LocalBuilder builder(&program, entry);
    CutProgram written{.module = Module("")};
    std::vector<Instruction*> made(entry_.size(), nullptr);
    for (const std::set<int32_t>* ids : {&needs.parameters, &needs.values}) {
      for (const int32_t id : *ids) {
        const Instruction& from = *entry_.instruction(id);
        made[id] =
            entry->AddParameter(from.shape, program.UniqueName(from.name));
        made[id]->metadata = from.metadata;
        if (from.opcode == Opcode::kParameter) {
          made[id]->frontend_attributes = from.frontend_attributes;
        }
        written.parameters.push_back(SourceOf(from));
      }
    }
    for (const int32_t id : needs.inside) {
      const Instruction& from = *entry_.instruction(id);
      std::vector<Instruction*> operands;
      for (const Instruction* operand : from.operands) {
        operands.push_back(made[operand->id]);
      }
      made[id] = builder.Clone(from, from.shape, std::move(operands));
    }
    std::vector<Instruction*> results;
    for (const int32_t id : wanted_[number]) {
      results.push_back(made[id]);
      written.results.push_back(numbers_.at(id));
    }
    entry->set_root(builder.Tuple(std::move(results)));
    program.module.set_entry(entry);
    program.module.Finish();
    MW_RETURN_IF_ERROR(Annotate(
        Verify(program.module),
        absl::StrCat("internal error: program ", number, " of the cut")));
    written.module = std::move(program.module);
    cut_.programs.push_back(std::move(written));
    return absl::OkStatus();
  }

  const Module& module_;
  const Computation& entry_;
  const CutGraph& graph_;
  const absl::Span<const int32_t> program_of_;
  std::vector<std::set<int32_t>> wanted_;  // By program: ids of results.
  std::vector<bool> is_output_;            // By id.
  const Mesh mesh_;
  absl::flat_hash_map<int32_t, std::set<int32_t>> users_;  // By id.
  absl::flat_hash_map<int32_t, int32_t> numbers_;          // Of values, by id.
  ModuleCut cut_;
};

}  // namespace

absl::StatusOr<ModuleCut> CutModule(const Module& module, const CutGraph& graph,
                                    absl::Span<const int32_t> program_of,
                                    int32_t count) {
  return Cutter(module, graph, program_of, count).Run();
}

}  // namespace meshwright
