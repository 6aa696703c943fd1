#include "meshwright/checkpoint/shard_file.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/base/version.h"
#include "meshwright/checkpoint/block_writer.h"
#include "meshwright/checkpoint/crc32c.h"
#include "meshwright/state/safetensors.h"

namespace meshwright {
namespace {

int64_t BytesOf(const TensorInfo& info, const TensorRegion& region) {
  return region.element_count() * HostBytes(info.type);
}

// A contiguous block of an entry: in place, or in `buffer`.
const char* BlockAt(const HostBox& from, const BoxRuns& runs, int64_t begin,
                    int64_t end, std::string& buffer) {
  const int64_t first = runs.FirstAfter(begin);
  const BoxRuns::Run run = runs.at(first);
  if (run.from + run.bytes >= end) {
    return from.data + run.to + (begin - run.from);
  }
  buffer.resize(end - begin);
  runs.ForEach(first, [&](const BoxRuns::Run& part) {
    const int64_t low = std::max(begin, part.from);
    const int64_t high = std::min(end, part.from + part.bytes);
    if (low >= high) return false;
    std::copy_n(from.data + part.to + (low - part.from), high - low,
                buffer.data() + (low - begin));
    return true;
  });
  return buffer.data();
}

absl::StatusOr<std::vector<uint32_t>> WriteRegion(const TensorInfo& info,
                                                  const TensorRegion& region,
                                                  const HostBox& from,
                                                  std::string& buffer,
                                                  BlockWriter& writer) {
  std::vector<uint32_t> crcs;
  const std::vector<int64_t> dimensions = region.dimensions();
  const BoxRuns runs(dimensions,
                     {dimensions, std::vector<int64_t>(dimensions.size(), 0)},
                     from.box, HostBytes(info.type));
  const int64_t bytes = BytesOf(info, region);
  for (int64_t at = 0; at < bytes; at += kCheckpointBlockBytes) {
    const int64_t end = std::min(bytes, at + kCheckpointBlockBytes);
    const char* const block = BlockAt(from, runs, at, end, buffer);
    crcs.push_back(Crc32c(block, end - at));
    MW_RETURN_IF_ERROR(writer.Append(block, end - at));
  }
  return crcs;
}

}  // namespace

std::string ShardFileName(int64_t number) {
  return absl::StrFormat("shard-%05d.safetensors", number);
}

absl::StatusOr<ShardHeader> MakeShardHeader(
    absl::Span<const TensorInfo> tensors, const FilePlan& plan) {
  ShardHeader made;
  std::vector<SafetensorsEntry> entries;
  std::map<std::string, std::string> metadata = {
      {"format", kCheckpointFormat},
      {"version", absl::StrCat(kCheckpointVersion)},
      {"program", std::string(Version())}};
  std::set<std::string> names;
  for (const FilePlan::Entry& entry : plan.entries) {
    const TensorInfo& info = tensors[entry.tensor];
    const bool is_whole = entry.region == TensorRegion::Whole(info.dimensions);
    std::string name =
        is_whole ? info.name : absl::StrCat(info.name, entry.region.ToString());
    // A tensor may have the name of another tensor's part.
    while (!names.insert(name).second) name += "'";
    if (!is_whole) {
      const nlohmann::json part = {{"tensor", info.name},
                                   {"shape", info.dimensions},
                                   {"start", entry.region.start},
                                   {"limit", entry.region.limit}};
      metadata[name] =
          part.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    }
    entries.push_back({.name = std::move(name),
                       .type = info.type,
                       .dimensions = entry.region.dimensions()});
    made.offsets.push_back(made.file_bytes);
    made.file_bytes += BytesOf(info, entry.region);
  }
  MW_ASSIGN_OR_RETURN(made.bytes, SafetensorsHeader(entries, metadata));
  const auto header_bytes = static_cast<int64_t>(made.bytes.size());
  for (int64_t& offset : made.offsets) offset += header_bytes;
  made.file_bytes += header_bytes;
  return made;
}

absl::StatusOr<WrittenFile> WriteShardFile(const std::string& folder,
                                           absl::Span<const TensorInfo> tensors,
                                           const FilePlan& plan,
                                           const FetchRegion& fetch) {
  MW_ASSIGN_OR_RETURN(const ShardHeader header, MakeShardHeader(tensors, plan));
  MW_ASSIGN_OR_RETURN(
      const std::unique_ptr<BlockWriter> writer,
      BlockWriter::Create(absl::StrCat(folder, "/", plan.name)));
  WrittenFile written{
      .bytes = header.file_bytes,
      .header_bytes = static_cast<int64_t>(header.bytes.size()),
      .header_crc = Crc32c(header.bytes.data(), header.bytes.size())};
  MW_RETURN_IF_ERROR(writer->Append(header.bytes.data(), header.bytes.size()));
  std::string buffer;
  for (const FilePlan::Entry& entry : plan.entries) {
    MW_ASSIGN_OR_RETURN(const HostBox from, fetch(entry));
    MW_ASSIGN_OR_RETURN(written.crcs.emplace_back(),
                        WriteRegion(tensors[entry.tensor], entry.region, from,
                                    buffer, *writer));
  }
  MW_RETURN_IF_ERROR(writer->Finish());
  return written;
}

absl::StatusOr<Manifest> MakeManifest(absl::Span<const TensorInfo> tensors,
                                      absl::Span<const FilePlan> files,
                                      absl::Span<const WrittenFile> written) {
  Manifest manifest{.program = std::string(Version())};
  for (const TensorInfo& info : tensors) {
    manifest.tensors.push_back({.info = info});
  }
  for (size_t i = 0; i < files.size(); ++i) {
    const WrittenFile& made = written[i];
    MW_ASSIGN_OR_RETURN(const ShardHeader header,
                        MakeShardHeader(tensors, files[i]));
    if (made.crcs.size() != files[i].entries.size() ||
        made.bytes != header.file_bytes) {
      return absl::InternalError(
          absl::StrCat(files[i].name, ": was not written as planned"));
    }
    manifest.files.push_back({.name = files[i].name,
                              .bytes = made.bytes,
                              .header_bytes = made.header_bytes,
                              .header_crc = made.header_crc});
    for (size_t k = 0; k < made.crcs.size(); ++k) {
      const FilePlan::Entry& entry = files[i].entries[k];
      manifest.tensors[entry.tensor].regions.push_back(
          {.region = entry.region,
           .file = static_cast<int64_t>(i),
           .offset = header.offsets[k],
           .crcs = made.crcs[k]});
    }
  }
  return manifest;
}

}  // namespace meshwright
