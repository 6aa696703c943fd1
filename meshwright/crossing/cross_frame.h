// A computation under construction, with the mapping from the values of the
// original to its own.
//
// Calls run in one order, the same in all processes. In straight-line code
// control dependences enforce it. Into and out of loops and conditionals the
// device number, which every call takes and returns, is passed as one more
// element of their tuples. (XLA preserves control dependences of a custom call,
// but not those of instructions that it transforms.)
#ifndef MESHWRIGHT_CROSSING_CROSS_FRAME_H_
#define MESHWRIGHT_CROSSING_CROSS_FRAME_H_

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "meshwright/crossing/cross_builder.h"
#include "meshwright/hlo/module.h"

namespace meshwright {

// The shape of the elements of a tuple, or of an array, and the device number.
Shape Widened(const Shape& shape);

struct CrossFrame {
  CrossBuilder build;
  absl::flat_hash_map<const Instruction*, Instruction*> copies = {};
  // Tuples with one more element, the device number.
  absl::flat_hash_map<const Instruction*, Instruction*> wide = {};
  // Of collectives, whose value may be an element of it, converted.
  absl::flat_hash_map<const Instruction*, Instruction*> calls = {};
  Instruction* replica = nullptr;    // The device number, computed here.
  Instruction* device = nullptr;     // The same value, for the next call.
  Instruction* last_call = nullptr;  // The call that took `device` last.

  bool HasValue(const Instruction* from) const {
    return copies.contains(from) || wide.contains(from);
  }
  // Its value in its original shape. Requires: HasValue.
  Instruction* ValueOf(const Instruction* from);
  // The instruction that computes it. Requires: HasValue.
  Instruction* CarrierOf(const Instruction* from) const;

  Instruction* Replica(const std::vector<int64_t>& devices);
  // The device number, available only after all calls so far. Null: there were
  // none, and none was given.
  Instruction* DeviceAfterCalls();
  // Maps `from` to `value`, and takes the device number behind it.
  void Bind(const Instruction* from, Instruction* value);
  // `value` together with the device number after all calls so far.
  Instruction* Widen(Instruction* value);
};

}  // namespace meshwright

#endif  // MESHWRIGHT_CROSSING_CROSS_FRAME_H_
