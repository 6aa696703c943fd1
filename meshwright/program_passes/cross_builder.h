// Instructions that a process's part of a program has besides those of the
// program.
#ifndef MESHWRIGHT_PROGRAM_PASSES_CROSS_BUILDER_H_
#define MESHWRIGHT_PROGRAM_PASSES_CROSS_BUILDER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/string_view.h"
#include "meshwright/hlo/module.h"

namespace meshwright {

// The shape with row-major layouts.
Shape RowMajor(Shape shape);

// Names of instructions and computations, each given once.
class CrossNames {
 public:
  explicit CrossNames(const Module& program);

  // The program's own name for one of its things, if this is its first copy.
  std::string OfCopy(const std::string& name);
  // One that the program does not have.
  std::string New(absl::string_view stem);

 private:
  absl::flat_hash_set<std::string> known_;
  absl::flat_hash_set<std::string> copied_;
};

// Adds to one computation.
class CrossBuilder {
 public:
  CrossBuilder(Computation* to, CrossNames* names) : to_(to), names_(*names) {}

  Computation* to() const { return to_; }

  Instruction* Constant(Shape shape, std::string bytes);
  Instruction* Zeros(const Shape& shape);
  Instruction* Tuple(std::vector<Instruction*> values);
  Instruction* Element(Instruction* tuple, int64_t index);
  // The elements of a tuple, or the array itself.
  std::vector<Instruction*> Elements(Instruction* value);
  // u32[]: devices[replica-id].
  Instruction* DeviceNumber(const std::vector<int64_t>& devices);

 private:
  Instruction* Add(Opcode opcode, Shape shape,
                   std::vector<Instruction*> operands, absl::string_view stem);

  Computation* to_;
  CrossNames& names_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_PROGRAM_PASSES_CROSS_BUILDER_H_
