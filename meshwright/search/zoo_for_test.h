// The tiny models of the zoo, in testdata/.
#ifndef MESHWRIGHT_SEARCH_ZOO_FOR_TEST_H_
#define MESHWRIGHT_SEARCH_ZOO_FOR_TEST_H_

#include <string>
#include <utility>

#include "gtest/gtest.h"
#include "meshwright/base/file.h"
#include "meshwright/hlo/inline_calls.h"
#include "meshwright/hlo/read_module.h"

namespace meshwright {

// `name` is "gpt" for testdata/gpt_tiny.hlo.pb.zst.
inline Module ReadTiny(const std::string& name) {
  const auto bytes =
      ReadFile(MW_SOURCE_DIR "/testdata/" + name + "_tiny.hlo.pb.zst");
  EXPECT_TRUE(bytes.ok()) << bytes.status();
  auto module = ReadModule(*bytes);
  EXPECT_TRUE(module.ok()) << module.status();
  return *std::move(module);
}
// With calls inlined.
inline Module ReadTinyInline(const std::string& name) {
  return InlineCalls(ReadTiny(name));
}

}  // namespace meshwright

#endif  // MESHWRIGHT_SEARCH_ZOO_FOR_TEST_H_
