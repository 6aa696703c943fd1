// A compiled program, loaded on the devices it was compiled for.
//
//   // One training step: `state` is donated and comes back as outputs.
//   MW_ASSIGN_OR_RETURN(Execution step, executable->ExecuteSingle(arguments));
//   state = std::move(step.outputs[0]);      // Not computed yet, and need
//   MW_RETURN_IF_ERROR(step.done[0]->Await());  // not be waited for.
//
// Everything but the destructor may be called from several threads.
#ifndef MESHWRIGHT_ENGINE_EXECUTABLE_H_
#define MESHWRIGHT_ENGINE_EXECUTABLE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "meshwright/engine/buffer.h"
#include "meshwright/engine/device.h"
#include "meshwright/engine/event.h"
#include "meshwright/engine/program.h"

namespace meshwright {

struct ExecuteOptions {
  // Parameters that must not be donated in this execution although the program
  // would.
  absl::Span<const int64_t> non_donatable = {};
};

// Both by device, in the order of Executable::devices().
struct Execution {
  std::vector<std::vector<BufferPtr>> outputs;
  std::vector<EventPtr> done;
};

class Executable {
 public:
  Executable() = default;
  Executable(const Executable&) = delete;
  Executable& operator=(const Executable&) = delete;
  virtual ~Executable() = default;

  virtual const std::string& name() const = 0;
  virtual const ProgramSignature& signature() const = 0;

  // The addressable devices among those compiled for, replica-major.
  virtual absl::Span<const Device* const> devices() const = 0;

  // Starts one execution on all devices(): arguments[d][p] is parameter p on
  // device d, and must be on that device. Donated arguments are deleted, others
  // unchanged. kInvalidArgument for arguments that do not fit
  // (kFailedPrecondition if deleted), and nothing is executed; errors during
  // execution are reported by `done`.
  virtual absl::StatusOr<Execution> Execute(
      absl::Span<const absl::Span<Buffer* const>> arguments,
      const ExecuteOptions& options = {}) = 0;

  // For a program for one device.
  absl::StatusOr<Execution> ExecuteSingle(absl::Span<Buffer* const> arguments,
                                          const ExecuteOptions& options = {});

  virtual absl::StatusOr<ProgramMemory> Memory() const = 0;
  virtual absl::StatusOr<ProgramCost> Cost() const = 0;
  virtual absl::StatusOr<Program> OptimizedProgram() const = 0;

  // Can be loaded only by the same version of the same plug-in.
  virtual absl::StatusOr<std::string> Serialize() const = 0;

  // Equal for equal programs, options and compilers; kUnimplemented if the
  // platform does not support it.
  virtual absl::StatusOr<std::string> Fingerprint() const = 0;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_ENGINE_EXECUTABLE_H_
