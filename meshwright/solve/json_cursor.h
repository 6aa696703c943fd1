// Walks a JSON text of many megabytes without building a tree.
//
//   JsonCursor json(R"({"a": [1, 2]})");
//   json.Object([&](absl::string_view key) {
//     return json.Array([&] { return json.Integer().status(); });
//   });
#ifndef MESHWRIGHT_SOLVE_JSON_CURSOR_H_
#define MESHWRIGHT_SOLVE_JSON_CURSOR_H_

#include <cstdint>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace meshwright {

// The text must outlive the cursor. Errors are kInvalidArgument and name the
// byte at which something else was expected.
class JsonCursor {
 public:
  explicit JsonCursor(absl::string_view text)
      : begin_(text.data()), now_(begin_), end_(begin_ + text.size()) {}

  // Calls `member` with each key; it must consume the value.
  absl::Status Object(
      absl::FunctionRef<absl::Status(absl::string_view)> member);
  // Calls `element` before each element; it must consume it.
  absl::Status Array(absl::FunctionRef<absl::Status()> element);
  // Accepts numbers with a fraction or exponent if they are integers.
  absl::StatusOr<int64_t> Integer();
  // Consumes `null` if it comes next.
  bool TakeNull();
  // The characters between the quotes; escapes are not decoded.
  absl::StatusOr<absl::string_view> String();
  // Skips any value.
  absl::Status Skip();
  // OK if only whitespace is left.
  absl::Status End();

 private:
  bool Take(char c);
  void Blanks();
  absl::Status Expected(absl::string_view what) const;
  absl::StatusOr<int64_t> FloatInteger(const char* start);
  absl::Status SkipWord();

  const char* begin_;
  const char* now_;
  const char* end_;
  int depth_ = 0;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_SOLVE_JSON_CURSOR_H_
