#include "meshwright/data/dataset_spec.h"

#include <glob.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "meshwright/base/nearest_word.h"
#include "meshwright/base/status_macros.h"

namespace meshwright {
namespace {

using Json = nlohmann::ordered_json;
using Kind = DatasetSpec::Kind;
using ShardBy = DatasetSpec::ShardBy;

constexpr int64_t kMaxSequence = int64_t{1} << 40;
constexpr int64_t kMaxSink = int64_t{1} << 30;

template <typename T>
struct Word {
  absl::string_view name;
  T value;
};
constexpr Word<Kind> kKinds[] = {{"tokens", Kind::kTokens},
                                 {"npz", Kind::kArrays}};
constexpr Word<ShardBy> kShardBys[] = {{"auto", ShardBy::kAuto},
                                       {"sample", ShardBy::kSample},
                                       {"file", ShardBy::kFile}};
constexpr Word<ElementType> kTokenTypes[] = {{"uint8", ElementType::kU8},
                                             {"uint16", ElementType::kU16},
                                             {"uint32", ElementType::kU32}};
const char* const kFields[] = {"inputs", "targets", "tokens"};

std::string Shown(absl::string_view text) {
  return absl::StrCat("\"", absl::Utf8SafeCHexEscape(text.substr(0, 200)),
                      "\"");
}

template <typename T, size_t n>
std::string Choices(const Word<T> (&words)[n]) {
  return absl::StrJoin(words, ", ", [](std::string* out, const Word<T>& word) {
    absl::StrAppend(out, "\"", word.name, "\"");
  });
}

template <typename T, size_t n>
absl::StatusOr<T> ReadWord(const Json& json, const char* key,
                           const Word<T> (&words)[n]) {
  if (json[key].is_string()) {
    const std::string text = json[key];
    for (const Word<T>& word : words) {
      if (word.name == text) return word.value;
    }
  }
  return BadDataset(absl::StrCat(Shown(key), " is one of ", Choices(words),
                                 ", not ", json[key].dump().substr(0, 100)));
}

template <typename T, size_t n>
std::string NameOf(T value, const Word<T> (&words)[n]) {
  for (const Word<T>& word : words) {
    if (word.value == value) return std::string(word.name);
  }
  return "";
}

absl::StatusOr<int64_t> ReadCount(const Json& json, const char* key,
                                  int64_t least, int64_t most) {
  const Json& value = json[key];
  // The parser returns numbers that do not fit into 64 bits as floats.
  if (value.is_number_unsigned() &&
      value.get<uint64_t>() <= static_cast<uint64_t>(most) &&
      value.get<int64_t>() >= least) {
    return value.get<int64_t>();
  }
  return BadDataset(absl::StrCat(Shown(key), " is a whole number of at least ",
                                 least, ", not ", value.dump().substr(0, 100)));
}

absl::Status CheckKeys(const Json& json, bool is_tokens) {
  std::vector<std::string> known = {"kind",    "files",    "parameters",
                                    "shuffle", "shard_by", "sink"};
  const std::vector<std::string> of_tokens = {"dtype", "sequence",
                                              "vocabulary"};
  if (is_tokens) known.insert(known.end(), of_tokens.begin(), of_tokens.end());
  for (const auto& [key, value] : json.items()) {
    if (std::ranges::count(known, key)) continue;
    if (!is_tokens && std::ranges::count(of_tokens, key)) {
      return BadDataset(
          absl::StrCat(Shown(key), " is for kind \"tokens\" only"));
    }
    const std::string nearest = NearestWord(key, known);
    return BadDataset(absl::StrCat(
        "unknown key ", Shown(key), "; ",
        nearest.empty() ? absl::StrCat("known: ", absl::StrJoin(known, ", "))
                        : absl::StrCat("did you mean ", nearest, "?")));
  }
  for (const char* key : {"files", "parameters"}) {
    if (!json.contains(key))
      return BadDataset(absl::StrCat("lacks ", Shown(key)));
  }
  return absl::OkStatus();
}

absl::Status ReadFiles(const Json& files, DatasetSpec& spec) {
  const Json list = files.is_string() ? Json::array({files}) : files;
  if (!list.is_array() || list.empty()) {
    return BadDataset("\"files\" is a list of paths or patterns");
  }
  for (const Json& file : list) {
    if (!file.is_string() || file.get<std::string>().empty() ||
        file.get<std::string>().find('\0') != std::string::npos) {
      return BadDataset("\"files\" is a list of paths or patterns");
    }
    spec.files.push_back(file);
  }
  return absl::OkStatus();
}

absl::Status ReadParameters(const Json& parameters, DatasetSpec& spec) {
  if (!parameters.is_object() || parameters.empty()) {
    return BadDataset(
        "\"parameters\" is an object: {\"batch/tokens\": \"inputs\", ...}");
  }
  for (const auto& [name, field] : parameters.items()) {
    if (!field.is_string()) {
      return BadDataset(absl::StrCat("parameter ", Shown(name),
                                     ": the name of what it gets is text"));
    }
    spec.parameters[name] = field;
    if (spec.kind == Kind::kTokens &&
        !std::ranges::count(kFields, field.get<std::string>())) {
      return BadDataset(absl::StrCat(
          "parameter ", Shown(name), ": ", Shown(field.get<std::string>()),
          " is none of ", absl::StrJoin(kFields, ", ")));
    }
  }
  return absl::OkStatus();
}

absl::Status ReadTokens(const Json& json, DatasetSpec& spec) {
  if (json.contains("dtype")) {
    MW_ASSIGN_OR_RETURN(spec.token_type, ReadWord(json, "dtype", kTokenTypes));
  }
  if (!json.contains("sequence")) return BadDataset("lacks \"sequence\"");
  MW_ASSIGN_OR_RETURN(spec.sequence,
                      ReadCount(json, "sequence", 1, kMaxSequence));
  if (json.contains("vocabulary")) {
    MW_ASSIGN_OR_RETURN(
        spec.vocabulary,
        ReadCount(json, "vocabulary", 1, std::numeric_limits<int64_t>::max()));
  }
  return absl::OkStatus();
}

absl::StatusOr<DatasetSpec> Read(const Json& json) {
  if (!json.contains("kind")) {
    return BadDataset(absl::StrCat("lacks \"kind\": ", Choices(kKinds)));
  }
  DatasetSpec spec;
  MW_ASSIGN_OR_RETURN(spec.kind, ReadWord(json, "kind", kKinds));
  const bool is_tokens = spec.kind == Kind::kTokens;
  MW_RETURN_IF_ERROR(CheckKeys(json, is_tokens));
  MW_RETURN_IF_ERROR(ReadFiles(json["files"], spec));
  MW_RETURN_IF_ERROR(ReadParameters(json["parameters"], spec));
  if (is_tokens) MW_RETURN_IF_ERROR(ReadTokens(json, spec));
  if (json.contains("shuffle") && !json["shuffle"].is_null()) {
    MW_ASSIGN_OR_RETURN(
        const int64_t seed,
        ReadCount(json, "shuffle", 0, std::numeric_limits<int64_t>::max()));
    spec.shuffle = static_cast<uint64_t>(seed);
  }
  if (json.contains("shard_by")) {
    MW_ASSIGN_OR_RETURN(spec.shard_by, ReadWord(json, "shard_by", kShardBys));
  }
  if (json.contains("sink")) {
    MW_ASSIGN_OR_RETURN(spec.sink, ReadCount(json, "sink", 0, kMaxSink));
  }
  return spec;
}

}  // namespace

absl::Status BadDataset(absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("dataset: ", what));
}

