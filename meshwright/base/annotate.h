// Adds context to an error: the same status with "context: " before its
// message.
#ifndef MESHWRIGHT_BASE_ANNOTATE_H_
#define MESHWRIGHT_BASE_ANNOTATE_H_

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace meshwright {

inline absl::Status Annotate(const absl::Status& status,
                             absl::string_view context) {
  if (status.ok()) return status;
  return absl::Status(status.code(),
                      absl::StrCat(context, ": ", status.message()));
}

}  // namespace meshwright

#endif  // MESHWRIGHT_BASE_ANNOTATE_H_
