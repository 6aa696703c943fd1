// The tokens of HLO text, read from left to right on demand.
//
//   TextLexer lexer("%x = f32[4] add(a, /*index=1*/b)");
//   lexer.Name();         // "x"
//   lexer.Expect("=");
//   lexer.Expect("(");    // line 1, column 6: expected '(', got 'f32'
//
// The first error is kept. After it the text counts as ended: every read
// returns an empty value and every Take false, so that loops end; readers check
// status() at the end. Blanks and comments between tokens are skipped.
#ifndef MESHWRIGHT_HLO_TEXT_LEXER_H_
#define MESHWRIGHT_HLO_TEXT_LEXER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace meshwright::internal {

// Longer tokens are cut in messages.
inline constexpr size_t kMostShown = 40;

// The text must outlive the lexer and all that it returns.
class TextLexer {
 public:
  explicit TextLexer(absl::string_view text) : text_(text) {}

  bool ok() const { return status_.ok(); }
  // kInvalidArgument: "line 3, column 8: MESSAGE".
  const absl::Status& status() const { return status_; }
  void Fail(absl::string_view message) { FailAt(position(), message); }
  void FailAt(size_t position, absl::string_view message);
  // Fails with "expected WHAT, got 'TOKEN'".
  void FailExpected(absl::string_view what);

  // The byte position of the next token.
  size_t position();
  // The number of remaining bytes, an upper bound on the remaining tokens.
  size_t remaining() const { return text_.size() - position_; }
  bool AtEnd() { return position() == text_.size(); }
  // The next character; '\0' at the end.
  char Next() { return AtEnd() ? '\0' : text_[position_]; }
  bool NextIs(absl::string_view token);
  bool NextIsDigit();
  // The next word, without consuming it; empty if there is none.
  absl::string_view NextWord();

  // Consumes punctuation if it comes next.
  bool Take(absl::string_view token);
  // Consumes exactly this word if it comes next.
  bool TakeWord(absl::string_view word);
  void Expect(absl::string_view token);

  // Letters, digits, '_', '.' and '-', from a letter or '_' on.
  absl::string_view Word(absl::string_view what);
  // A word that may have '%' in front.
  absl::string_view Name(absl::string_view what = "a name");
  // As many of `characters` as come next without blanks, possibly none.
  absl::string_view Run(absl::string_view characters);
  int64_t Integer();
  int32_t SmallInteger();
  bool Flag();  // "true" or "false".

  // "{0,2}", with other brackets "[0,2]".
  std::vector<int64_t> Integers(absl::string_view open = "{",
                                absl::string_view close = "}");
  // Calls read_item() for each item of "{a, b}".
  template <typename ReadItem>
  void List(absl::string_view open, absl::string_view close,
            const ReadItem& read_item) {
    Expect(open);
    if (Take(close)) return;
    do {
      read_item();
    } while (Take(","));
    Expect(close);
  }

  // What a C string literal stands for.
  std::string Quoted();
  // A string literal, or text in braces as it is: {"a":{"b":"}"}}.
  std::string StringOrDict();
  // A string, a number, a word, or anything in brackets.
  void SkipValue();

 private:
  void SkipComment();
  // The end of the string literal or brackets that begin at `start`; fails if
  // there is none.
  size_t EndOfString(size_t start);
  size_t EndOfBrackets(size_t start);
  std::string DescribeNext();

  absl::string_view text_;
  size_t position_ = 0;
  absl::Status status_;
};

}  // namespace meshwright::internal

#endif  // MESHWRIGHT_HLO_TEXT_LEXER_H_
