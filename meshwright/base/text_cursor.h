// Parses short text from left to right; blanks between tokens are skipped.
//
//   TextCursor cursor("[data, 4]");
//   cursor.Take("[");        // true
//   cursor.Name();           // "data"
//   cursor.Expect(":");      // expected ':' before ', 4]'
#ifndef MESHWRIGHT_BASE_TEXT_CURSOR_H_
#define MESHWRIGHT_BASE_TEXT_CURSOR_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace meshwright {

// The text must outlive the cursor and its results. Errors are kInvalidArgument
// and say what was expected where.
class TextCursor {
 public:
  explicit TextCursor(absl::string_view text) : rest_(text) {}

  bool AtEnd();
  bool NextIsDigit();
  bool NextIs(absl::string_view token);
  // Consumes `token` if it comes next.
  bool Take(absl::string_view token);
  absl::Status Expect(absl::string_view token);
  absl::Status ExpectEnd();

  // One or more of letters, digits, '_' and '.'; `what` names it in errors.
  absl::StatusOr<absl::string_view> Name(absl::string_view what);
  // Decimal, not negative.
  absl::StatusOr<int64_t> Number();
  // The text between double quotes; no escapes.
  absl::StatusOr<absl::string_view> Quoted();

  // "before 'REST'" or "at the end".
  std::string Where();

 private:
  void SkipBlanks();

  absl::string_view rest_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_BASE_TEXT_CURSOR_H_
