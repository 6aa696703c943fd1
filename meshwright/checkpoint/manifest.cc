#include "meshwright/checkpoint/manifest.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "meshwright/base/annotate.h"
#include "meshwright/base/bad.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/base/version.h"
#include "meshwright/checkpoint/crc32c.h"
#include "meshwright/state/tensor.h"

namespace meshwright {
namespace {

using Json = nlohmann::ordered_json;

// The end of the text: the checksum covers what precedes it.
constexpr absl::string_view kTail = ",\"crc32c\":\"";
constexpr size_t kTailBytes = kTail.size() + 8 + 3;  // 01234567"}\n
constexpr int kMaxDepth = 64;
constexpr size_t kMaxRegions = 65536;  // Of a tensor.
constexpr int64_t kMaxBlockBytes = int64_t{1} << 30;

std::string Shown(absl::string_view name) {
  return absl::Utf8SafeCHexEscape(name.substr(0, 200));
}

std::string HexText(absl::Span<const uint32_t> values) {
  std::string text;
  for (const uint32_t value : values)
    absl::StrAppendFormat(&text, "%08x", value);
  return text;
}

absl::StatusOr<std::vector<uint32_t>> ParseHex(absl::string_view text) {
  std::vector<uint32_t> values;
  if (text.size() % 8 != 0) return Bad("crc32c is no list of checksums");
  for (; !text.empty(); text.remove_prefix(8)) {
    uint32_t value = 0;
    if (!absl::SimpleHexAtoi(text.substr(0, 8), &value) ||
        HexText({value}) != text.substr(0, 8)) {
      return Bad("crc32c is no list of checksums");
    }
    values.push_back(value);
  }
  return values;
}

// The fields of an object, each checked for its type.
class Fields {
 public:
  explicit Fields(const Json& json) : json_(json) {}

  absl::StatusOr<std::string> Text(const char* key) const {
    const auto found = Find(key);
    if (found == nullptr || !found->is_string()) return No(key, "text");
    return found->get<std::string>();
  }
  absl::StatusOr<int64_t> Count(const char* key) const {
    const auto found = Find(key);
    if (found == nullptr || !IsCount(*found)) return No(key, "whole number");
    return found->get<int64_t>();
  }
  absl::StatusOr<std::vector<int64_t>> Counts(const char* key) const {
    const auto found = Find(key);
    if (found == nullptr || !found->is_array()) return No(key, "list");
    std::vector<int64_t> counts;
    for (const Json& value : *found) {
      if (!IsCount(value)) return No(key, "list of whole numbers");
      counts.push_back(value.get<int64_t>());
    }
    return counts;
  }
  absl::StatusOr<const Json*> List(const char* key) const {
    const auto found = Find(key);
    if (found == nullptr || !found->is_array()) return No(key, "list");
    return found;
  }
  const Json* Find(const char* key) const {
    if (!json_.is_object()) return nullptr;
    const auto found = json_.find(key);
    return found == json_.end() ? nullptr : &*found;
  }

 private:
  static bool IsCount(const Json& value) {
    return value.is_number_unsigned() &&
           value.get<uint64_t>() <= static_cast<uint64_t>(INT64_MAX);
  }
  static absl::Status No(const char* key, absl::string_view kind) {
    return Bad(absl::StrCat("has no ", kind, " \"", key, "\""));
  }

