// Early return on errors in absl::Status and absl::StatusOr.
//
//   MW_RETURN_IF_ERROR(Check(module));
//   MW_ASSIGN_OR_RETURN(const Module module, ReadModule(path));
#ifndef MESHWRIGHT_BASE_STATUS_MACROS_H_
#define MESHWRIGHT_BASE_STATUS_MACROS_H_

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#define MW_RETURN_IF_ERROR(expr)                                              \
  do {                                                                        \
    if (::absl::Status mw_status = (expr); !mw_status.ok()) return mw_status; \
  } while (false)

#define MW_MACRO_CONCAT_INNER(a, b) a##b
#define MW_MACRO_CONCAT(a, b) MW_MACRO_CONCAT_INNER(a, b)

#define MW_ASSIGN_OR_RETURN(lhs, expr) \
  MW_ASSIGN_OR_RETURN_IMPL(MW_MACRO_CONCAT(mw_value_, __LINE__), lhs, expr)

#define MW_ASSIGN_OR_RETURN_IMPL(value, lhs, expr)   \
  auto value = (expr);                               \
  if (!value.ok()) return std::move(value).status(); \
  lhs = *std::move(value)

#endif  // MESHWRIGHT_BASE_STATUS_MACROS_H_
