#include "meshwright/service/utf8.h"

#include "gtest/gtest.h"
#include "meshwright/base/file.h"
#include "meshwright/hlo/compression.h"
#include "meshwright/hlo/read_module.h"
#include "proto/service.pb.h"
#include "proto/worker.pb.h"

namespace meshwright {
namespace {

TEST(Utf8Test, KnowsCharacters) {
  for (const char* text : {"", "abc", "\xc3\xa9", "\xe2\x82\xac",
                           "\xf0\x9f\x98\x80", "\x7f", "\xf4\x8f\xbf\xbf"}) {
    EXPECT_TRUE(IsUtf8(text)) << text;
    EXPECT_EQ(AsUtf8(text), text);
  }
  for (const char* text :
       {"\x80", "\xff", "\xc3", "\xc0\xaf", "\xe0\x80\xaf", "\xed\xa0\x80",
        "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xe2\x82"}) {
    EXPECT_FALSE(IsUtf8(text));
    EXPECT_TRUE(IsUtf8(AsUtf8(text)));
  }
  EXPECT_EQ(AsUtf8("a\xff\xc3\xa9\xe2\x82"), "a?\xc3\xa9??");
}

TEST(Utf8Test, MakesEveryStringOfAMessage) {
  proto::WorkerReport report;
  report.mutable_heartbeat()->add_actions("good");
  report.mutable_heartbeat()->add_actions("\xff");
  MakeUtf8(report);
  EXPECT_EQ(report.heartbeat().actions(0), "good");
  EXPECT_EQ(report.heartbeat().actions(1), "?");
  report.mutable_step()->add_actions()->set_action("\xff");
  MakeUtf8(report);
  EXPECT_EQ(report.step().actions(0).action(), "?");
  report.mutable_part()->set_bytes("\xff");
  MakeUtf8(report);
  EXPECT_EQ(report.part().bytes(), "\xff");
}

// HLO's messages are of the lite kind, ours are not; they share a program.
TEST(Utf8Test, BothKindsOfMessagesAreRead) {
  const auto bytes = ReadFile(MW_SOURCE_DIR "/testdata/gpt_tiny.hlo.pb.zst");
  ASSERT_TRUE(bytes.ok()) << bytes.status();
  const auto module = ReadModule(Decompress(*bytes).value());
  ASSERT_TRUE(module.ok()) << module.status();
  proto::NamedTensorPart part;
  part.set_name("w");
  part.add_dimensions(7);
  proto::NamedTensorPart copy;
  ASSERT_TRUE(copy.ParseFromString(part.SerializeAsString()));
  EXPECT_EQ(copy.dimensions(0), 7);
}

}  // namespace
}  // namespace meshwright
