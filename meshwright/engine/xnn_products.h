// Products of many matrices that the CPU plug-in passes to XNNPACK.
//
// XLA's CPU compiler multiplies the matrices of a batch one after another, each
// on all threads; matrices of attention are too small for that, and most
// threads wait. XNNPACK divides the whole batch among them. See
// docs/design/0002.
#ifndef MESHWRIGHT_ENGINE_XNN_PRODUCTS_H_
#define MESHWRIGHT_ENGINE_XNN_PRODUCTS_H_

#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace meshwright {

// The serialized module with such a fusion in place of each product of f32
// matrices with batch dimensions that is large enough. Nothing if there is
// none, or if `module` is not a module.
std::optional<std::string> WithXnnProducts(absl::string_view module);

}  // namespace meshwright

#endif  // MESHWRIGHT_ENGINE_XNN_PRODUCTS_H_
