// A function of HLO: parameters, instructions in a valid order, and a root.
#ifndef MESHWRIGHT_HLO_COMPUTATION_H_
#define MESHWRIGHT_HLO_COMPUTATION_H_

#include <memory>
#include <string>
#include <vector>

#include "meshwright/hlo/instruction.h"

namespace meshwright {

class Computation {
 public:
  explicit Computation(std::string name) : name_(std::move(name)) {}
  Computation(const Computation&) = delete;
  Computation& operator=(const Computation&) = delete;

  // Appends an instruction and returns it; the computation owns it. Operands
  // must be instructions of this computation. The first root is the last
  // instruction added, until set_root is called.
  Instruction* Add(Opcode opcode, Shape shape,
                   std::vector<Instruction*> operands, std::string name);
  // Appends a parameter instruction with the next parameter number.
  Instruction* AddParameter(Shape shape, std::string name);

  const std::string& name() const { return name_; }
  int32_t size() const { return static_cast<int32_t>(instructions_.size()); }
  const std::vector<std::unique_ptr<Instruction>>& instructions() const {
    return instructions_;
  }
  Instruction* instruction(int32_t id) const { return instructions_[id].get(); }
  Instruction* root() const { return root_; }
  void set_root(Instruction* root) { root_ = root; }
  // The parameters by number; null where a number is missing (see Verify).
  std::vector<Instruction*> Parameters() const;

  // Keeps exactly these instructions, in this order, and renumbers them.
  // Requires: operands come before their users; parameters and the root are
  // included.
  void Keep(const std::vector<Instruction*>& order);

  bool is_fusion = false;
  bool is_scheduled = false;  // Instruction order is the execution order.
  std::string execution_thread;
  std::string unknown_fields;

 private:
  std::string name_;
  std::vector<std::unique_ptr<Instruction>> instructions_;
  Instruction* root_ = nullptr;
  int64_t parameter_count_ = 0;
};

// For each instruction, by id, the instructions that use it as an operand, in
// order, each once.
std::vector<std::vector<Instruction*>> Users(const Computation& computation);

}  // namespace meshwright

#endif  // MESHWRIGHT_HLO_COMPUTATION_H_
