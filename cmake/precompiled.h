// What most of our files include, parsed once (MW_PRECOMPILE). Files still name
// all that they use: tools/check_includes.py compiles them without.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <ranges>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

// Ours that nearly every folder includes; a change there rebuilds it anyway.
#include "meshwright/base/status_macros.h"
#include "meshwright/hlo/module.h"
#include "meshwright/mesh/sharding.h"
#include "meshwright/rules/rule.h"
