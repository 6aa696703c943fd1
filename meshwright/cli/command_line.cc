#include "meshwright/cli/command_line.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "meshwright/base/nearest_word.h"

namespace meshwright {
namespace {

absl::Status UnknownFlag(absl::string_view name, const CommandSpec& spec) {
  std::vector<std::string> names;
  for (const FlagSpec& flag : spec.flags) names.push_back(flag.name);
  const std::string nearest = NearestWord(name, names);
  return absl::InvalidArgumentError(absl::StrCat(
      "unknown flag --", name,
      nearest.empty()
          ? absl::StrCat("; see `meshwright ", spec.name, " --help`")
          : absl::StrCat("; did you mean --", nearest, "?")));
}

}  // namespace

std::string CommandSpec::Help() const {
  std::string help = absl::StrCat("usage: meshwright ", name);
  for (const std::string& word : positional) absl::StrAppend(&help, " ", word);
  if (!flags.empty()) absl::StrAppend(&help, " [flags]");
  absl::StrAppend(&help, "\n\n", summary, "\n");
  for (const FlagSpec& flag : flags) {
    const std::string left = absl::StrCat(
        "--", flag.name, flag.value.empty() ? "" : " ", flag.value);
    absl::StrAppendFormat(&help, "\n  %-18s %s", left, flag.help);
  }
  return absl::StrCat(help, flags.empty() ? "" : "\n");
}

absl::StatusOr<CommandLine> CommandLine::Parse(
    absl::Span<const std::string> words, const CommandSpec& spec) {
  CommandLine line;
  for (size_t i = 0; i < words.size(); ++i) {
    // The only short flag, since everybody types it.
    const std::string word = words[i] == "-o" ? "--output" : words[i];
    if (word.empty()) {
      return absl::InvalidArgumentError("an argument is empty");
    }
    if (!absl::StartsWith(word, "--")) {
      line.positional_.push_back(word);
      continue;
    }
    const size_t equals = word.find('=');
    const std::string name = word.substr(2, equals - 2);
    const auto flag = std::find_if(
        spec.flags.begin(), spec.flags.end(),
        [&](const FlagSpec& candidate) { return candidate.name == name; });
    if (flag == spec.flags.end()) return UnknownFlag(name, spec);
    std::vector<std::string>& values = line.flags_[name];
    if (flag->value.empty()) {
      if (equals != std::string::npos) {
        return absl::InvalidArgumentError(
            absl::StrCat("--", name, " takes no value"));
      }
      values.push_back("");
    } else if (equals != std::string::npos) {
      values.push_back(word.substr(equals + 1));
    } else if (i + 1 < words.size()) {
      values.push_back(words[++i]);
    } else {
      return absl::InvalidArgumentError(
          absl::StrCat("--", name, " needs a value: ", flag->value));
    }
    if (!flag->value.empty() && values.back().empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("--", name, " needs a value: ", flag->value));
    }
  }
  const size_t required = static_cast<size_t>(std::count_if(
      spec.positional.begin(), spec.positional.end(),
      [](const std::string& word) { return !absl::StartsWith(word, "["); }));
  if (line.positional_.size() < required ||
      line.positional_.size() > spec.positional.size()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "expected ",
        spec.positional.empty() ? "no arguments"
                                : absl::StrJoin(spec.positional, " "),
        ", got ",
        line.positional_.empty() ? "nothing"
                                 : absl::StrJoin(line.positional_, " ")));
  }
  return line;
}

absl::Status CommandLine::CheckNotBoth(const std::string& flag,
                                       const std::string& other) const {
  if (!Has(flag) || !Has(other)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("give --", flag, " or --", other, ", not both"));
}

std::vector<std::string> CommandLine::All(const std::string& flag) const {
  const auto found = flags_.find(flag);
  return found == flags_.end() ? std::vector<std::string>() : found->second;
}

std::string CommandLine::Text(const std::string& flag,
                              absl::string_view fallback) const {
  const auto found = flags_.find(flag);
  return found == flags_.end() ? std::string(fallback) : found->second.back();
}

std::optional<std::string> CommandLine::Optional(
    const std::string& flag) const {
  if (!Has(flag)) return std::nullopt;
  return Text(flag, "");
}

absl::StatusOr<int64_t> CommandLine::Integer(const std::string& flag,
                                             int64_t fallback,
                                             IntegerRange range) const {
  const auto found = flags_.find(flag);
  if (found == flags_.end()) return fallback;
  int64_t value = 0;
  if (!absl::SimpleAtoi(found->second.back(), &value) || value < range.min ||
      value > range.max) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--", flag, " must be a whole number from ", range.min, " to ",
        range.max, ", got \"", found->second.back(), "\""));
  }
  return value;
}

}  // namespace meshwright