absl::StatusOr<DatasetSpec> ParseDatasetSpec(absl::string_view text) {
  // Values nested deeper than any valid one are dropped by the parser.
  const auto shallow = [](int depth, Json::parse_event_t, Json&) {
    return depth <= 3;
  };
  const Json json = Json::parse(text.begin(), text.end(), shallow,
                                /*allow_exceptions=*/false);
  if (!json.is_object()) return BadDataset("is not a JSON object");
  return Read(json);
}

std::string ToJson(const DatasetSpec& spec) {
  const bool is_tokens = spec.kind == Kind::kTokens;
  Json json = {{"kind", NameOf(spec.kind, kKinds)},
               {"files", spec.files},
               {"parameters", spec.parameters},
               {"shard_by", NameOf(spec.shard_by, kShardBys)}};
  if (is_tokens) {
    json["dtype"] = NameOf(spec.token_type, kTokenTypes);
    json["sequence"] = spec.sequence;
    if (spec.vocabulary.has_value()) json["vocabulary"] = *spec.vocabulary;
  }
  if (spec.shuffle.has_value()) json["shuffle"] = *spec.shuffle;
  if (spec.sink > 0) json["sink"] = spec.sink;
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

void ResolvePaths(const std::string& folder, DatasetSpec& spec) {
  for (std::string& file : spec.files) {
    file = (std::filesystem::path(folder) / file).string();
  }
}

absl::StatusOr<std::vector<std::string>> FindFiles(const DatasetSpec& spec) {
  std::vector<std::string> files;
  for (const std::string& file : spec.files) {
    std::error_code ignored;
    if (file.find_first_of("*?[") == std::string::npos ||
        std::filesystem::exists(file, ignored)) {
      files.push_back(file);
      continue;
    }
    glob_t found = {};
    const int result =
        ::glob(file.c_str(), GLOB_NOSORT | GLOB_NOESCAPE, nullptr, &found);
    std::vector<std::string> matches(found.gl_pathv,
                                     found.gl_pathv + found.gl_pathc);
    ::globfree(&found);
    if (result != 0 || matches.empty()) {
      return BadDataset(
          absl::StrCat("no file matches ", Shown(file),
                       "; patterns are looked up where the step runs"));
    }
    std::ranges::sort(matches);
    files.insert(files.end(), matches.begin(), matches.end());
  }
  return files;
}

}  // namespace meshwright
