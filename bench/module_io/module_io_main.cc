// module_io FILE ROUNDS: times reading, verifying and writing a module.
//
// Prints one JSON object: the file's bytes, the instructions, the seconds of
// each round, and the peak memory of the process.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "meshwright/base/file.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/base/stopwatch.h"
#include "meshwright/hlo/print_module.h"
#include "meshwright/hlo/read_module.h"
#include "meshwright/hlo/verify.h"
#include "meshwright/hlo/write_module.h"

namespace meshwright {
namespace {

struct Seconds {
  std::vector<double> read;  // The file, and into the IR.
  std::vector<double> verify;
  std::vector<double> write;
  std::vector<double> print;
};

// Not getrusage: that counts what the parent had before exec.
int64_t PeakBytes() {
  std::ifstream status("/proc/self/status");
  std::string word;
  int64_t kibibytes = 0;
  while (status >> word) {
    if (word == "VmHWM:") status >> kibibytes;
  }
  return kibibytes * 1024;
}

absl::Status Measure(const std::string& path, int rounds) {
  Seconds seconds;
  int64_t instructions = 0;
  int64_t file_bytes = 0;
  int64_t peak_bytes = 0;
  for (int round = 0; round < rounds; ++round) {
    const Stopwatch read_time;
    MW_ASSIGN_OR_RETURN(const std::string bytes, ReadFile(path));
    MW_ASSIGN_OR_RETURN(const Module module, ReadModule(bytes));
    seconds.read.push_back(read_time.seconds());
    const Stopwatch verify_time;
    MW_RETURN_IF_ERROR(Verify(module));
    seconds.verify.push_back(verify_time.seconds());
    const Stopwatch write_time;
    MW_ASSIGN_OR_RETURN(const std::string written, WriteModule(module));
    seconds.write.push_back(write_time.seconds());
    if (round == 0) peak_bytes = PeakBytes();
    const Stopwatch print_time;
    if (ToString(module).empty()) return absl::InternalError("no text");
    seconds.print.push_back(print_time.seconds());
    instructions = module.instruction_count();
    file_bytes = std::ssize(bytes);
  }
  const auto list = [](const std::vector<double>& values) {
    return absl::StrCat("[", absl::StrJoin(values, ", "), "]");
  };
  absl::PrintF(
      "{\"file_bytes\": %d, \"instructions\": %d, \"peak_bytes\": %d, "
      "\"read\": %s, \"verify\": %s, \"write\": %s, \"print\": %s}\n",
      file_bytes, instructions, peak_bytes, list(seconds.read),
      list(seconds.verify), list(seconds.write), list(seconds.print));
  return absl::OkStatus();
}

}  // namespace
}  // namespace meshwright

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: module_io FILE ROUNDS\n");
    return 2;
  }
  const absl::Status status = meshwright::Measure(argv[1], std::atoi(argv[2]));
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
