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

TEST(AddressTest, ParsesAndPrints) {
  for (const std::string text :
       {"127.0.0.1:7777", "[::1]:80", "host-3.cluster:1", "localhost:0"}) {
    const auto address = ParseAddress(text);
    ASSERT_TRUE(address.ok()) << text;
    EXPECT_EQ(address->ToString(), text);
  }
  for (const std::string text :
       {"", "7777", ":7777", "host:", "host:x", "host:-1", "host:65536", "::1",
        "unix:/tmp/x", "http://host:80", "[]:1", "a b:1", "host:99999999999"}) {
    const auto address = ParseAddress(text);
    EXPECT_EQ(address.status().code(), absl::StatusCode::kInvalidArgument)
        << text;
  }
}

TEST(AddressTest, KnowsLoopback) {
  for (const char* text :
       {"127.0.0.1:1", "127.3.4.5:1", "[::1]:1", "localhost:1"}) {
    EXPECT_TRUE(ParseAddress(text)->IsLoopback()) << text;
  }
  for (const char* text : {"0.0.0.0:1", "[::]:1", "10.0.0.1:1", "host-3:1",
                           "127.evil.org:1", "[::ffff:10.0.0.1]:1"}) {
    EXPECT_FALSE(ParseAddress(text)->IsLoopback()) << text;
  }
}

}  // namespace
}  // namespace meshwright
