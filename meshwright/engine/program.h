// The input of a compiler, and what it reports about the result.
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

// Per-device shapes.
struct ProgramSignature {
  struct Donation {
    int parameter = 0;
    int output = -1;  // The output that reuses its memory; -1 if none does.

    bool operator==(const Donation&) const = default;
  };

  std::vector<BufferShape> parameters = {};
  std::vector<BufferShape> outputs = {};
  std::vector<Donation> donations = {};

  bool operator==(const ProgramSignature&) const = default;
};

// The memory per device to run the program once, according to the compiler.
// Aliased bytes are counted in both arguments and outputs.
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
      {};  // Everything that the compiler reports.
};

}  // namespace meshwright

#endif  // MESHWRIGHT_ENGINE_PROGRAM_H_
