#include "meshwright/base/json_fault.h"

#include <gtest/gtest.h>

namespace meshwright {
namespace {

TEST(NotJson, SaysWhereItStops) {
  EXPECT_EQ(NotJson("{\"a\": 1,\n  }"),
            "is not valid JSON from line 2, column 3: '}'");
  EXPECT_EQ(NotJson("{\"a\" 1}"),
            "is not valid JSON from line 1, column 6: '1'");
  EXPECT_EQ(NotJson("{'a': 1}"),
            "is not valid JSON from line 1, column 2: '''");
  EXPECT_EQ(NotJson("{\"a\": True}"),
            "is not valid JSON from line 1, column 7: 'T'");
  EXPECT_EQ(NotJson("{\"a\": \"b\n\"}"),
            "is not valid JSON from line 1, column 9: the line ends");
  EXPECT_EQ(NotJson("{\xc3\xa9: 1}"),
            "is not valid JSON from line 1, column 2: byte 0xc3");
  EXPECT_EQ(NotJson("{\"a\": {"), "is not valid JSON: it ends too early");
  EXPECT_EQ(NotJson(""), "is not valid JSON: it ends too early");
}

}  // namespace
}  // namespace meshwright
