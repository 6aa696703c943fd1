// What a terminal can show, and how many columns a text takes there.
//
//   CutToColumns("planning: mesh data=4", 12)   // "planning: me"
//   ColumnsOf("Δt = 3 ms")                      // 9, of 10 bytes
#ifndef MESHWRIGHT_BASE_TERMINAL_H_
#define MESHWRIGHT_BASE_TERMINAL_H_

#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace meshwright {

// The width of the terminal that `fd` is; nothing if it is none.
std::optional<int> TerminalColumns(int fd);

// A terminal on which a line can be drawn again: TERM is not "dumb".
bool CanRedraw(int fd);
// The same, and nobody has asked for no colours (NO_COLOR).
bool ShowsColours(int fd);

// Columns of UTF-8 text: two for wide characters, none for combining ones.
// Control characters and bytes that are no UTF-8 count as one, as Printable
// writes them.
int ColumnsOf(absl::string_view text);
// The longest beginning that takes at most `columns`, with control characters
// and bytes that are no UTF-8 as '?'. Characters are never cut.
std::string CutToColumns(absl::string_view text, int columns);

}  // namespace meshwright

#endif  // MESHWRIGHT_BASE_TERMINAL_H_
