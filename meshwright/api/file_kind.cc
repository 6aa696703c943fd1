#include "meshwright/api/file_kind.h"

#include <algorithm>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "meshwright/base/annotate.h"
#include "meshwright/hlo/compression.h"
#include "meshwright/hlo/read_module.h"
#include "meshwright/hlo/read_text.h"

namespace meshwright {
namespace {

using Json = nlohmann::ordered_json;
using Form = FileContent::Form;

// Of an object of no known kind, so many keys are named.
constexpr size_t kMostKeys = 4;

const char* WantedWords(FileKind kind) {
  switch (kind) {
    case FileKind::kModule:
      return "an HLO module (meshwright.lower(...).save(FILE) writes one)";
    case FileKind::kPlan:
      return "a plan (meshwright plan -o FILE writes one)";
    case FileKind::kCluster:
      return "a cluster file (docs/formats.md shows one)";
    case FileKind::kSharding:
      return "a sharding file (docs/formats.md shows one)";
    case FileKind::kStages:
      return "a stage file (docs/formats.md shows one)";
    case FileKind::kTimetable:
      return "a timetable (CSV, a line per device; meshwright simulate --csv "
             "FILE writes one)";
    case FileKind::kTensors:
      return "a file of tensors (.safetensors, .npz or .npy)";
    case FileKind::kDataset:
      return "a dataset (docs/formats.md shows one)";
    case FileKind::kDatabase:
      return "a database of rates (meshwright profile --calibrate makes one)";
    case FileKind::kProblem:
      return "an IOPDDL problem (JSON)";
    case FileKind::kOther:
      break;
  }
  return "what is needed";
}

// Of a plan; `plan --json` lists its layouts without them.
bool HasStrategies(const Json& json) {
  const auto layouts = json.find("layouts");
  return layouts != json.end() && layouts->is_array() && !layouts->empty() &&
         layouts->front().contains("strategies");
}

FileContent ContentOfJson(const Json& json) {
  const auto has = [&](const char* key) { return json.contains(key); };
  if (!json.is_object()) {
    return {FileKind::kOther, "JSON, but not an object", Form::kJson};
  }
  // Those of formats before 4 have strategies without layouts.
  if (has("fingerprint") && (has("strategies") || HasStrategies(json))) {
    return {FileKind::kPlan, "a plan"};
  }
  if (has("fingerprint")) {
    return {FileKind::kOther,
            "what `plan --json` prints, without the strategies"};
  }
  if (has("opcodes")) return {FileKind::kOther, "what `inspect --json` prints"};
  if (has("traceEvents")) return {FileKind::kOther, "a trace for Perfetto"};
  if (has("hosts") || has("master")) {
    return {FileKind::kCluster, "a cluster file"};
  }
  if (has("kind") && has("files")) return {FileKind::kDataset, "a dataset"};
  if (has("problem")) return {FileKind::kProblem, "an IOPDDL problem"};
  if (has("stages")) return {FileKind::kStages, "a stage file"};
  if (has("parameters") || has("outputs") || has("instructions") ||
      has("mesh")) {
    return {FileKind::kSharding, "a sharding file"};
  }
  std::vector<std::string> keys;
  for (const auto& [key, value] : json.items()) {
    if (keys.size() == kMostKeys) {
      keys.emplace_back("...");
      break;
    }
    keys.push_back(absl::StrCat("\"", key, "\""));
  }
  const std::string words =
      keys.empty() ? "an empty JSON object"
                   : absl::StrCat("JSON with ", absl::StrJoin(keys, ", "));
  return {FileKind::kOther, words, Form::kJson};
}

bool IsText(absl::string_view bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte >= 0x80 || absl::ascii_isprint(byte) ||
           absl::ascii_isspace(byte);
  });
}

// Eight bytes of length, then JSON of so many.
bool IsSafetensors(absl::string_view bytes) {
  if (bytes.size() < 9 || bytes[8] != '{') return false;
  uint64_t length = 0;
  for (int i = 7; i >= 0; --i) {
    length = length << 8 | static_cast<unsigned char>(bytes[i]);
  }
  return length <= bytes.size() - 8;
}

