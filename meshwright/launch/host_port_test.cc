#include "meshwright/launch/host_port.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace meshwright {
namespace {

using testing::HasSubstr;

TEST(HostPortTest, ReadsWhatItWrites) {
  for (const char* text : {"gpu02:7777", "10.0.0.1:1", "[fe80::1%eth0]:65535",
                           "train-0.train.default.svc:80"}) {
    const absl::StatusOr<HostPort> address = ParseHostPort(text);
    ASSERT_TRUE(address.ok()) << address.status();
    EXPECT_EQ(address->ToString(), text);
  }
}

TEST(HostPortTest, APortMayBeLeftOutWhereThereIsAnother) {
  EXPECT_EQ(*ParseHostPort("gpu02", 5), (HostPort{"gpu02", 5}));
  EXPECT_EQ(*ParseHostPort("[::1]", 5), (HostPort{"::1", 5}));
  EXPECT_EQ(*ParseHostPort("fd00::2", 5), (HostPort{"fd00::2", 5}));
  EXPECT_EQ(ParseHostPort("gpu02").status().message(),
            "'gpu02' has no port; write HOST:PORT");
}

TEST(HostPortTest, RefusesWhatIsNone) {
  for (const char* text :
       {"", ":80", "gpu02:", "gpu02:0", "gpu02:65536", "gpu02:+1", "gpu02:8x",
        "-oProxyCommand=x:80", "a b:80", "a'b:80", "a;b:80", "[::1:80",
        "[::1]80", "[]:80", "$(x):80", "a\n:80"}) {
    const absl::StatusOr<HostPort> address = ParseHostPort(text, 7777);
    ASSERT_FALSE(address.ok()) << text;
    EXPECT_EQ(address.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(address.status().message()), HasSubstr(text));
  }
}

TEST(HostPortTest, KnowsLoopback) {
  EXPECT_TRUE((HostPort{"localhost", 1}).IsLoopback());
  EXPECT_TRUE((HostPort{"127.0.1.1", 1}).IsLoopback());
  EXPECT_TRUE((HostPort{"::1", 1}).IsLoopback());
  EXPECT_FALSE((HostPort{"10.127.0.1", 1}).IsLoopback());
}

}  // namespace
}  // namespace meshwright
