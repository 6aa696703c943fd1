// The HLO layer as a program, for tests that compare it with XLA's own:
//
//   hlo_tool print FILE          the module's HLO text
//   hlo_tool roundtrip IN OUT    the module, read and written again
//   hlo_tool verify FILE         nothing, or what is wrong and exit code 1
#include <cstdio>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "meshwright/base/file.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/hlo/print_module.h"
#include "meshwright/hlo/read_module.h"
#include "meshwright/hlo/verify.h"
#include "meshwright/hlo/write_module.h"

namespace meshwright {
namespace {

absl::Status Run(const std::vector<std::string>& arguments) {
  const std::string& command = arguments[0];
  MW_ASSIGN_OR_RETURN(const std::string bytes, ReadFile(arguments[1]));
  MW_ASSIGN_OR_RETURN(const Module module, ReadModule(bytes));
  if (command == "print") {
    const std::string text = ToString(module);
    std::fwrite(text.data(), 1, text.size(), stdout);
    return absl::OkStatus();
  }
  if (command == "verify") return Verify(module);
  MW_ASSIGN_OR_RETURN(const std::string again, WriteModule(module));
  return WriteFileAtomically(arguments[2], again);
}

int Main(const std::vector<std::string>& arguments) {
  const std::string command = arguments.empty() ? "" : arguments[0];
  const bool usable = arguments.size() == 2
                          ? command == "print" || command == "verify"
                          : arguments.size() == 3 && command == "roundtrip";
  if (!usable) {
    std::fputs("usage: hlo_tool print FILE | roundtrip IN OUT | verify FILE\n",
               stderr);
    return 2;
  }
  const absl::Status status = Run(arguments);
  if (status.ok()) return 0;
  std::fprintf(stderr, "%s: %s\n", arguments[1].c_str(),
               std::string(status.message()).c_str());
  return 1;
}

}  // namespace
}  // namespace meshwright

int main(int argc, char** argv) {
  return meshwright::Main(std::vector<std::string>(argv + 1, argv + argc));
}
