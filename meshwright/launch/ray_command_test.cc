#include "meshwright/launch/ray_command.h"

#include "absl/strings/str_join.h"
#include "gtest/gtest.h"

namespace meshwright {
namespace {

std::string Words(const RayOptions& options, const std::string& set) {
  return absl::StrJoin(
      RayCommand(options,
                 [&](const char* name) -> std::optional<std::string> {
                   if (set != name) return std::nullopt;
                   return "/venv";
                 }),
      " ");
}

TEST(RayCommandTest, RunsThePythonPackage) {
  const RayOptions plain = {.workers = 2, .argv = {"meshwright", "worker"}};
  EXPECT_EQ(Words(plain, ""),
            "python3 -m meshwright.launch_ray --address auto --workers 2 -- "
            "meshwright worker");
  EXPECT_EQ(Words({.address = "10.0.0.1:6379",
                   .workers = 4,
                   .gpus = 8,
                   .argv = {"x"},
                   .environment = {{"A", "b c"}}},
                  "VIRTUAL_ENV"),
            "/venv/bin/python -m meshwright.launch_ray --address 10.0.0.1:6379 "
            "--workers 4 --gpus 8 --env A=b c -- x");
  EXPECT_EQ(Words(plain, "MESHWRIGHT_PYTHON").substr(0, 8), "/venv -m");
}

}  // namespace
}  // namespace meshwright
