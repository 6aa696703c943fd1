#include "meshwright/base/terminal.h"

#include <pty.h>
#include <unistd.h>

#include <cstdlib>

#include "gtest/gtest.h"

namespace meshwright {
namespace {

TEST(TerminalTest, CountsColumns) {
  EXPECT_EQ(ColumnsOf(""), 0);
  EXPECT_EQ(ColumnsOf("mesh data=4"), 11);
  EXPECT_EQ(ColumnsOf("Δt = 3 µs"), 9);
  EXPECT_EQ(ColumnsOf("模型"), 4);      // Wide.
  EXPECT_EQ(ColumnsOf("e\u0301"), 1);   // A combining accent.
  EXPECT_EQ(ColumnsOf("\xff\xc3"), 2);  // No UTF-8.
  EXPECT_EQ(ColumnsOf("\xc0\x80"), 2);  // Longer than need be.
  EXPECT_EQ(ColumnsOf("a\x1b[2J"), 5);  // As TruncateToColumns shows it.
}

TEST(TerminalTest, CutsBetweenCharacters) {
  EXPECT_EQ(TruncateToColumns("planning", 4), "plan");
  EXPECT_EQ(TruncateToColumns("planning", 100), "planning");
  EXPECT_EQ(TruncateToColumns("planning", 0), "");
  EXPECT_EQ(TruncateToColumns("planning", -3), "");
  EXPECT_EQ(TruncateToColumns("ΔΔΔ", 2), "ΔΔ");
  EXPECT_EQ(TruncateToColumns("模型", 3), "模");
  EXPECT_EQ(TruncateToColumns("e\u0301x", 1), "e\u0301");
}

TEST(TerminalTest, ShowsNothingThatMovesTheCursor) {
  EXPECT_EQ(TruncateToColumns("a\nb\r\x1b[2Jc\xff\x7f", 20), "a?b??[2Jc??");
  EXPECT_EQ(TruncateToColumns("\u009b2J", 20),
            "?2J");  // An escape code of 8 bits.
}

class PtyTest : public ::testing::Test {
 protected:
  PtyTest() {
    winsize size = {.ws_row = 24, .ws_col = 57};
    EXPECT_EQ(::openpty(&outer_, &inner_, nullptr, nullptr, &size), 0);
    ::setenv("TERM", "xterm-256color", 1);
    ::unsetenv("NO_COLOR");
  }
  ~PtyTest() override {
    ::close(outer_);
    ::close(inner_);
  }

  int outer_ = -1;
  int inner_ = -1;
};

TEST_F(PtyTest, KnowsTheTerminal) {
  EXPECT_EQ(TerminalColumns(inner_), 57);
  EXPECT_TRUE(CanRedraw(inner_));
  EXPECT_TRUE(ShowsColours(inner_));
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  EXPECT_FALSE(TerminalColumns(ends[1]).has_value());
  EXPECT_FALSE(CanRedraw(ends[1]));
  EXPECT_FALSE(ShowsColours(ends[1]));
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST_F(PtyTest, HonoursTheEnvironment) {
  ::setenv("NO_COLOR", "1", 1);
  EXPECT_TRUE(CanRedraw(inner_));
  EXPECT_FALSE(ShowsColours(inner_));
  ::setenv("NO_COLOR", "", 1);  // Empty means nothing.
  EXPECT_TRUE(ShowsColours(inner_));
  for (const char* term : {"dumb", ""}) {
    ::setenv("TERM", term, 1);
    EXPECT_FALSE(CanRedraw(inner_)) << term;
    EXPECT_FALSE(ShowsColours(inner_)) << term;
  }
}

}  // namespace
}  // namespace meshwright
