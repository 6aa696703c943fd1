#include "meshwright/launch/environment.h"

#include <cstdlib>

namespace meshwright {

Environment ProcessEnvironment() {
  return [](const char* name) -> std::optional<std::string> {
    const char* const value = std::getenv(name);
    if (value == nullptr) return std::nullopt;
    return value;
  };
}

}  // namespace meshwright
