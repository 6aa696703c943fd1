// Builds the instructions that a process's part of a program has in addition to
// those of the program.
#ifndef MESHWRIGHT_CROSSING_CROSS_BUILDER_H_
#define MESHWRIGHT_CROSSING_CROSS_BUILDER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/string_view.h"
#include "meshwright/hlo/module.h"

namespace meshwright {

// The shape with row-major layouts.
Shape RowMajor(Shape shape);

// Generates unique names of instructions and computations.
class CrossNames {
 public:
  explicit CrossNames(const Module& program);

  // For the first copy of something in the program its own name, otherwise a
  // new one.
  std::string OfCopy(const std::string& name);
  // A name that the program does not have.
  std::string New(absl::string_view stem);

 private:
  absl::flat_hash_set<std::string> known_;
  absl::flat_hash_set<std::string> copied_;
};

// Adds instructions to one computation.
class CrossBuilder {
 public:
  CrossBuilder(Computation* to, CrossNames* names) : to_(to), names_(*names) {}

  Computation* to() const { return to_; }

  Instruction* Constant(Shape shape, std::string bytes);
  Instruction* Zeros(const Shape& shape);
  Instruction* Tuple(std::vector<Instruction*> values);
  Instruction* Element(Instruction* tuple, int64_t index);
  // The value itself if it has this type.
  Instruction* Convert(Instruction* value, ElementType type);
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

#endif  // MESHWRIGHT_CROSSING_CROSS_BUILDER_H_
