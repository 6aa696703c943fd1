#include "meshwright/program_passes/combine.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "meshwright/program/local_builder.h"
#include "meshwright/program_passes/reorder.h"

namespace meshwright {
namespace {

bool IsPlainAllReduce(const Instruction& instruction) {
  return instruction.opcode == Opcode::kAllReduce &&
         instruction.operands.size() == 1;
}

// By instruction: the largest number of all-reduces on a path from it to the
// end. Two with equal numbers never depend on each other.
std::vector<int32_t> AllReducesAfter(const Computation& computation) {
  std::vector<int32_t> after(computation.size(), 0);
  for (int32_t id = computation.size(); id-- > 0;) {
    const Instruction& instruction = *computation.instruction(id);
    const int32_t before = after[id] + (IsPlainAllReduce(instruction) ? 1 : 0);
    for (const Instruction* operand : instruction.operands) {
      after[operand->id] = std::max(after[operand->id], before);
    }
  }
  return after;
}

class Combiner {
 public:
  Combiner(LocalProgram& program, Computation& computation, int64_t max_bytes)
      : program_(program), computation_(computation), max_bytes_(max_bytes) {}

  void Run() {
    const std::vector<int32_t> after = AllReducesAfter(computation_);
    // Combiners are numbered in order of occurrence: programs must not depend
    // on memory addresses.
    std::map<const Computation*, size_t> numbers;
    using Key = std::tuple<int32_t, size_t, ElementType, AxisList>;
    std::map<Key, std::vector<Instruction*>> groups;
    for (int32_t id = 0; id < computation_.size(); ++id) {
      Instruction* instruction = computation_.instruction(id);
      if (!IsPlainAllReduce(*instruction)) continue;
      const auto note = program_.collectives.find(instruction);
      if (note == program_.collectives.end()) continue;
      const size_t number =
          numbers.try_emplace(instruction->called[0], numbers.size())
              .first->second;
      groups[{after[id], number, instruction->shape.element_type,
              note->second.axes}]
          .push_back(instruction);
    }
    replacement_.resize(computation_.size(), nullptr);
    Instruction* const root = computation_.root();
    for (const auto& [key, members] : groups) CombineGroup(members);
    Replace(computation_, replacement_, root);
  }

 private:
  void CombineGroup(const std::vector<Instruction*>& members) {
    std::vector<Instruction*> bucket;
    int64_t bytes = 0;
    for (Instruction* member : members) {
      const int64_t more = ByteSize(member->shape);
      if (!bucket.empty() && bytes + more > max_bytes_) {
        Combine(bucket);
        bucket.clear();
        bytes = 0;
      }
      bucket.push_back(member);
      bytes += more;
    }
    Combine(bucket);
  }

  void Combine(const std::vector<Instruction*>& members) {
    if (members.size() < 2) return;
    std::vector<Instruction*> operands;
    std::vector<Shape> shapes;
    for (const Instruction* member : members) {
      operands.push_back(member->operands[0]);
      shapes.push_back(member->shape);
    }
    const Instruction& first = *members[0];
    Instruction* combined =
        computation_.Add(first.opcode, Shape::Tuple(std::move(shapes)),
                         std::move(operands), program_.UniqueName(first.name));
    combined->attributes = first.attributes;
    combined->called = first.called;
    combined->metadata = first.metadata;
    CollectiveNote note = program_.collectives.at(&first);
    for (size_t i = 1; i < members.size() && i < 3; ++i) {
      note.tensor += "," + program_.collectives.at(members[i]).tensor;
    }
    if (members.size() > 3) note.tensor += ",...";
    program_.collectives[combined] = std::move(note);
    LocalBuilder builder(&program_, &computation_);
    for (size_t i = 0; i < members.size(); ++i) {
      replacement_[members[i]->id] =
          builder.GetTupleElement(combined, static_cast<int64_t>(i));
    }
  }

  LocalProgram& program_;
  Computation& computation_;
  int64_t max_bytes_;
  std::vector<Instruction*> replacement_;  // By id.
};

}  // namespace

void CombineAllReduces(LocalProgram& program, int64_t max_bytes) {
  for (const auto& computation : program.module.computations()) {
    Combiner(program, *computation, max_bytes).Run();
  }
}

}  // namespace meshwright
