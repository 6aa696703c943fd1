#include "meshwright/cli/ffi_flag.h"

#include "meshwright/base/annotate.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/engine/ffi_library.h"

namespace meshwright {

FlagSpec FfiFlag() {
  return {"ffi", "LIBRARY:TARGET=SYMBOL",
          "a shared library with XLA FFI handlers of custom calls, by target: "
          "kernels.so:norm=RmsNorm,norm_grad; without SYMBOL it is TARGET"};
}

absl::Status LoadFfiLibraries(const CommandLine& line) {
  for (const std::string& text : line.All("ffi")) {
    MW_RETURN_IF_ERROR(Annotate(LoadFfiLibrary(text), "--ffi"));
  }
  return absl::OkStatus();
}

std::vector<std::string> FfiWords(const CommandLine& line) {
  std::vector<std::string> words;
  for (const std::string& text : line.All("ffi")) {
    words.push_back("--ffi");
    words.push_back(text);
  }
  return words;
}

}  // namespace meshwright
