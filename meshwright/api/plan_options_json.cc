#include "meshwright/api/plan_options_json.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "meshwright/base/nearest_word.h"
#include "meshwright/base/status_macros.h"

namespace meshwright {
namespace {

using Json = nlohmann::ordered_json;

absl::Status Wrong(const std::string& name, absl::string_view wanted,
                   const Json& value) {
  std::string got = value.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (got.size() > 80) got = absl::StrCat(got.substr(0, 77), "...");
  return absl::InvalidArgumentError(
      absl::StrCat("option ", name, " must be ", wanted, ", not ", got));
}

absl::StatusOr<std::string> Text(const std::string& name, const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  return Wrong(name, "text", value);
}

absl::StatusOr<bool> Boolean(const std::string& name, const Json& value) {
  if (value.is_boolean()) return value.get<bool>();
  return Wrong(name, "true or false", value);
}

// A number, or the text of one.
std::optional<double> NumberIn(const Json& value) {
  double number = 0;
  if (value.is_number()) return value.get<double>();
  if (value.is_string() &&
      absl::SimpleAtod(value.get<std::string>(), &number)) {
    return number;
  }
  return std::nullopt;
}

absl::StatusOr<int64_t> Integer(const std::string& name, const Json& value,
                                int64_t min, int64_t max) {
  std::optional<int64_t> number;
  int64_t read = 0;
  if (value.is_number_unsigned()) {
    if (value.get<uint64_t>() <= static_cast<uint64_t>(INT64_MAX)) {
      number = value.get<int64_t>();
    }
  } else if (value.is_number_integer()) {
    number = value.get<int64_t>();
  } else if (value.is_string() &&
             absl::SimpleAtoi(value.get<std::string>(), &read)) {
    number = read;
  }
  if (number.has_value() && *number >= min && *number <= max) return *number;
  return Wrong(name, absl::StrCat("an integer from ", min, " to ", max), value);
}

absl::StatusOr<double> Positive(const std::string& name, const Json& value,
                                absl::string_view unit, double max) {
  const std::optional<double> number = NumberIn(value);
  if (number.has_value() && *number > 0 && *number <= max) return *number;
  return Wrong(name,
               absl::StrCat("a positive number of ", unit, ", at most ", max),
               value);
}

// "data=4,model=2" or {"data": 4, "model": 2}.
absl::StatusOr<std::string> MeshText(const std::string& name,
                                     const Json& value) {
  if (!value.is_object()) return Text(name, value);
  std::vector<std::string> axes;
  for (const auto& [axis, size] : value.items()) {
    MW_ASSIGN_OR_RETURN(
        const int64_t count,
        Integer(absl::StrCat(name, ".", axis), size, 1, INT32_MAX));
    axes.push_back(absl::StrCat(axis, "=", count));
  }
  return absl::StrJoin(axes, ",");
}

// "all-gather,all-to-all@data" or a list of such.
absl::StatusOr<std::string> ListText(const std::string& name,
                                     const Json& value) {
  if (!value.is_array()) return Text(name, value);
  std::vector<std::string> words;
  for (const Json& word : value) {
    MW_ASSIGN_OR_RETURN(words.emplace_back(), Text(name, word));
  }
  return absl::StrJoin(words, ",");
}

struct Reading {
  const PlanOptionsLimits& limits;
  api::PlanOptions options;
};
using Reader = absl::Status (*)(const std::string& name, const Json& value,
                                Reading& to);

// clang-format off
const std::map<std::string, Reader>& Readers() {
  static const auto* const readers = new std::map<std::string, Reader>{
      {"strategy", [](const auto& name, const Json& value, Reading& to) {
         MW_ASSIGN_OR_RETURN(to.options.strategy, Text(name, value));
         return absl::OkStatus();
       }},
      {"mesh", [](const auto& name, const Json& value, Reading& to) {
         MW_ASSIGN_OR_RETURN(to.options.mesh, MeshText(name, value));
         return absl::OkStatus();
       }},
      {"micro-batches", [](const auto& name, const Json& value, Reading& to) {
         MW_ASSIGN_OR_RETURN(to.options.micro_batches,
                             Integer(name, value, 1, 65536));
         return absl::OkStatus();
       }},
      {"stages", [](const auto& name, const Json& value, Reading& to) {
         MW_ASSIGN_OR_RETURN(const int64_t stages,
                             Integer(name, value, 1, 1024));
         to.options.stages = static_cast<int32_t>(stages);
         return absl::OkStatus();
       }},
      {"schedule", [](const auto& name, const Json& value, Reading& to) {
         MW_ASSIGN_OR_RETURN(to.options.schedule, Text(name, value));
         return absl::OkStatus();
       }},
      {"recompute", [](const auto& name, const Json& value, Reading& to) {
         MW_ASSIGN_OR_RETURN(to.options.recompute, Text(name, value));
         return absl::OkStatus();
       }},
      {"memory", [](const auto& name, const Json& value, Reading& to) {
         MW_ASSIGN_OR_RETURN(const double gib,
                             Positive(name, value, "GiB", 1e9));
         to.options.memory_bytes = static_cast<int64_t>(gib * (1 << 30));
         return absl::OkStatus();
       }},
      {"forbid", [](const auto& name, const Json& value, Reading& to) {
         MW_ASSIGN_OR_RETURN(to.options.forbid, ListText(name, value));
         return absl::OkStatus();
       }},
      {"batch-axis", [](const auto& name, const Json& value, Reading& to) {
         MW_ASSIGN_OR_RETURN(to.options.batch_axis, Text(name, value));
         return absl::OkStatus();
       }},
      {"pin", [](const auto& name, const Json& value, Reading& to) {
         if (!value.is_object()) {
           return Wrong(name,
                        "the JSON object that a sharding file holds (the "
                        "coordinator reads no files)",
                        value);
         }
         to.options.pins_text = value.dump();
         return absl::OkStatus();
       }},
      {"require-rules", [](const auto& name, const Json& value, Reading& to) {
         MW_ASSIGN_OR_RETURN(to.options.require_rules, Boolean(name, value));
         return absl::OkStatus();
       }},
      {"assumed", [](const auto& name, const Json& value, Reading& to) {
         MW_ASSIGN_OR_RETURN(to.options.assumed, Boolean(name, value));
         return absl::OkStatus();
       }},
      {"time-limit", [](const auto& name, const Json& value, Reading& to) {
         MW_ASSIGN_OR_RETURN(
             to.options.time_limit_seconds,
             Positive(name, value, "seconds", to.limits.max_seconds));
         return absl::OkStatus();
       }},
      {"steps", [](const auto& name, const Json& value, Reading& to) {
         MW_ASSIGN_OR_RETURN(to.options.steps,
                             Integer(name, value, 1, INT64_MAX));
         return absl::OkStatus();
       }},
      {"seed", [](const auto& name, const Json& value, Reading& to) {
         MW_ASSIGN_OR_RETURN(const int64_t seed,
                             Integer(name, value, 0, INT64_MAX));
         to.options.seed = static_cast<uint64_t>(seed);
         return absl::OkStatus();
       }},
  };
  return *readers;
}
// clang-format on

// Flags of `meshwright plan` that only mean something where it runs.
const std::map<std::string, std::string>& Refused() {
  static const auto* const refused = new std::map<std::string, std::string>{
      {"cluster", "comes beside the options"},
      {"output", "names a file; the plan is the answer"},
      {"dump", "names a folder, which a coordinator does not write"},
      {"database", "names a file, which a coordinator does not read"},
      {"rules",
       "names a file, which a coordinator does not read; lower the step "
       "with them, meshwright.lower(..., rules=...)"},
      {"measure", "is for `meshwright plan`"},
      {"json", "is for `meshwright plan`"},
  };
  return *refused;
}

absl::Status Unknown(const std::string& name) {
  std::vector<std::string> names;
  for (const auto& [known, reader] : Readers()) names.push_back(known);
  const std::string nearest = NearestWord(name, names);
  return absl::InvalidArgumentError(absl::StrCat(
      "unknown option ", name, "; ",
      nearest.empty() ? absl::StrCat("there are ", absl::StrJoin(names, ", "))
                      : absl::StrCat("did you mean ", nearest, "?")));
}

}  // namespace

absl::StatusOr<api::PlanOptions> PlanOptionsFromJson(
    absl::string_view json, const PlanOptionsLimits& limits) {
  Reading reading{.limits = limits, .options = {}};
  double& seconds = reading.options.time_limit_seconds;
  seconds = std::min(seconds, limits.max_seconds);
  if (json.empty()) return std::move(reading.options);
  const Json given = Json::parse(json, nullptr, /*allow_exceptions=*/false);
  if (!given.is_object()) {
    return absl::InvalidArgumentError("the options are no JSON object");
  }
  for (const auto& [key, value] : given.items()) {
    std::string name = absl::StrReplaceAll(key, {{"_", "-"}});
    if (name == "pins") name = "pin";  // As Python's keyword.
    const auto reader = Readers().find(name);
    if (reader != Readers().end()) {
      if (value.is_null()) continue;
      MW_RETURN_IF_ERROR(reader->second(name, value, reading));
      continue;
    }
    const auto refused = Refused().find(name);
    if (refused == Refused().end()) return Unknown(name);
    return absl::InvalidArgumentError(
        absl::StrCat("option ", name, " ", refused->second));
  }
  return std::move(reading.options);
}

}  // namespace meshwright
