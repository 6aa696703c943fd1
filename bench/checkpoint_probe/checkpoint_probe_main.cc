// Saves a state and restores it otherwise sharded, for bench/checkpoint.py.
//
//   checkpoint_probe FOLDER MIB ROUNDS
//
// A line of JSON per round: seconds of the save and of the restore, what share
// of the files was in memory before the restore, and how much memory each took
// at most beyond what there was before.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/base/stopwatch.h"
#include "meshwright/engine/plugin.h"
#include "meshwright/hlo/read_text.h"
#include "meshwright/mesh/sharding_text.h"
#include "meshwright/runtime/local_runner.h"

namespace meshwright {
namespace {

constexpr int kDevices = 8;
constexpr int64_t kSize = 2048;  // f32[2048,2048]: 16 MiB.

// A step that changes nothing of its tensors, of these dimensions.
absl::StatusOr<Module> Step(int64_t tensors, int64_t rows, int64_t columns) {
  const std::string shape = absl::StrCat("f32[", rows, ",", columns, "]");
  std::string text = "HloModule step, input_output_alias={ ";
  std::string body;
  std::vector<std::string> names;
  std::vector<std::string> shapes;
  for (int64_t i = 0; i < tensors; ++i) {
    absl::StrAppend(&text, i == 0 ? "" : ", ", "{", i, "}: (", i,
                    ", {}, may-alias)");
    absl::StrAppend(&body, "  w", i, " = ", shape, " parameter(", i, ")\n");
    absl::StrAppend(&body, "  n", i, " = ", shape, " negate(w", i, ")\n");
    names.push_back(absl::StrCat("n", i));
    shapes.push_back(shape);
  }
  absl::StrAppend(&text, " }\n\nENTRY main {\n", body, "  ROOT out = (",
                  absl::StrJoin(shapes, ", "), ") tuple(",
                  absl::StrJoin(names, ", "), ")\n}\n");
  return ReadModuleText(text);
}

// Resident memory, now or at most since the last ResetPeak.
int64_t Memory(const std::string& key) {
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);) {
    if (line.rfind(key, 0) == 0) {
      return std::strtoll(line.c_str() + key.size() + 1, nullptr, 10) << 10;
    }
  }
  return 0;
}

void ResetPeak() { std::ofstream("/proc/self/clear_refs") << "5"; }

// Bytes of a file that are in memory.
int64_t CachedBytes(int fd, size_t size) {
  void* const memory = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, fd, 0);
  if (memory == MAP_FAILED) return 0;
  const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  std::vector<unsigned char> pages((size + page - 1) / page);
  ::mincore(memory, size, pages.data());
  ::munmap(memory, size);
  int64_t cached = 0;
  for (const unsigned char one : pages) cached += one & 1;
  return cached * static_cast<int64_t>(page);
}

// So that what follows reads from the disk. Returns the share of the files that
// stays in memory nevertheless.
double DropCache(const std::string& folder) {
  ::sync();  // What is not yet on the disk stays.
  int64_t cached = 0;
  int64_t total = 1;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file() || entry.file_size() == 0) continue;
    const int fd = ::open(entry.path().c_str(), O_RDONLY);
    ::posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    cached += CachedBytes(fd, entry.file_size());
    total += static_cast<int64_t>(entry.file_size());
    ::close(fd);
  }
  return static_cast<double>(cached) / static_cast<double>(total);
}

absl::StatusOr<std::unique_ptr<JobRunner>> Make(const Module& module,
                                                const Module& program,
                                                absl::string_view sharding,
                                                Client* client) {
  MW_ASSIGN_OR_RETURN(const Mesh mesh, Mesh::Parse("a=8"));
  MW_ASSIGN_OR_RETURN(const Sharding split,
                      ParseSharding(sharding, {kSize, kSize}, mesh));
  const std::vector<Sharding> all(module.entry()->Parameters().size(), split);
  return MakeLocalRunner(module, ShardedStep{program, mesh, all, all}, client);
}

absl::Status Run(const std::string& folder, int64_t mib, int64_t rounds) {
  const int64_t tensors = mib / 16;
  MW_ASSIGN_OR_RETURN(const Module module, Step(tensors, kSize, kSize));
  MW_ASSIGN_OR_RETURN(const Module rows,
                      Step(tensors, kSize / kDevices, kSize));
  MW_ASSIGN_OR_RETURN(const Module columns,
                      Step(tensors, kSize, kSize / kDevices));
  MW_ASSIGN_OR_RETURN(const PluginFile file, FindPlugin("cpu"));
  MW_ASSIGN_OR_RETURN(const Plugin* plugin, Plugin::Load(file));
  MW_ASSIGN_OR_RETURN(const auto client,
                      plugin->CreateClient({.cpu_devices = kDevices}));
  MW_ASSIGN_OR_RETURN(const auto from,
                      Make(module, rows, "[a, -]", client.get()));
  MW_RETURN_IF_ERROR(from->FillSynthetic(0));
  for (int64_t round = 0; round < rounds; ++round) {
    std::filesystem::remove_all(folder);
    int64_t before = Memory("VmRSS:");
    ResetPeak();
    const Stopwatch save;
    MW_RETURN_IF_ERROR(from->Save({.directory = folder, .step = 1}));
    const double save_seconds = save.seconds();
    const int64_t save_bytes = Memory("VmHWM:") - before;
    const double cached = DropCache(folder);
    MW_ASSIGN_OR_RETURN(const auto to,
                        Make(module, columns, "[-, a]", client.get()));
    before = Memory("VmRSS:");
    ResetPeak();
    const Stopwatch restore;
    MW_RETURN_IF_ERROR(to->Restore(folder).status());
    const double restore_seconds = restore.seconds();
    const int64_t restore_bytes =
        Memory("VmHWM:") - before - tensors * (int64_t{16} << 20);
    const Stopwatch again;
    MW_RETURN_IF_ERROR(to->Restore(folder).status());
    absl::PrintF(
        "{\"save\": %.4f, \"restore\": %.4f, \"restore_cached\": %.4f, "
        "\"cached\": %.4f, \"save_bytes\": %d, \"restore_bytes\": %d}\n",
        save_seconds, restore_seconds, again.seconds(), cached, save_bytes,
        restore_bytes);
    std::fflush(stdout);
  }
  std::filesystem::remove_all(folder);
  return absl::OkStatus();
}

}  // namespace
}  // namespace meshwright

int main(int argc, char** argv) {
  int64_t mib = 0;
  int64_t rounds = 0;
  if (argc != 4 || !absl::SimpleAtoi(argv[2], &mib) ||
      !absl::SimpleAtoi(argv[3], &rounds)) {
    std::fprintf(stderr, "usage: checkpoint_probe FOLDER MIB ROUNDS\n");
    return 2;
  }
  const absl::Status status = meshwright::Run(argv[1], mib, rounds);
  if (!status.ok()) {
    absl::FPrintF(stderr, "checkpoint_probe: %s\n", status.ToString());
    return 1;
  }
  return 0;
}
