// The modules in testdata/, lowered by jax 0.4.35 and 0.10.2.
#ifndef MESHWRIGHT_ANALYSIS_TESTDATA_FOR_TEST_H_
#define MESHWRIGHT_ANALYSIS_TESTDATA_FOR_TEST_H_

#include <string>

#include "gtest/gtest.h"
#include "meshwright/base/file.h"
#include "meshwright/hlo/read_module.h"
#include "meshwright/hlo/verify.h"

namespace meshwright {

// `name` is "gpt.jax04" for testdata/gpt.jax04.hlo.pb.gz.
inline Module ReadTestModule(const std::string& name) {
  const absl::StatusOr<std::string> bytes =
      ReadFile(std::string(MW_SOURCE_DIR "/meshwright/analysis/testdata/") +
               name + ".hlo.pb.gz");
  EXPECT_TRUE(bytes.ok()) << bytes.status();
  absl::StatusOr<Module> module = ReadModule(*bytes);
  EXPECT_TRUE(module.ok()) << module.status();
  EXPECT_TRUE(Verify(*module).ok()) << Verify(*module);
  return *std::move(module);
}

inline const char* const kJaxVersions[] = {"jax04", "jax10"};

}  // namespace meshwright

#endif  // MESHWRIGHT_ANALYSIS_TESTDATA_FOR_TEST_H_
