// A whole HLO program: computations, one of them the entry, and the aliases and
// layouts of the entry's parameters and results.
//
//   absl::StatusOr<Module> module = ReadModule(bytes);   // read_module.h
//   module->entry()->root()->shape.ToString();
//   std::string text = ToString(*module);                // print_module.h
//
// Movable, not copyable: instructions point to each other.
#ifndef MESHWRIGHT_HLO_MODULE_H_
#define MESHWRIGHT_HLO_MODULE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "meshwright/hlo/computation.h"

namespace meshwright {

// Output `output_index` may (must) reuse the memory of a parameter.
struct Alias {
  enum class Kind { kUndefined = 0, kMay = 1, kMust = 2 };

  std::vector<int64_t> output_index;  // Path into the root's tuple.
  int64_t parameter_number = 0;
  std::vector<int64_t> parameter_index;
  Kind kind = Kind::kMay;
  std::string unknown_fields;
};

// A parameter whose memory may be reused without naming an output.
struct BufferDonor {
  int64_t parameter_number = 0;
  std::vector<int64_t> parameter_index;
  std::string unknown_fields;
};

struct ProgramShape {
  std::vector<Shape> parameters;
  Shape result;
  std::vector<std::string> parameter_names;
  std::string unknown_fields;
};

class Module {
 public:
  explicit Module(std::string name) : name_(std::move(name)) {}

  const std::string& name() const { return name_; }
  // Callees come before their callers.
  const std::vector<std::unique_ptr<Computation>>& computations() const {
    return computations_;
  }
  Computation* AddComputation(std::string name);
  // For a module built by hand: orders callees before callers, drops
  // computations that the entry does not reach, and gives every array without a
  // layout the row-major one, as compilers expect. Requires: an entry, no
  // recursion.
  void Finish();
  Computation* entry() const { return entry_; }
  void set_entry(Computation* entry) { entry_ = entry; }
  // Instructions of all computations.
  int64_t instruction_count() const;

  // Parameter and result shapes with the layouts the caller sees. Derived from
  // the entry computation if absent.
  std::optional<ProgramShape> entry_layout;
  std::vector<Alias> aliases;
  std::vector<BufferDonor> buffer_donors;
  FrontendAttributes frontend_attributes;
  Boxed<OpSharding> spmd_output_sharding;
  std::vector<OpSharding> spmd_parameters_shardings;
  bool is_scheduled = false;  // It carries an execution order.
  std::string unknown_fields;

 private:
  void OrderComputations();

  std::string name_;
  std::vector<std::unique_ptr<Computation>> computations_;
  Computation* entry_ = nullptr;
};

// The shapes of a computation's parameters and root, names from the
// parameters. Requires: the computation passed Verify.
ProgramShape ProgramShapeOf(const Computation& computation);

}  // namespace meshwright

#endif  // MESHWRIGHT_HLO_MODULE_H_
