#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "gtest/gtest.h"
#include "meshwright/api/load_plan.h"
#include "meshwright/api/load_step.h"
#include "meshwright/base/file.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/planner/planner.h"

namespace meshwright {
namespace {

std::string PathOf(absl::string_view file) {
  return absl::StrCat(MW_SOURCE_DIR, "/testdata/", file);
}

// A hash of the text of all programs that a plan describes.
absl::StatusOr<uint64_t> ProgramsOf(const Module& module, const Plan& plan) {
  if (plan.stages() == 1) {
    MW_ASSIGN_OR_RETURN(const Partitioned split, PartitionPlan(module, plan));
    return Fingerprint(split.module);
  }
  MW_ASSIGN_OR_RETURN(const PlannedStages stages, StagePlan(module, plan));
  uint64_t hash = 0;
  for (const Partitioned& program : stages.layout.programs) {
    hash = hash * 31 + Fingerprint(program.module);
  }
  return hash;
}

// programs.txt has a line for each frozen plan of this format: its name and the
// hash of its programs when it was frozen. If another hash is right now, plans
// that users have would give other programs: raise kFormat (plan_json.cc) and
// freeze anew.
TEST(FrozenPlansTest, GiveTheSamePrograms) {
  const absl::StatusOr<Module> module = LoadStep(PathOf("gpt_tiny.hlo.pb.zst"));
  ASSERT_TRUE(module.ok()) << module.status();
  const absl::StatusOr<std::string> known =
      ReadFile(PathOf("frozen_plans/programs.txt"));
  ASSERT_TRUE(known.ok()) << known.status();
  int count = 0;
  for (const absl::string_view line :
       absl::StrSplit(*known, '\n', absl::SkipEmpty())) {
    const std::pair<std::string, std::string> one = absl::StrSplit(line, ' ');
    const absl::StatusOr<Plan> plan =
        LoadPlan(PathOf(absl::StrCat("frozen_plans/", one.first, ".json")));
    ASSERT_TRUE(plan.ok()) << plan.status();
    const absl::StatusOr<uint64_t> programs = ProgramsOf(*module, *plan);
    ASSERT_TRUE(programs.ok()) << one.first << ": " << programs.status();
    EXPECT_EQ(absl::StrFormat("%016x", *programs), one.second) << one.first;
    ++count;
  }
  EXPECT_GE(count, 6);
}

}  // namespace
}  // namespace meshwright
