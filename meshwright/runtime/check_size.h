// Whether memory is as large as the array that is to go there.
#ifndef MESHWRIGHT_RUNTIME_CHECK_SIZE_H_
#define MESHWRIGHT_RUNTIME_CHECK_SIZE_H_

#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace meshwright {

inline absl::Status CheckSize(const std::string& name, size_t array_bytes,
                              size_t memory_bytes) {
  if (array_bytes == memory_bytes) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      name, " has ", array_bytes, " bytes, the memory for it ", memory_bytes));
}

}  // namespace meshwright

#endif  // MESHWRIGHT_RUNTIME_CHECK_SIZE_H_
