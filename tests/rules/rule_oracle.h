// Test support: does a rule's lowering compute what the instruction does?
//
// The instruction runs whole on one virtual CPU device; its per-device form
// runs on a mesh of them, for many random strategies; every element that every
// device holds must agree. Padding of the inputs is NaN, or wrong integers.
#ifndef MESHWRIGHT_TESTS_RULES_RULE_ORACLE_H_
#define MESHWRIGHT_TESTS_RULES_RULE_ORACLE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "meshwright/base/is_long_for_test.h"
#include "meshwright/mesh/mesh.h"
#include "meshwright/rules/rule.h"
#include "tests/rules/one_op.h"

namespace meshwright {

// The values of the result leaves.
absl::StatusOr<Values> RunWhole(const BuiltOp& op, const Values& inputs);

// Tries strategies of `rule` on one mesh, all in one program.
absl::Status CheckStrategies(const BuiltOp& op, const Rule& rule,
                             absl::Span<const Strategy> strategies,
                             const Mesh& mesh, const Values& inputs,
                             const Values& wanted);
absl::Status CheckStrategy(const OneOp& op, const Strategy& strategy,
                           const Mesh& mesh, uint64_t seed = 1);

// Valid strategies, all different: first one for every factor that may be
// split and every way to be pending, then random ones with several axes.
std::vector<Strategy> SampleStrategies(const BuiltOp& op, const Rule& rule,
                                       const Mesh& mesh, Random& random,
                                       int32_t count);

// Without MW_LONG two: what is split over one axis or two is among what is
// split over three.
inline std::vector<std::string> UsualMeshes() {
  if (!IsLong()) return {"a=2,b=2,c=2", "a=3,b=2"};
  return {"2", "a=2,b=2", "a=2,b=2,c=2", "a=3,b=2"};
}

struct CheckOptions {
  uint64_t seed = 1;
  int32_t count = 12;  // Strategies per mesh.
  std::vector<std::string> meshes = UsualMeshes();
  bool fallback = false;  // What the rule should be.
};
inline const CheckOptions kQuick = {.count = 6,
                                    .meshes = {"a=2,b=2,c=2", "a=3,b=2"}};
inline const CheckOptions kFew = {.count = 6, .meshes = {"a=2,b=2", "a=3,b=2"}};
// Tries random strategies of the instruction's rule on several meshes.
absl::Status CheckRule(const OneOp& op, const CheckOptions& options = {});

// Factors and strategies in words, for messages.
std::string ToString(const Rule& rule);
std::string ToString(const Rule& rule, const Strategy& strategy,
                     const Mesh& mesh);

}  // namespace meshwright

#endif  // MESHWRIGHT_TESTS_RULES_RULE_ORACLE_H_
