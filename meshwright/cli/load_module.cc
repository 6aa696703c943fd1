#include "meshwright/cli/load_module.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "meshwright/base/annotate.h"
#include "meshwright/base/file.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/cli/file_kind.h"
#include "meshwright/hlo/compression.h"
#include "meshwright/hlo/host_calls.h"
#include "meshwright/hlo/inline_calls.h"
#include "meshwright/hlo/read_module.h"
#include "meshwright/hlo/verify.h"

namespace meshwright {

absl::StatusOr<Module> LoadModule(const std::string& path) {
  MW_ASSIGN_OR_RETURN(const std::string bytes, ReadFile(path, kMaxModuleBytes));
  absl::StatusOr<Module> module = ReadModule(bytes);
  if (!module.ok()) {
    return ExplainContent(module.status(), path, bytes, FileKind::kModule);
  }
  MW_RETURN_IF_ERROR(Annotate(Verify(*module), path));
  return module;
}

absl::StatusOr<Module> LoadStep(const std::string& path) {
  MW_ASSIGN_OR_RETURN(Module module, LoadModule(path));
  const std::vector<const Instruction*> calls = HostCalls(module);
  if (!calls.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": ", HostCallWords(module, *calls[0]),
                     calls.size() == 1
                         ? ""
                         : absl::StrCat(", and ", calls.size() - 1, " more do"),
                     "; ", HostCallCure(*calls[0])));
  }
  if (!HasCalls(module)) return module;
  return InlineCalls(module);
}

}  // namespace meshwright
