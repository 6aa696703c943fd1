#include "meshwright/cli/load_module.h"

#include "meshwright/base/annotate.h"
#include "meshwright/base/file.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/hlo/compression.h"
#include "meshwright/hlo/inline_calls.h"
#include "meshwright/hlo/read_module.h"
#include "meshwright/hlo/verify.h"

namespace meshwright {

absl::StatusOr<Module> LoadModule(const std::string& path) {
  MW_ASSIGN_OR_RETURN(const std::string bytes, ReadFile(path, kMaxModuleBytes));
  absl::StatusOr<Module> module = ReadModule(bytes);
  if (!module.ok()) return Annotate(module.status(), path);
  MW_RETURN_IF_ERROR(Annotate(Verify(*module), path));
  return module;
}

absl::StatusOr<Module> LoadStep(const std::string& path) {
  MW_ASSIGN_OR_RETURN(Module module, LoadModule(path));
  if (!HasCalls(module)) return module;
  return InlineCalls(module);
}

}  // namespace meshwright