bool IsMlir(absl::string_view text) {
  const absl::string_view head = text.substr(0, 4096);
  return absl::StartsWith(head, "module") || absl::StartsWith(head, "#loc") ||
         absl::StrContains(head, "func.func");
}

// Of its kind with a mistake in it, or too damaged to tell: what reads it knows
// more.
bool MayBe(const FileContent& content, FileKind wanted) {
  if (content.kind == wanted) return true;
  if (content.kind != FileKind::kOther) return false;
  switch (wanted) {
    case FileKind::kModule:
      // Which says how MLIR is converted.
      return content.form == Form::kBinary ||
             absl::StrContains(content.words, "MLIR");
    case FileKind::kTensors:
      return content.form == Form::kBinary;
    case FileKind::kTimetable:
      return content.form == Form::kText;
    case FileKind::kCluster:
    case FileKind::kSharding:
    case FileKind::kStages:
    case FileKind::kProblem:
    case FileKind::kDataset:
      return content.form == Form::kJson || content.form == Form::kBrokenJson;
    case FileKind::kPlan:
    case FileKind::kDatabase:
    case FileKind::kOther:
      break;
  }
  return false;
}

}  // namespace

FileContent ContentOf(absl::string_view bytes) {
  if (bytes.empty()) return {FileKind::kOther, "empty"};
  if (DetectCompression(bytes) != Compression::kNone) {
    const absl::StatusOr<std::string> plain = Decompress(bytes);
    if (!plain.ok()) {
      return {FileKind::kOther, "damaged compressed data", Form::kBinary};
    }
    return ContentOf(*plain);
  }
  if (IsModuleText(bytes)) return {FileKind::kModule, "an HLO module"};
  if (IsSafetensors(bytes)) return {FileKind::kTensors, "a safetensors file"};
  const struct {
    absl::string_view head;
    FileContent content;
  } kHeads[] = {
      {"PK\x03\x04", {FileKind::kTensors, "a zip archive, such as .npz"}},
      {"\x93NUMPY", {FileKind::kTensors, "an .npy array"}},
      {"SQLite format 3", {FileKind::kDatabase, "an SQLite database"}},
      {"ML\xefR", {FileKind::kOther, "MLIR bytecode"}},
      {"\x7f"
       "ELF",
       {FileKind::kOther, "a program or library"}},
      {"\x80\x04\x95", {FileKind::kOther, "a Python pickle"}},
      {"\x80\x05\x95", {FileKind::kOther, "a Python pickle"}}};
  for (const auto& [head, content] : kHeads) {
    if (absl::StartsWith(bytes, head)) return content;
  }
  const absl::string_view start = absl::StripLeadingAsciiWhitespace(bytes);
  if (absl::StartsWith(start, "{") || absl::StartsWith(start, "[")) {
    const Json json = Json::parse(bytes, nullptr, /*allow_exceptions=*/false);
    if (!json.is_discarded()) return ContentOfJson(json);
    if (IsText(bytes)) {
      return {FileKind::kOther, "text that is not valid JSON",
              Form::kBrokenJson};
    }
  }
  if (IsText(bytes)) {
    return IsMlir(bytes) ? FileContent{FileKind::kOther, "MLIR text"}
                         : FileContent{FileKind::kOther, "text", Form::kText};
  }
  if (ReadModule(bytes).ok()) return {FileKind::kModule, "an HLO module"};
  return {FileKind::kOther, "binary data of no known kind", Form::kBinary};
}

absl::Status ExplainContent(const absl::Status& why, const std::string& path,
                            absl::string_view bytes, FileKind wanted) {
  const FileContent content = ContentOf(bytes);
  if (bytes.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": the file is empty, not ", WantedWords(wanted)));
  }
  if (MayBe(content, wanted)) return Annotate(why, path);
  return absl::InvalidArgumentError(absl::StrCat(
      path, ": this is ", content.words, ", not ", WantedWords(wanted)));
}

}  // namespace meshwright
