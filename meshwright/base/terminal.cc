#include "meshwright/base/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>

namespace meshwright {
namespace {

// For terminals that do not report their width.
constexpr int kUsualColumns = 80;

struct Range {
  uint32_t first;
  uint32_t last;
};

// Combining marks, joiners and variation selectors.
constexpr Range kNoColumns[] = {
    {0x0300, 0x036F}, {0x0483, 0x0489}, {0x0591, 0x05BD}, {0x0610, 0x061A},
    {0x064B, 0x065F}, {0x1AB0, 0x1AFF}, {0x1DC0, 0x1DFF}, {0x200B, 0x200F},
    {0x20D0, 0x20FF}, {0xFE00, 0xFE0F}, {0xFE20, 0xFE2F}, {0xE0100, 0xE01EF}};
// East Asian wide and fullwidth, and pictures.
constexpr Range kTwoColumns[] = {
    {0x1100, 0x115F},   {0x2E80, 0x303E},   {0x3041, 0x33FF},
    {0x3400, 0x4DBF},   {0x4E00, 0x9FFF},   {0xA000, 0xA4CF},
    {0xAC00, 0xD7A3},   {0xF900, 0xFAFF},   {0xFE30, 0xFE6F},
    {0xFF00, 0xFF60},   {0xFFE0, 0xFFE6},   {0x1F300, 0x1F64F},
    {0x1F680, 0x1F6FF}, {0x1F900, 0x1F9FF}, {0x20000, 0x3FFFD}};

template <size_t n>
bool IsIn(uint32_t point, const Range (&ranges)[n]) {
  for (const Range& range : ranges) {
    if (point >= range.first && point <= range.last) return true;
  }
  return false;
}

struct Character {
  absl::string_view bytes;
  int columns = 1;
  bool printable = true;
};

// The first character of a text, which must not be empty.
Character First(absl::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t lead = byte(0);
  if (lead < 0x80) {
    return {text.substr(0, 1), 1, lead >= 0x20 && lead != 0x7F};
  }
  const size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  const Character broken = {text.substr(0, 1), 1, false};
  if (lead < 0xC2 || lead > 0xF4 || text.size() < length) return broken;
  uint32_t point = lead & (0xFF >> (length + 1));
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return broken;
    point = point << 6 | (byte(i) & 0x3F);
  }
  // Overlong, or not a character.
  constexpr uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  if (point < kLeast[length] || point > 0x10FFFF ||
      (point >= 0xD800 && point <= 0xDFFF)) {
    return broken;
  }
  if (point < 0xA0) return {text.substr(0, length), 1, false};
  return {text.substr(0, length), IsIn(point, kNoColumns)    ? 0
                                  : IsIn(point, kTwoColumns) ? 2
                                                             : 1};
}

}  // namespace

std::optional<int> TerminalColumns(int fd) {
  if (isatty(fd) == 0) return std::nullopt;
  winsize size = {};
  if (ioctl(fd, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) {
    return kUsualColumns;
  }
  return size.ws_col;
}

bool CanRedraw(int fd) {
  const char* term = std::getenv("TERM");
  return isatty(fd) != 0 && term != nullptr && absl::string_view(term) != "" &&
         absl::string_view(term) != "dumb";
}

bool ShowsColours(int fd) {
  const char* no_colour = std::getenv("NO_COLOR");
  return CanRedraw(fd) && (no_colour == nullptr || *no_colour == '\0');
}

int ColumnsOf(absl::string_view text) {
  int columns = 0;
  while (!text.empty()) {
    const Character next = First(text);
    columns += next.columns;
    text.remove_prefix(next.bytes.size());
  }
  return columns;
}

std::string TruncateToColumns(absl::string_view text, int columns) {
  std::string cut;
  while (!text.empty()) {
    const Character next = First(text);
    columns -= next.columns;
    if (columns < 0) break;
    if (next.printable) {
      cut.append(next.bytes.data(), next.bytes.size());
    } else {
      cut += '?';
    }
    text.remove_prefix(next.bytes.size());
  }
  return cut;
}

}  // namespace meshwright
