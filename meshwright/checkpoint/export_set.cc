#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "meshwright/base/annotate.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/checkpoint/block_writer.h"
#include "meshwright/checkpoint/safetensors_set.h"
#include "meshwright/state/safetensors.h"

namespace meshwright {
namespace {

using Json = nlohmann::ordered_json;

constexpr char kIndexName[] = "model.safetensors.index.json";

struct Chosen {
  const SavedTensor* saved = nullptr;
  std::string name;
};

absl::StatusOr<std::vector<Chosen>> Choose(const Manifest& manifest,
                                           const ExportOptions& options) {
  std::vector<Chosen> chosen;
  for (const SavedTensor& saved : manifest.tensors) {
    std::string name = saved.info.name;
    if (!absl::StartsWith(name, options.prefix)) continue;
    if (options.strip) name = name.substr(options.prefix.size());
    if (!IsSafetensorsType(saved.info.type)) {
      return absl::InvalidArgumentError(
          absl::StrCat(saved.info.name, ": safetensors has no type ",
                       Name(saved.info.type)));
    }
    chosen.push_back({&saved, std::move(name)});
  }
  if (chosen.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("no tensor's name begins with \"", options.prefix, "\""));
  }
  return chosen;
}

// Divides tensors into files of at most this many bytes.
std::vector<std::vector<Chosen>> Divide(std::vector<Chosen> chosen,
                                        int64_t max_bytes) {
  std::vector<std::vector<Chosen>> files;
  int64_t bytes = 0;
  for (Chosen& one : chosen) {
    const int64_t more = one.saved->info.bytes();
    if (files.empty() || (bytes > 0 && bytes + more > max_bytes)) {
      files.emplace_back();
      bytes = 0;
    }
    bytes += more;
    files.back().push_back(std::move(one));
  }
  for (std::vector<Chosen>& file : files) {
    // Wide elements first, so that all are aligned.
    std::ranges::stable_sort(file, std::greater(), [](const Chosen& one) {
      return HostBytes(one.saved->info.type);
    });
  }
  return files;
}

absl::Status WriteFile(const std::string& path,
                       const std::vector<Chosen>& tensors,
                       CheckpointReader& reader, BlockWriter& writer) {
  std::vector<SafetensorsEntry> entries;
  for (const Chosen& one : tensors) {
    entries.push_back({.name = one.name,
                       .type = one.saved->info.type,
                       .dimensions = one.saved->info.dimensions});
  }
  const absl::StatusOr<std::string> header =
      SafetensorsHeader(entries, {{"format", "pt"}});
  if (!header.ok()) return Annotate(header.status(), path);
  MW_RETURN_IF_ERROR(writer.Append(header->data(), header->size()));
  for (const Chosen& one : tensors) {
    MW_ASSIGN_OR_RETURN(const Tensor tensor, reader.ReadTensor(*one.saved));
    MW_RETURN_IF_ERROR(writer.Append(tensor.data.data(), tensor.data.size()));
  }
  return writer.Finish();
}

// New files, which are removed unless all are complete.
class NewFiles {
 public:
  ~NewFiles() {
    for (const std::string& path : paths_) ::unlink(path.c_str());
  }
  absl::StatusOr<std::unique_ptr<BlockWriter>> Create(const std::string& path) {
    MW_ASSIGN_OR_RETURN(std::unique_ptr<BlockWriter> writer,
                        BlockWriter::Create(path));
    paths_.push_back(path);
    return writer;
  }
  void Keep() { paths_.clear(); }

 private:
  std::vector<std::string> paths_;
};

}  // namespace

absl::StatusOr<ExportedSet> ExportSet(CheckpointReader& reader,
                                      const ExportOptions& options) {
  absl::StatusOr<std::vector<Chosen>> chosen =
      Choose(reader.manifest(), options);
  if (!chosen.ok()) return Annotate(chosen.status(), reader.folder());
  const auto files = Divide(*std::move(chosen), options.max_file_bytes);
  std::error_code error;
  std::filesystem::create_directories(options.output, error);
  if (error) return absl::ErrnoToStatus(error.value(), options.output);
  ExportedSet set;
  Json places = Json::object();
  NewFiles made;
  for (size_t i = 0; i < files.size(); ++i) {
    const std::string name =
        files.size() == 1 ? std::string("model.safetensors")
                          : absl::StrFormat("model-%05d-of-%05d.safetensors",
                                            i + 1, files.size());
    const std::string path = absl::StrCat(options.output, "/", name);
    MW_ASSIGN_OR_RETURN(const auto writer, made.Create(path));
    MW_RETURN_IF_ERROR(WriteFile(path, files[i], reader, *writer));
    set.files.push_back(name);
    for (const Chosen& one : files[i]) {
      places[one.name] = name;
      set.bytes += one.saved->info.bytes();
      ++set.tensors;
    }
  }
  const Json index = {{"metadata", {{"total_size", set.bytes}}},
                      {"weight_map", std::move(places)}};
  const std::string text = index.dump(2) + "\n";
  MW_ASSIGN_OR_RETURN(const auto writer, made.Create(absl::StrCat(
                                             options.output, "/", kIndexName)));
  MW_RETURN_IF_ERROR(writer->Append(text.data(), text.size()));
  MW_RETURN_IF_ERROR(writer->Finish());
  made.Keep();
  return set;
}

}  // namespace meshwright
