#include "meshwright/launch/node_list.h"

#include "absl/strings/str_join.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace meshwright {
namespace {

using testing::HasSubstr;

TEST(NodeListTest, ExpandsBrackets) {
  const std::pair<const char*, const char*> kCases[] = {
      {"gpu02", "gpu02"},
      {"node[1-3,7],gpu02", "node1 node2 node3 node7 gpu02"},
      {"a,b,c-d", "a b c-d"},
      {"n[098-101]", "n098 n099 n100 n101"},
      {"n[8-11]", "n8 n9 n10 n11"},
      {"r[1-2]n[1-2]-ib", "r1n1-ib r1n2-ib r2n1-ib r2n2-ib"},
      {"127.0.0.[1-2]", "127.0.0.1 127.0.0.2"},
  };
  for (const auto& [list, want] : kCases) {
    const auto hosts = ExpandNodeList(list);
    ASSERT_TRUE(hosts.ok()) << hosts.status();
    EXPECT_EQ(absl::StrJoin(*hosts, " "), want);
  }
}

TEST(NodeListTest, NamesWhatIsWrong) {
  const std::pair<const char*, const char*> kCases[] = {
      {"", "a name is missing"},
      {"a,,b", "a name is missing"},
      {"n[1-2", "brackets do not match"},
      {"n]1[", "brackets do not match"},
      {"n[[1]]", "brackets do not match"},
      {"n[]", "expected numbers"},
      {"n[1-]", "expected numbers"},
      {"n[1-2-3]", "expected numbers"},
      {"n[a-c]", "expected numbers"},
      {"n[3-1]", "'3-1' is no list of hosts: the range ends before it begins"},
      {"n[0-99999999]", "more than 2^20"},
      {"n[0-1048575],m", "more than 2^20"},
      {"n[0-9999]m[0-9999]", "more than 2^20"},
      {"n[1-99999999999999999999]", "expected numbers"},
  };
  for (const auto& [list, want] : kCases) {
    const auto hosts = ExpandNodeList(list);
    ASSERT_FALSE(hosts.ok()) << list;
    EXPECT_EQ(hosts.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(hosts.status().message()), HasSubstr(want));
  }
}

}  // namespace
}  // namespace meshwright
