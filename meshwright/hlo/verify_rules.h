// The parts of Verify, one for each subject. All return kInvalidArgument with
// "what is wrong; expected X, got Y"; Verify adds the location.
#ifndef MESHWRIGHT_HLO_VERIFY_RULES_H_
#define MESHWRIGHT_HLO_VERIFY_RULES_H_

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "meshwright/hlo/module.h"

namespace meshwright {

// What callers need to know about a computation.
struct Signature {
  std::vector<const Instruction*> parameters;  // By number, none missing.
  const Instruction* root = nullptr;
};

// Fails if the computation has no root, or parameter numbers are not 0..n-1.
absl::StatusOr<Signature> SignatureOf(const Computation& computation);

// Decides whether shapes are compatible, and memoises it: every shape of a
// module takes part in one successful comparison, however many calls pass it.
class ShapeClasses {
 public:
  // `a` and `b` must outlive this object.
  bool Same(const Shape& a, const Shape& b);

 private:
  const Shape* Find(const Shape* shape);

  absl::flat_hash_map<const Shape*, const Shape*> parent_;
};

// verify_calls.cc: the operands and result of a caller fit its callees.
// Requires: one signature per called computation; InferInstruction passed.
absl::Status CheckCalls(const Instruction& instruction,
                        const std::vector<const Signature*>& callees,
                        ShapeClasses& classes);

// verify_constant.cc
absl::Status CheckConstant(const Instruction& instruction);

// verify_collective.cc: replica groups and source-target pairs.
class CollectiveChecker {
 public:
  absl::Status Check(const Instruction& instruction);

 private:
  absl::Status CheckGroups(const Instruction& instruction);
  absl::Status CheckPairs(const Instruction& instruction);
  // Starts an empty set of ids.
  void Clear() { ++round_, large_.clear(); }
  // False if the id is in the set already.
  bool Insert(int64_t id);

  int64_t round_ = 0;
  std::vector<int64_t> last_seen_;  // By small id: the round that last saw it.
  absl::flat_hash_set<int64_t> large_;
};

// verify_sharding.cc
absl::Status CheckSharding(const OpSharding& sharding, const Shape& shape);

// verify_entry.cc: entry layout, aliases and donors of the module.
absl::Status CheckEntryLayout(const Module& module, const Signature& entry);
absl::Status CheckAliases(const Module& module, const Signature& entry);

// verify_custom_call.cc: operand layouts and output-operand aliases.
absl::Status CheckCustomCall(const Instruction& instruction);

// The shape at `path` inside nested tuples, or null.
const Shape* SubShape(const Shape& shape, const std::vector<int64_t>& path);

}  // namespace meshwright

#endif  // MESHWRIGHT_HLO_VERIFY_RULES_H_
