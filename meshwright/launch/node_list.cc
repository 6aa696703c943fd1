#include "meshwright/launch/node_list.h"

#include <algorithm>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "meshwright/base/status_macros.h"

namespace meshwright {
namespace {

constexpr size_t kMaxHosts = size_t{1} << 20;

absl::Status BadList(absl::string_view part, absl::string_view why) {
  return absl::InvalidArgumentError(
      absl::StrCat("'", part, "' is no list of hosts: ", why));
}

bool IsNumber(absl::string_view text, int64_t& value) {
  return !text.empty() && std::ranges::all_of(text, absl::ascii_isdigit) &&
         absl::SimpleAtoi(text, &value);
}

// "01-02,07" to {"01", "02", "07"}.
absl::StatusOr<std::vector<std::string>> Numbers(absl::string_view ranges) {
  std::vector<std::string> numbers;
  for (const absl::string_view range : absl::StrSplit(ranges, ',')) {
    const std::vector<absl::string_view> ends = absl::StrSplit(range, '-');
    int64_t first = 0, last = 0;
    if (ends.size() > 2 || !IsNumber(ends.front(), first) ||
        !IsNumber(ends.back(), last)) {
      return BadList(ranges, "expected numbers and ranges such as 1-3,7");
    }
    if (last < first) return BadList(range, "the range ends before it begins");
    if (static_cast<size_t>(last - first) >= kMaxHosts - numbers.size()) {
      return BadList(range, "more than 2^20 hosts");
    }
    for (int64_t number = first; number <= last; ++number) {
      std::string digits = absl::StrCat(number);
      const size_t width = std::max(ends.front().size(), digits.size());
      numbers.push_back(std::string(width - digits.size(), '0') + digits);
    }
  }
  return numbers;
}

// Splits at commas that are not in brackets.
absl::StatusOr<std::vector<absl::string_view>> Names(absl::string_view list) {
  std::vector<absl::string_view> names;
  size_t begin = 0;
  bool inside = false;
  for (size_t i = 0; i <= list.size(); ++i) {
    const char c = i < list.size() ? list[i] : ',';
    if (c == '[' || c == ']') {
      if (inside == (c == '[')) return BadList(list, "brackets do not match");
      inside = c == '[';
    } else if (c == ',' && (!inside || i == list.size())) {
      if (inside) return BadList(list, "brackets do not match");
      if (i == begin) return BadList(list, "a name is missing");
      names.push_back(list.substr(begin, i - begin));
      begin = i + 1;
    }
  }
  return names;
}

// "gpu[1-2]-ib": every combination of its bracketed numbers, the last one
// varying fastest.
absl::StatusOr<std::vector<std::string>> Expand(absl::string_view name) {
  std::vector<std::string> hosts = {""};
  while (!name.empty()) {
    const size_t open = std::min(name.find('['), name.size());
    for (std::string& host : hosts) {
      absl::StrAppend(&host, name.substr(0, open));
    }
    if (open == name.size()) break;
    const size_t close = name.find(']');
    MW_ASSIGN_OR_RETURN(const std::vector<std::string> numbers,
                        Numbers(name.substr(open + 1, close - open - 1)));
    if (numbers.size() * hosts.size() > kMaxHosts) {
      return BadList(name, "more than 2^20 hosts");
    }
    std::vector<std::string> longer;
    for (const std::string& host : hosts) {
      for (const std::string& number : numbers) {
        longer.push_back(host + number);
      }
    }
    hosts = std::move(longer);
    name.remove_prefix(close + 1);
  }
  return hosts;
}

}  // namespace

absl::StatusOr<std::vector<std::string>> ExpandNodeList(
    absl::string_view list) {
  std::vector<std::string> hosts;
  MW_ASSIGN_OR_RETURN(const std::vector<absl::string_view> names, Names(list));
  for (const absl::string_view name : names) {
    MW_ASSIGN_OR_RETURN(const std::vector<std::string> more, Expand(name));
    hosts.insert(hosts.end(), more.begin(), more.end());
    if (hosts.size() > kMaxHosts) return BadList(list, "more than 2^20 hosts");
  }
  return hosts;
}

}  // namespace meshwright
