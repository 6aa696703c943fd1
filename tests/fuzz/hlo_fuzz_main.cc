// hlo_fuzz --count N --seed S FILE...: reads mutated modules.
//
// Each of N inputs is one of the files with one to three mutations. It is read
// and verified, and one in four is also printed, written and analysed; nothing
// may crash, hang or use memory out of proportion. On a crash, the iteration is
// printed: the same seed and `--only I` run it alone.
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "meshwright/analysis/flops.h"
#include "meshwright/analysis/index_range.h"
#include "meshwright/analysis/roles.h"
#include "meshwright/analysis/segments.h"
#include "meshwright/analysis/sign.h"
#include "meshwright/analysis/summary.h"
#include "meshwright/base/check.h"
#include "meshwright/cost/program_memory.h"
#include "meshwright/hlo/compression.h"
#include "meshwright/hlo/print_module.h"
#include "meshwright/hlo/read_module.h"
#include "meshwright/hlo/read_text.h"
#include "meshwright/hlo/verify.h"
#include "meshwright/hlo/write_module.h"
#include "tests/fuzz/wire_mutator.h"

// A hostile size must be refused before memory is asked for.
extern "C" const char* __asan_default_options() {
  return "max_allocation_size_mb=1024:allocator_may_return_null=0";
}

namespace meshwright {
namespace {

constexpr unsigned kSecondsPerInput = 20;

std::atomic<int64_t> current_iteration = -1;
uint64_t current_seed = 0;

void OnFatalSignal(int signal) {
  char line[160];
  const int size = std::snprintf(
      line, sizeof(line),
      "\nhlo_fuzz: signal %d%s; again with --seed %llu --only %lld\n", signal,
      signal == SIGALRM ? " (too slow)" : "",
      static_cast<unsigned long long>(current_seed),
      static_cast<long long>(current_iteration.load()));
  if (write(STDERR_FILENO, line, size) < 0) std::_Exit(4);
  std::_Exit(3);
}

struct Outcome {
  int64_t read = 0;
  int64_t verified = 0;
};

// Reads and verifies; `thorough` also does the rest, which takes most time.
void Exercise(const std::string& bytes, bool thorough, Outcome* outcome) {
  const auto module = ReadModule(bytes);
  if (!module.ok()) {
    MW_CHECK(module.status().code() == absl::StatusCode::kInvalidArgument)
        << module.status();
    return;
  }
  ++outcome->read;
  const std::string text = thorough ? ToString(*module) : "";
  const absl::Status verified = Verify(*module);
  if (!verified.ok()) {
    MW_CHECK(verified.code() == absl::StatusCode::kInvalidArgument) << verified;
    return;
  }
  ++outcome->verified;
  if (!thorough) return;
  const auto written = WriteModule(*module);
  MW_CHECK(written.ok()) << written.status();
  const auto again = ReadModule(*written);
  MW_CHECK(again.ok()) << again.status();
  const absl::Status still_verified = Verify(*again);
  MW_CHECK(still_verified.ok()) << still_verified;
  MW_CHECK(ToString(*again) == text);
  const ModuleRoles roles = AnalyzeRoles(*module);
  const ModuleWork work(*module);
  Summarize(*module, roles);
  FindSegments(*module, work);
  IndexBounds(*module);
  for (const bool cpu : {false, true}) {
    const FusionStyle style = FusionStyleFor(cpu);
    EstimateMemory(*module, KernelsOf(*module, work, style), style);
  }
  NonNegativeParameters(*module);
}

std::string Mutate(const std::vector<std::string>& files,
                   std::mt19937_64* random) {
  std::string bytes = files[(*random)() % files.size()];
  const uint64_t rounds = 1 + (*random)() % 5 / 2;
  const bool structured = (*random)() % 8 != 0 && !IsModuleText(bytes);
  for (uint64_t round = 0; round < rounds; ++round) {
    bytes = structured ? MutateWire(bytes, random) : MutateBytes(bytes, random);
  }
  if ((*random)() % 64 == 0) {
    bytes =
        MutateBytes(Compress(bytes, (*random)() % 2 == 0 ? Compression::kGzip
                                                         : Compression::kZstd),
                    random);
  }
  return bytes;
}

std::string ReadPlain(const char* path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream stream;
  stream << file.rdbuf();
  const std::string bytes = stream.str();
  if (DetectCompression(bytes) == Compression::kNone) return bytes;
  return Decompress(bytes).value();
}

// Text also as the protobuf of the same module.
void AddFile(const char* path, std::vector<std::string>* files) {
  files->push_back(ReadPlain(path));
  if (!IsModuleText(files->back())) return;
  const auto module = ReadModule(files->back());
  MW_CHECK(module.ok()) << path << ": " << module.status();
  files->push_back(WriteModule(*module).value());
}

int Main(int argc, char** argv) {
  int64_t count = 1000;
  int64_t only = -1;
  std::vector<std::string> files;
  for (int i = 1; i < argc; ++i) {
    const bool has_value = i + 1 < argc;
    if (std::strcmp(argv[i], "--count") == 0 && has_value) {
      count = std::atoll(argv[++i]);
    } else if (std::strcmp(argv[i], "--seed") == 0 && has_value) {
      current_seed = std::strtoull(argv[++i], nullptr, 10);
    } else if (std::strcmp(argv[i], "--only") == 0 && has_value) {
      only = std::atoll(argv[++i]);
    } else {
      AddFile(argv[i], &files);
    }
  }
  if (files.empty()) {
    std::fprintf(stderr, "usage: hlo_fuzz --count N --seed S FILE...\n");
    return 2;
  }
  for (const int number : {SIGABRT, SIGALRM}) signal(number, OnFatalSignal);
  Outcome outcome;
  for (int64_t i = only < 0 ? 0 : only; i < (only < 0 ? count : only + 1);
       ++i) {
    current_iteration = i;
    alarm(kSecondsPerInput);
    std::mt19937_64 random(current_seed * 0x9e3779b97f4a7c15 +
                           static_cast<uint64_t>(i));
    Exercise(Mutate(files, &random), i % 4 == 0, &outcome);
  }
  alarm(0);
  std::printf("%lld inputs, %lld read, %lld verified, no finding\n",
              static_cast<long long>(count),
              static_cast<long long>(outcome.read),
              static_cast<long long>(outcome.verified));
  return 0;
}

}  // namespace
}  // namespace meshwright

int main(int argc, char** argv) { return meshwright::Main(argc, argv); }
