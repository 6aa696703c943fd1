// What a compiler takes, and what it tells about what it made of it.
//
// A training step that adds a f32[2] gradient to its donated f32[2] weights:
//
//   signature.parameters;  // {f32[2], f32[2]}
//   signature.outputs;     // {f32[2]}
//   signature.donations;   // {{.parameter = 0, .output = 0}}
//   memory.total_bytes();  // 16 + 8 - 8 + temporaries + code
#ifndef MESHWRIGHT_ENGINE_PROGRAM_H_
#define MESHWRIGHT_ENGINE_PROGRAM_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "meshwright/engine/buffer_shape.h"

namespace meshwright {

struct Program {
  std::string format =
      {};  // "hlo" (HloModuleProto), "mlir" or "hlo_with_config".
  std::string code = {};
};

// The shapes are those that one device sees.
struct ProgramSignature {
  struct Donation {
    int parameter = 0;
    int output = -1;  // The one that takes over its memory; -1 if none does.

    bool operator==(const Donation&) const = default;
  };

  std::vector<BufferShape> parameters = {};
  std::vector<BufferShape> outputs = {};
  std::vector<Donation> donations = {};

  bool operator==(const ProgramSignature&) const = default;
};

// What one device needs to run the program once, as the compiler counts it.
// Aliased bytes are in both arguments and outputs.
struct ProgramMemory {
  int64_t argument_bytes = 0;
  int64_t output_bytes = 0;
  int64_t alias_bytes = 0;
  int64_t temporary_bytes = 0;
  int64_t code_bytes = 0;

  int64_t total_bytes() const {
    return argument_bytes + output_bytes - alias_bytes + temporary_bytes +
           code_bytes;
  }
};

struct ProgramCost {
  double flops = 0;
  double bytes_accessed = 0;
  std::map<std::string, double> properties =
      {};  // All that the compiler counted.
};

}  // namespace meshwright

#endif  // MESHWRIGHT_ENGINE_PROGRAM_H_
