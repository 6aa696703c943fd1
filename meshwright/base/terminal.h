// Capabilities of terminals, and the display width of text.
//
//   TruncateToColumns("planning: mesh data=4", 12)   // "planning: me"
//   ColumnsOf("Δt = 3 ms")                      // 9, of 10 bytes
#ifndef MESHWRIGHT_BASE_TERMINAL_H_
#define MESHWRIGHT_BASE_TERMINAL_H_

#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace meshwright {

// The width of the terminal `fd`; nullopt if it is not one.
std::optional<int> TerminalColumns(int fd);

// Whether it is a terminal on which a line can be redrawn: TERM is not "dumb".
bool CanRedraw(int fd);
// The same, and NO_COLOR is not set.
bool ShowsColours(int fd);

// Columns of UTF-8 text: two for wide characters, none for combining ones.
// Control characters and invalid bytes count as one, as Printable writes them.
int ColumnsOf(absl::string_view text);
// The longest prefix of at most `columns`, with control characters and invalid
// bytes replaced by '?'. Characters are never split.
std::string TruncateToColumns(absl::string_view text, int columns);

}  // namespace meshwright

#endif  // MESHWRIGHT_BASE_TERMINAL_H_
