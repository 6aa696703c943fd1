// Environment variables, of this process or of a test.
//
//   const Environment environment = ProcessEnvironment();
//   environment("SLURM_PROCID");   // "3", or nothing
#ifndef MESHWRIGHT_LAUNCH_ENVIRONMENT_H_
#define MESHWRIGHT_LAUNCH_ENVIRONMENT_H_

#include <functional>
#include <optional>
#include <string>

namespace meshwright {

using Environment = std::function<std::optional<std::string>(const char* name)>;

// This process's.
Environment ProcessEnvironment();

}  // namespace meshwright

#endif  // MESHWRIGHT_LAUNCH_ENVIRONMENT_H_