  const Json& json_;
};

Json ToJson(const SavedTensor& tensor) {
  Json regions = Json::array();
  for (const SavedRegion& region : tensor.regions) {
    regions.push_back({{"file", region.file},
                       {"offset", region.offset},
                       {"start", region.region.start},
                       {"limit", region.region.limit},
                       {"crc32c", HexText(region.crcs)}});
  }
  return {{"name", tensor.info.name},
          {"dtype", std::string(Name(tensor.info.type))},
          {"shape", tensor.info.dimensions},
          {"regions", std::move(regions)}};
}

absl::StatusOr<SavedFile> ReadSavedFile(const Json& json) {
  const Fields fields(json);
  SavedFile file;
  MW_ASSIGN_OR_RETURN(file.name, fields.Text("name"));
  MW_ASSIGN_OR_RETURN(file.bytes, fields.Count("bytes"));
  MW_ASSIGN_OR_RETURN(file.header_bytes, fields.Count("header_bytes"));
  MW_ASSIGN_OR_RETURN(const std::string crc, fields.Text("header_crc32c"));
  MW_ASSIGN_OR_RETURN(const std::vector<uint32_t> crcs, ParseHex(crc));
  if (crcs.size() != 1) return Bad("has no checksum of its header");
  file.header_crc = crcs[0];
  if (file.name.empty() || file.name == "." || file.name == ".." ||
      file.name.find('/') != std::string::npos ||
      file.name.find('\0') != std::string::npos) {
    return Bad(absl::StrCat("\"", Shown(file.name), "\" is no file name"));
  }
  if (file.header_bytes > file.bytes) return Bad("is shorter than its header");
  return file;
}

absl::Status CheckPlace(const SavedRegion& saved, const TensorInfo& info,
                        const Manifest& manifest) {
  const TensorRegion& region = saved.region;
  const size_t rank = info.dimensions.size();
  if (region.start.size() != rank || region.limit.size() != rank) {
    return Bad("has a region of another rank");
  }
  for (size_t d = 0; d < rank; ++d) {
    if (region.start[d] >= region.limit[d] ||
        region.limit[d] > info.dimensions[d]) {
      return Bad(absl::StrCat("has no region ", region.ToString()));
    }
  }
  if (saved.file >= std::ssize(manifest.files)) {
    return Bad(
        absl::StrCat("names file ", saved.file, " of ", manifest.files.size()));
  }
  const SavedFile& file = manifest.files[saved.file];
  const int64_t bytes = region.element_count() * HostBytes(info.type);
  if (saved.offset < file.header_bytes || saved.offset > file.bytes ||
      bytes > file.bytes - saved.offset) {
    return Bad(absl::StrCat("region ", region.ToString(), " is outside ",
                            Shown(file.name)));
  }
  if (std::ssize(saved.crcs) != BlockCount(bytes, manifest.block_bytes)) {
    return Bad(absl::StrCat("region ", region.ToString(), " has ",
                            saved.crcs.size(), " checksums"));
  }
  return absl::OkStatus();
}

absl::StatusOr<SavedTensor> ReadSavedTensor(const Json& json,
                                            const Manifest& manifest) {
  const Fields fields(json);
  SavedTensor tensor;
  TensorInfo& info = tensor.info;
  MW_ASSIGN_OR_RETURN(const std::string dtype, fields.Text("dtype"));
  const std::optional<ElementType> type = ParseElementType(dtype);
  if (!type.has_value() || !IsArrayType(*type)) {
    return Bad(absl::StrCat("dtype ", Shown(dtype), " is not known"));
  }
  info.type = *type;
  MW_ASSIGN_OR_RETURN(info.dimensions, fields.Counts("shape"));
  if (!CheckedBytes(info.dimensions, HostBytes(info.type)).has_value()) {
    return Bad("its shape overflows");
  }
  MW_ASSIGN_OR_RETURN(const Json* regions, fields.List("regions"));
  if (regions->size() > kMaxRegions) {
    return Bad(absl::StrCat("has more than ", kMaxRegions, " regions"));
  }
  for (const Json& one : *regions) {
    const Fields part(one);
    SavedRegion& region = tensor.regions.emplace_back();
    MW_ASSIGN_OR_RETURN(region.file, part.Count("file"));
    MW_ASSIGN_OR_RETURN(region.offset, part.Count("offset"));
    MW_ASSIGN_OR_RETURN(region.region.start, part.Counts("start"));
    MW_ASSIGN_OR_RETURN(region.region.limit, part.Counts("limit"));
    MW_ASSIGN_OR_RETURN(const std::string crcs, part.Text("crc32c"));
    MW_ASSIGN_OR_RETURN(region.crcs, ParseHex(crcs));
    MW_RETURN_IF_ERROR(CheckPlace(region, info, manifest));
  }
  MW_RETURN_IF_ERROR(CheckCover(tensor));
  return tensor;
}

// The object, if the text is complete.
absl::StatusOr<Json> ReadObject(absl::string_view text) {
  // The name of the format is checked first: files in other formats are not
  // reported as damaged.
  if (text.substr(0, 200).find(kCheckpointFormat) == absl::string_view::npos) {
    return Bad("is no manifest of a meshwright checkpoint, or is cut short");
  }
  const bool has_tail =
      text.size() > kTailBytes &&
      text.substr(text.size() - kTailBytes, kTail.size()) == kTail &&
      text.substr(text.size() - 3) == "\"}\n";
  if (!has_tail) return Bad("is cut short");
  const absl::string_view covered = text.substr(0, text.size() - kTailBytes);
  MW_ASSIGN_OR_RETURN(const std::vector<uint32_t> crc,
                      ParseHex(text.substr(covered.size() + kTail.size(), 8)));
  if (crc[0] != Crc32c(covered.data(), covered.size())) {
    return Bad("is damaged: its checksum is another");
  }
  bool is_deep = false;
  const auto watch = [&](int depth, Json::parse_event_t, Json&) {
    is_deep |= depth > kMaxDepth;
    return depth <= kMaxDepth;
  };
  Json json = Json::parse(text.begin(), text.end(), watch,
                          /*allow_exceptions=*/false);
  if (is_deep || !json.is_object()) return Bad("is no JSON object");
  return json;
}

}  // namespace

int64_t TensorInfo::bytes() const {
  return CheckedBytes(dimensions, HostBytes(type)).value_or(0);
}

std::string TensorInfo::ShapeText() const {
  return absl::StrCat(Name(type), "[", absl::StrJoin(dimensions, ","), "]");
}

const SavedTensor* Manifest::Find(absl::string_view name) const {
  const auto found = std::ranges::find_if(
      tensors, [&](const SavedTensor& one) { return one.info.name == name; });
  return found == tensors.end() ? nullptr : &*found;
}

int64_t Manifest::bytes() const {
  int64_t total = 0;
  for (const SavedTensor& tensor : tensors) total += tensor.info.bytes();
  return total;
}

absl::Status CheckCover(const SavedTensor& tensor) {
  // The regions must be disjoint and have together as many elements as the
  // tensor.
  std::vector<const TensorRegion*> regions;
  int64_t left =
      CheckedBytes(tensor.info.dimensions, /*element_bytes=*/1).value_or(0);
  for (const SavedRegion& saved : tensor.regions) {
    regions.push_back(&saved.region);
    left -= saved.region.element_count();
    if (left < 0) break;
  }
  const auto first_of = [](const TensorRegion* region) {
    return region->start.empty() ? 0 : region->start[0];
  };
  std::ranges::sort(regions, {}, first_of);
  for (size_t i = 0; i < regions.size(); ++i) {
    const TensorRegion& region = *regions[i];
    const int64_t limit = region.limit.empty() ? 1 : region.limit[0];
    for (size_t k = i + 1; k < regions.size() && first_of(regions[k]) < limit;
         ++k) {
      if (Intersect(region, *regions[k]).has_value()) {
        return Bad(absl::StrCat("regions ", region.ToString(), " and ",
                                regions[k]->ToString(), " overlap"));
      }
    }
  }
  if (left == 0) return absl::OkStatus();
  return Bad(absl::StrCat("its regions leave out ", left, " elements"));
}

absl::StatusOr<std::string> WriteManifest(const Manifest& manifest) {
  Json json = {{"format", kCheckpointFormat},
               {"version", kCheckpointVersion},
               {"program", manifest.program},
               {"step", manifest.step},
               {"block_bytes", manifest.block_bytes},
               {"files", Json::array()},
               {"tensors", Json::array()}};
  for (const SavedFile& file : manifest.files) {
    json["files"].push_back({{"name", file.name},
                             {"bytes", file.bytes},
                             {"header_bytes", file.header_bytes},
                             {"header_crc32c", HexText({file.header_crc})}});
  }
  for (const SavedTensor& tensor : manifest.tensors) {
    json["tensors"].push_back(ToJson(tensor));
  }
  Json extra = Json::parse(manifest.extra, nullptr, /*allow_exceptions=*/false);
  if (!extra.is_object()) return Bad("what goes with it is no JSON object");
  json["extra"] = std::move(extra);
  std::string text;
  try {
    text = json.dump();
  } catch (const Json::exception&) {
    return Bad("a tensor's name is not UTF-8");
  }
  text.pop_back();
  const uint32_t crc = Crc32c(text.data(), text.size());
  absl::StrAppend(&text, kTail, HexText({crc}), "\"}\n");
  return text;
}

absl::StatusOr<Manifest> ParseManifest(absl::string_view text) {
  MW_ASSIGN_OR_RETURN(const Json json, ReadObject(text));
  const Fields fields(json);
  MW_ASSIGN_OR_RETURN(const std::string format, fields.Text("format"));
  if (format != kCheckpointFormat) {
    return Bad("is no manifest of a meshwright checkpoint");
  }
  MW_ASSIGN_OR_RETURN(const int64_t version, fields.Count("version"));
  Manifest manifest;
  MW_ASSIGN_OR_RETURN(manifest.program, fields.Text("program"));
  if (version != kCheckpointVersion) {
    return Bad(absl::StrCat("is of format version ", version,
                            ", written by meshwright ", Shown(manifest.program),
                            "; meshwright ", Version(), " reads version ",
                            kCheckpointVersion));
  }
  MW_ASSIGN_OR_RETURN(manifest.step, fields.Count("step"));
  MW_ASSIGN_OR_RETURN(manifest.block_bytes, fields.Count("block_bytes"));
  if (manifest.block_bytes < 1 || manifest.block_bytes > kMaxBlockBytes) {
    return Bad("has blocks of an odd size");
  }
  MW_ASSIGN_OR_RETURN(const Json* files, fields.List("files"));
  for (const Json& one : *files) {
    absl::StatusOr<SavedFile> file = ReadSavedFile(one);
    if (!file.ok()) {
      return Annotate(file.status(),
                      absl::StrCat("file ", manifest.files.size()));
    }
    manifest.files.push_back(*std::move(file));
  }
  MW_ASSIGN_OR_RETURN(const Json* tensors, fields.List("tensors"));
  std::set<std::string> names;
  for (const Json& one : *tensors) {
    MW_ASSIGN_OR_RETURN(std::string name, Fields(one).Text("name"));
    absl::StatusOr<SavedTensor> tensor = ReadSavedTensor(one, manifest);
    if (!tensor.ok()) return Annotate(tensor.status(), Shown(name));
    if (!names.insert(name).second) {
      return Bad(absl::StrCat(Shown(name), ": is there twice"));
    }
    tensor->info.name = std::move(name);
    manifest.tensors.push_back(*std::move(tensor));
  }
  const Json* extra = fields.Find("extra");
  if (extra == nullptr || !extra->is_object()) return Bad("has no \"extra\"");
  manifest.extra = extra->dump();
  return manifest;
}

}  // namespace meshwright
