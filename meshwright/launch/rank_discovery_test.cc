#include "meshwright/launch/rank_discovery.h"

#include <map>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "meshwright/launch/coordinator_address.h"
#include "meshwright/launch/join_role.h"

namespace meshwright {
namespace {

using testing::HasSubstr;
using testing::Not;
using Variables = std::map<std::string, std::string>;

Environment Of(const Variables& variables) {
  return [variables](const char* name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    if (found == variables.end()) return std::nullopt;
    return found->second;
  };
}

Variables With(Variables variables, const Variables& more) {
  for (const auto& [name, value] : more) variables[name] = value;
  return variables;
}

Discovered Found(const Variables& variables) {
  const auto found = DiscoverRank(Of(variables));
  EXPECT_TRUE(found.ok()) << found.status();
  if (!found.ok() || !found->has_value()) return {};
  return **found;
}

std::string Error(const Variables& variables) {
  const auto found = DiscoverRank(Of(variables));
  if (found.ok()) return "";
  EXPECT_EQ(found.status().code(), absl::StatusCode::kInvalidArgument);
  const std::string message(found.status().message());
  EXPECT_THAT(message, Not(HasSubstr("\n")));
  return message;
}

const Variables kTorchrun = {{"RANK", "3"},
                             {"WORLD_SIZE", "8"},
                             {"LOCAL_RANK", "1"},
                             {"LOCAL_WORLD_SIZE", "2"},
                             {"MASTER_ADDR", "gpu02"},
                             {"MASTER_PORT", "29500"}};
const Variables kSlurm = {
    {"SLURM_PROCID", "3"},         {"SLURM_STEP_NUM_TASKS", "8"},
    {"SLURM_NTASKS", "16"},        {"SLURM_LOCALID", "1"},
    {"SLURM_JOB_ID", "4711"},      {"SLURM_STEP_ID", "0"},
    {"SLURM_STEP_NUM_NODES", "4"}, {"SLURM_STEP_NODELIST", "gpu[02-05]"}};
const Variables kOpenMpi = {
    {"OMPI_COMM_WORLD_RANK", "3"},
    {"OMPI_COMM_WORLD_SIZE", "4"},
    {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
    {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"},
    {"OMPI_MCA_orte_hnp_uri",
     "2033385472.0;tcp://10.0.0.1,10.1.0.1:50591;tcp6://[fd00::2]:48351"}};

TEST(RankDiscoveryTest, NothingWithoutALauncher) {
  const auto found = DiscoverRank(Of({{"PATH", "/bin"}, {"RANK", ""}}));
  ASSERT_TRUE(found.ok());
  EXPECT_FALSE(found->has_value());
}

TEST(RankDiscoveryTest, Torchrun) {
  const Discovered found = Found(kTorchrun);
  EXPECT_EQ(found, (Discovered{.source = "torchrun",
                               .variable = "RANK",
                               .rank = 3,
                               .world_size = 8,
                               .local_rank = 1,
                               .coordinator = "gpu02:29500"}));
  EXPECT_EQ(found.ToString(), "rank 3 of 8, from torchrun (RANK)");
}

TEST(RankDiscoveryTest, TorchrunsOwnStoreKeepsItsPort) {
  const Variables real = With(kTorchrun, {{"TORCHELASTIC_RUN_ID", "none"}});
  EXPECT_EQ(Found(real).coordinator, "gpu02:19500");
  EXPECT_EQ(Found(With(real, {{"MASTER_PORT", "15000"}})).coordinator,
            "gpu02:25000");
  EXPECT_EQ(
      Found(With(real, {{"MESHWRIGHT_COORDINATOR", "gpu03:80"}})).coordinator,
      "gpu03:80");
}

TEST(RankDiscoveryTest, Slurm) {
  const Discovered found = Found(kSlurm);
  EXPECT_EQ(found.ToString(), "rank 3 of 8, from Slurm (SLURM_PROCID)");
  EXPECT_EQ(found.local_rank, 1);
  EXPECT_EQ(found.coordinator, "gpu02:32152");
}

TEST(RankDiscoveryTest, SlurmJobsAndStepsHavePortsOfTheirOwn) {
  std::map<int, int> seen;
  for (int job = 1000; job < 2500; ++job) {
    for (int step = 0; step < 8; ++step) {
      const auto address = SlurmCoordinator(
          Of(With(kSlurm, {{"SLURM_JOB_ID", std::to_string(job)},
                           {"SLURM_STEP_ID", std::to_string(step)}})));
      const int port = address.value()->port;
      EXPECT_EQ(++seen[port], 1);
      EXPECT_TRUE(port >= 20000 && port < 32768) << port;
    }
  }
}

TEST(RankDiscoveryTest, SlurmOnOneHostStaysThere) {
  EXPECT_EQ(Found(With(kSlurm, {{"SLURM_STEP_NODELIST", "gpu02"}})).coordinator,
            "127.0.0.1:32152");
}

TEST(RankDiscoveryTest, ABatchScriptIsNoStep) {
  Variables batch = kSlurm;
  batch.erase("SLURM_STEP_NODELIST");
  EXPECT_EQ(Found(batch), Discovered{});
}

TEST(RankDiscoveryTest, OpenMpi) {
  const Discovered found = Found(kOpenMpi);
  EXPECT_EQ(found.ToString(),
            "rank 3 of 4, from Open MPI (OMPI_COMM_WORLD_RANK)");
  EXPECT_EQ(found.local_rank, 1);
  // 2033385472 is 31027 << 16.
  EXPECT_EQ(found.coordinator, "10.0.0.1:25491");
}

TEST(RankDiscoveryTest, OpenMpiVersion5) {
  Variables five = kOpenMpi;
  five.erase("OMPI_MCA_orte_hnp_uri");
  EXPECT_EQ(Found(five).coordinator, "");
  five["PMIX_NAMESPACE"] = "prterun-gpu-02-4242@1";
  EXPECT_EQ(Found(five).coordinator, "gpu-02:24242");
  five["OMPI_COMM_WORLD_LOCAL_SIZE"] = "4";
  EXPECT_EQ(Found(five).coordinator, "127.0.0.1:24242");
}

TEST(RankDiscoveryTest, TheInnerLauncherKnowsBest) {
  EXPECT_EQ(Found(With(kSlurm, kOpenMpi)).source, "Open MPI");
  EXPECT_EQ(Found(With(kSlurm, kTorchrun)).source, "torchrun");
  EXPECT_EQ(Found(With(kSlurm, {{"WORLD_SIZE", "2"}})).source, "Slurm");
}

TEST(RankDiscoveryTest, Jax) {
  const Variables jax = {{"JAX_PROCESS_ID", "1"},
                         {"JAX_NUM_PROCESSES", "2"},
                         {"JAX_COORDINATOR_ADDRESS", "gpu02:1234"}};
  EXPECT_EQ(Found(jax).ToString(), "rank 1 of 2, from JAX (JAX_PROCESS_ID)");
  EXPECT_EQ(Found(jax).coordinator, "gpu02:1234");
  EXPECT_EQ(Found(With(jax, {{"JAX_COORDINATOR_ADDRESS", "gpu02"},
                             {"JAX_COORDINATOR_PORT", "99"}}))
                .coordinator,
            "gpu02:99");
}

TEST(RankDiscoveryTest, Kubernetes) {
  const Variables job = {{"JOB_COMPLETION_INDEX", "2"},
                         {"MESHWRIGHT_WORLD_SIZE", "4"},
                         {"MESHWRIGHT_COORDINATOR", "train-0.train"}};
  EXPECT_EQ(Found(job).ToString(),
            "rank 2 of 4, from Kubernetes (JOB_COMPLETION_INDEX)");
  EXPECT_EQ(Found(job).coordinator, "train-0.train:7777");
}

TEST(RankDiscoveryTest, KubeflowAndSkyPilot) {
  EXPECT_EQ(Found({{"PET_NODE_RANK", "1"},
                   {"PET_NNODES", "2"},
                   {"PET_MASTER_ADDR", "job-0.job"},
                   {"PET_MASTER_PORT", "29400"}}),
            (Discovered{.source = "Kubeflow",
                        .variable = "PET_NODE_RANK",
                        .rank = 1,
                        .world_size = 2,
                        .coordinator = "job-0.job:29400"}));
  EXPECT_EQ(Found({{"SKYPILOT_NODE_RANK", "1"},
                   {"SKYPILOT_NUM_NODES", "2"},
                   {"SKYPILOT_NODE_IPS", "10.0.0.1\n10.0.0.2\n"}})
                .coordinator,
            "10.0.0.1:7777");
}

TEST(RankDiscoveryTest, WhatTheUserSaysCountsMore) {
  EXPECT_EQ(Found(With(kSlurm, {{"MASTER_ADDR", "ib02"}, {"MASTER_PORT", "5"}}))
                .coordinator,
            "ib02:5");
  EXPECT_EQ(Found(With(kOpenMpi, {{"MASTER_ADDR", "ib02"},
                                  {"MESHWRIGHT_COORDINATOR", "[fd00::1]:9"}}))
                .coordinator,
            "[fd00::1]:9");
}

TEST(RankDiscoveryTest, MistakesNameTheVariable) {
  EXPECT_EQ(Error({{"RANK", "x"}}), "RANK is 'x', not a number");
  EXPECT_EQ(Error({{"RANK", "-1"}}), "RANK is '-1', not a number");
  EXPECT_EQ(Error({{"RANK", "99999999999999999999"}}),
            "RANK is '99999999999999999999', not a number");
  EXPECT_EQ(Error({{"RANK", "3"}}),
            "RANK is set (torchrun), but WORLD_SIZE, the number of processes, "
            "is not");
  EXPECT_EQ(Error({{"JOB_COMPLETION_INDEX", "0"}}),
            "JOB_COMPLETION_INDEX is set (Kubernetes), but "
            "MESHWRIGHT_WORLD_SIZE or WORLD_SIZE, the number of processes, is "
            "not");
  EXPECT_EQ(Error(With(kTorchrun, {{"RANK", "8"}})),
            "RANK is 8, but WORLD_SIZE is 8: ranks are 0 to 7");
  EXPECT_EQ(Error(With(kTorchrun, {{"WORLD_SIZE", "0"}})),
            "RANK is 3, but WORLD_SIZE is 0");
  EXPECT_EQ(Error(With(kTorchrun, {{"LOCAL_RANK", "2"}})),
            "LOCAL_RANK is 2, but LOCAL_WORLD_SIZE is 2: ranks are 0 to 1");
  EXPECT_EQ(Error(With(kSlurm, {{"SLURM_LOCALID", "9"}})),
            "SLURM_LOCALID is 9, but the number of processes is 8: ranks are 0 "
            "to 7");
  EXPECT_EQ(Error({{"PET_NODE_RANK", "0"}, {"PET_NNODES", "1:4"}}),
            "PET_NNODES is '1:4', not a number");
  EXPECT_EQ(Error(With(kTorchrun, {{"MASTER_PORT", "70000"}})),
            "MASTER_PORT is 70000; at most 65535 is possible");
  EXPECT_EQ(Error(With(kTorchrun, {{"MASTER_PORT", "0"}})),
            "MASTER_PORT is 0; ports are 1 to 65535");
  EXPECT_EQ(Error(With(kTorchrun, {{"MASTER_ADDR", "gpu02:1"}})),
            "MASTER_ADDR has port 1, MASTER_PORT is 29500");
  EXPECT_THAT(Error(With(kSlurm, {{"MESHWRIGHT_COORDINATOR", "a b"}})),
              HasSubstr("MESHWRIGHT_COORDINATOR: 'a b' names no host"));
  EXPECT_THAT(Error(With(kSlurm, {{"SLURM_STEP_NODELIST", "gpu[1-"}})),
              HasSubstr("SLURM_STEP_NODELIST: 'gpu[1-' is no list of hosts"));
  EXPECT_THAT(Error(With(kSlurm, {{"SLURM_JOB_ID", ""}})),
              HasSubstr("SLURM_JOB_ID is not"));
  EXPECT_THAT(Error(With(kOpenMpi, {{"OMPI_MCA_orte_hnp_uri", "x"}})),
              HasSubstr("OMPI_MCA_orte_hnp_uri is 'x'"));
}

TEST(JoinRoleTest, RankZeroRunsTheCoordinator) {
  Discovered found = Found(kSlurm);
  EXPECT_EQ(*RoleOf(found), (JoinRole{false, "", "gpu02:32152"}));
  found.rank = 0;
  EXPECT_EQ(*RoleOf(found), (JoinRole{true, "0.0.0.0:32152", "gpu02:32152"}));
  found.coordinator = "[fd00::2]:80";
  EXPECT_EQ(*RoleOf(found), (JoinRole{true, "[::]:80", "[fd00::2]:80"}));
  found.coordinator = "localhost:80";
  EXPECT_EQ(*RoleOf(found), (JoinRole{true, "localhost:80", "localhost:80"}));
}

TEST(JoinRoleTest, SomebodyMustSayWhereItIs) {
  Discovered found = Found(kSlurm);
  found.coordinator = "";
  EXPECT_EQ(RoleOf(found).status().message(),
            "rank 3 of 8, from Slurm (SLURM_PROCID): nothing says where rank 0 "
            "is; set MESHWRIGHT_COORDINATOR to its HOST:PORT, or start "
            "`meshwright serve` and give --join HOST:PORT");
  found.rank = 0;
  found.world_size = 1;
  EXPECT_EQ(*RoleOf(found),
            (JoinRole{true, "127.0.0.1:7777", "127.0.0.1:7777"}));
}

}  // namespace
}  // namespace meshwright
