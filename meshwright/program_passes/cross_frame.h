// A computation in the making: what the values of the one it is copied from
// have become.
//
// Calls come in one order, the same in all processes. Between loops and
// conditionals that is by control dependences; into them and out of them goes
// the number of the device, which every call takes and returns, as one more
// element of their tuples. (XLA looks after control dependences of a custom
// call, but not of what it transforms.)
#ifndef MESHWRIGHT_PROGRAM_PASSES_CROSS_FRAME_H_
#define MESHWRIGHT_PROGRAM_PASSES_CROSS_FRAME_H_

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "meshwright/hlo/module.h"
#include "meshwright/program_passes/cross_builder.h"

namespace meshwright {

// The elements of a tuple, or an array, and the number of the device.
Shape Widened(const Shape& shape);

struct CrossFrame {
  CrossBuilder build;
  absl::flat_hash_map<const Instruction*, Instruction*> copies = {};
  // Tuples that have one element more, the number of the device.
  absl::flat_hash_map<const Instruction*, Instruction*> wide = {};
  Instruction* replica = nullptr;    // The number of the device, made here.
  Instruction* device = nullptr;     // The same, for the next call.
  Instruction* last_call = nullptr;  // That took `device`.

  bool HasValue(const Instruction* from) const {
    return copies.contains(from) || wide.contains(from);
  }
  // Its value in the shape it had. Requires: HasValue.
  Instruction* ValueOf(const Instruction* from);
  // What computes it. Requires: HasValue.
  Instruction* CarrierOf(const Instruction* from) const;

  Instruction* Replica(const std::vector<int64_t>& devices);
  // To be had only after all calls so far. Null: there were none, and none was
  // given.
  Instruction* DeviceAfterCalls();
  // `value` stands for `from` and the number of the device after it.
  void Bind(const Instruction* from, Instruction* value);
  // `value` and the number of the device after all calls so far.
  Instruction* Widen(Instruction* value);
};

}  // namespace meshwright

#endif  // MESHWRIGHT_PROGRAM_PASSES_CROSS_FRAME_H_
