#include "meshwright/runtime/compile_cache.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "meshwright/base/cache_folder.h"
#include "meshwright/base/file.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/base/version.h"
#include "meshwright/engine/plugin.h"
#include "meshwright/engine/seen_cores.h"
#include "meshwright/runtime/content_hash.h"

namespace meshwright {
namespace {

namespace fs = std::filesystem;

constexpr absl::string_view kSuffix = ".program";

// The instruction sets of this machine.
std::string Processor() {
  std::ifstream lines("/proc/cpuinfo");
  std::string line;
  while (std::getline(lines, line)) {
    if (absl::StartsWith(line, "flags")) return line;
  }
  return "";
}

// Of plug-ins that tell their builds apart by no version, such as that for
// CPUs.
std::string BuildOf(const Client& client) {
  const absl::StatusOr<PluginFile> file = FindPlugin(client.platform_name());
  if (!file.ok()) return "";
  std::error_code error;
  const auto bytes = fs::file_size(file->path, error);
  const auto written = fs::last_write_time(file->path, error);
  if (error) return "";
  return absl::StrCat(bytes, " ", written.time_since_epoch().count());
}

std::string Text(const OptionValue& value) {
  return std::visit([](const auto& one) { return absl::StrCat(one); }, value);
}

// Removes the least recently used programs first.
void Prune(const std::string& folder, int64_t limit) {
  struct Entry {
    fs::file_time_type used;
    int64_t bytes = 0;
    fs::path path;
  };
  std::vector<Entry> entries;
  int64_t total = 0;
  std::error_code error;
  for (const auto& file : fs::directory_iterator(folder, error)) {
    if (file.path().extension() != std::string(kSuffix)) continue;
    Entry entry{file.last_write_time(error),
                static_cast<int64_t>(file.file_size(error)), file.path()};
    if (error) continue;  // Another process has removed it.
    total += entry.bytes;
    entries.push_back(std::move(entry));
  }
  std::ranges::sort(entries, {}, &Entry::used);
  for (const Entry& entry : entries) {
    if (total <= limit) return;
    fs::remove(entry.path, error);
    total -= entry.bytes;
  }
}

}  // namespace

CompileCache::CompileCache(std::string folder, int64_t limit)
    : folder_(std::move(folder)), limit_(limit), processor_(Processor()) {}

std::string CompileCache::DefaultFolder() {
  const std::string folder = CacheFolder();
  return folder.empty() ? "" : folder + "/programs";
}

std::string CompileCache::PathFor(const Client& client, const Program& program,
                                  const CompileOptions& options) const {
  const char* flags = std::getenv("XLA_FLAGS");
  std::string key = absl::StrCat(
      Version(), "\n", client.platform_name(), "\n", client.platform_version(),
      "\n", BuildOf(client), "\n", client.devices()[0]->kind(), "\n",
      processor_, "\n", flags != nullptr ? flags : "", "\n", program.format,
      "\n", options.num_replicas, " ", options.num_partitions, " ",
      client.devices().size(), " of ", client.all_devices().size(), " from ",
      client.devices()[0]->id(), " ", absl::StrJoin(options.device_ids, ","),
      "\n", CoresToCompileFor(client), " cores");
  for (const auto& [name, value] : options.xla_overrides) {
    absl::StrAppend(&key, "\n", name, "=", Text(value));
  }
  absl::StrAppend(&key, "\n", ContentHash(program.code));
  return absl::StrCat(folder_, "/", ContentHash(key), kSuffix);
}

absl::StatusOr<std::unique_ptr<Executable>> CompileCache::Compile(
    Client& client, const Program& program, const CompileOptions& options) {
  if (folder_.empty()) {
    ++compiled_;
    return client.Compile(program, options);
  }
  const std::string path = PathFor(client, program, options);
  const absl::StatusOr<std::string> file = ReadFile(path);
  if (file.ok() && file->size() > 64 &&
      ContentHash(absl::string_view(*file).substr(64)) == file->substr(0, 64)) {
    auto loaded = client.Load(file->substr(64), options);
    if (loaded.ok()) {
      ++hits_;
      std::error_code error;
      fs::last_write_time(path, fs::file_time_type::clock::now(), error);
      return loaded;
    }
  }
  ++compiled_;
  MW_ASSIGN_OR_RETURN(std::unique_ptr<Executable> compiled,
                      client.Compile(program, options));
  Keep(path, *compiled);
  return compiled;
}

// A program that cannot be stored is compiled again next time.
void CompileCache::Keep(const std::string& path,
                        const Executable& executable) const {
  const absl::StatusOr<std::string> bytes = executable.Serialize();
  if (!bytes.ok()) return;
  std::error_code error;
  fs::create_directories(folder_, error);
  if (error) return;
  if (WriteFileAtomically(path, absl::StrCat(ContentHash(*bytes), *bytes))
          .ok()) {
    Prune(folder_, limit_);
  }
}

}  // namespace meshwright
