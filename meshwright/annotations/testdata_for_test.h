// The annotated modules in testdata/, lowered by jax 0.4.35 and 0.10.2.
#ifndef MESHWRIGHT_ANNOTATIONS_TESTDATA_FOR_TEST_H_
#define MESHWRIGHT_ANNOTATIONS_TESTDATA_FOR_TEST_H_

#include <string>

#include "gtest/gtest.h"
#include "meshwright/base/file.h"
#include "meshwright/hlo/read_module.h"
#include "meshwright/hlo/verify.h"

namespace meshwright {

// `name` is "step.gspmd.jax04" for testdata/step.gspmd.jax04.hlo.pb.gz.
inline Module ReadTestModule(const std::string& name) {
  const absl::StatusOr<std::string> bytes =
      ReadFile(std::string(MW_SOURCE_DIR "/meshwright/annotations/testdata/") +
               name + ".hlo.pb.gz");
  EXPECT_TRUE(bytes.ok()) << bytes.status();
  absl::StatusOr<Module> module = ReadModule(*bytes);
  EXPECT_TRUE(module.ok()) << module.status();
  return *std::move(module);
}

// How the modules are annotated, by which version of jax.
inline const char* const kForms[] = {"gspmd.jax04", "gspmd.jax10",
                                     "shardy.jax04", "shardy.jax10"};

}  // namespace meshwright

#endif  // MESHWRIGHT_ANNOTATIONS_TESTDATA_FOR_TEST_H_
