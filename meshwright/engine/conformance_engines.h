// The engines under the conformance suite, and a set of programs that each of
// them can run.
//
// The CPU and the fake engine always; with MESHWRIGHT_TEST_PLUGIN=cuda also the
// plug-in of that name, as "Named", on the available devices.
//
// name           parameters                    outputs
// add            f32[2,3], f32[2,3]            sum
// add_scalars    s32[], s32[]                  sum
// add_nothing    f32[0,3], f32[0,3]            sum
// add_bf16       bf16[3], bf16[3]              sum
// accumulate     f32[4] donated, f32[4]        sum (in its memory), f32[] total
// transpose      f32[2,3]                      f32[3,2]
// matmul         f32[8,16], f32[16,4]          product
// sum_pairs      f32[2] on each of 8 devices   sum over devices d and d + 4
// fail           f32[2] on each of 2 devices   fails while it runs
#ifndef MESHWRIGHT_ENGINE_CONFORMANCE_ENGINES_H_
#define MESHWRIGHT_ENGINE_CONFORMANCE_ENGINES_H_

#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/engine/client.h"

namespace meshwright {

struct EngineUnderTest {
  std::string name;
  std::function<absl::StatusOr<std::unique_ptr<Client>>(int devices)> create;
  std::function<Program(const std::string& name)> program;
};

std::vector<EngineUnderTest> EnginesUnderTest();

// Keeps failure messages short.
inline std::ostream& operator<<(std::ostream& out, const EngineUnderTest& e) {
  return out << e.name;
}

}  // namespace meshwright

#endif  // MESHWRIGHT_ENGINE_CONFORMANCE_ENGINES_H_
