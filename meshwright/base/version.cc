#include "meshwright/base/version.h"

namespace meshwright {

absl::string_view Version() { return MW_VERSION; }

}  // namespace meshwright
