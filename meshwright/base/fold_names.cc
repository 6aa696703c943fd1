#include "meshwright/base/fold_names.h"

#include <map>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace meshwright {
namespace {

// A name split into pieces: "blocks/", "12", "/w".
struct Pieces {
  std::vector<std::string> words;    // One more than numbers.
  std::vector<std::string> numbers;  // Runs of digits.
};

Pieces TakeApart(const std::string& name) {
  Pieces pieces;
  pieces.words.emplace_back();
  for (size_t i = 0; i < name.size(); ++i) {
    if (!absl::ascii_isdigit(static_cast<unsigned char>(name[i]))) {
      pieces.words.back().push_back(name[i]);
      continue;
    }
    std::string& number = pieces.numbers.emplace_back();
    while (i < name.size() &&
           absl::ascii_isdigit(static_cast<unsigned char>(name[i]))) {
      number.push_back(name[i++]);
    }
    --i;
    pieces.words.emplace_back();
  }
  return pieces;
}

}  // namespace

std::string FoldedName::ToString() const {
  return count == 1 ? pattern : absl::StrCat(pattern, " x ", count);
}

std::vector<FoldedName> FoldNames(absl::Span<const std::string> names) {
  struct Group {
    Pieces pieces;  // "*" for numbers that differ.
    int64_t count = 0;
  };
  std::vector<Group> groups;
  std::map<std::vector<std::string>, size_t> known;
  for (const std::string& name : names) {
    Pieces pieces = TakeApart(name);
    const auto [entry, is_new] = known.try_emplace(pieces.words, groups.size());
    if (is_new) {
      groups.push_back({std::move(pieces), 1});
      continue;
    }
    Group& group = groups[entry->second];
    ++group.count;
    for (size_t i = 0; i < pieces.numbers.size(); ++i) {
      if (group.pieces.numbers[i] != pieces.numbers[i]) {
        group.pieces.numbers[i] = "*";
      }
    }
  }
  std::vector<FoldedName> folded;
  for (const Group& group : groups) {
    FoldedName& one = folded.emplace_back();
    one.count = group.count;
    one.pattern = group.pieces.words[0];
    for (size_t i = 0; i < group.pieces.numbers.size(); ++i) {
      absl::StrAppend(&one.pattern, group.pieces.numbers[i],
                      group.pieces.words[i + 1]);
    }
  }
  return folded;
}

std::string FoldedList(absl::Span<const std::string> names, size_t most) {
  const std::vector<FoldedName> folded = FoldNames(names);
  std::string text;
  for (size_t i = 0; i < folded.size() && i < most; ++i) {
    absl::StrAppend(&text, i == 0 ? "" : ", ", folded[i].ToString());
  }
  if (folded.size() > most) {
    absl::StrAppend(&text, " and ", folded.size() - most, " more");
  }
  return text;
}

}  // namespace meshwright
