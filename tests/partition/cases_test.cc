// Small modules of which it is known what they should communicate: the results
// are right and the collectives are the wanted ones. The cases come from
// cases/*.py; make_cases.py lowers them into testdata/cases/.
#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "meshwright/base/file.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/hlo/read_module.h"
#include "meshwright/hlo/verify.h"
#include "meshwright/mesh/sharding_text.h"
#include "nlohmann/json.hpp"
#include "tests/partition/partition_oracle.h"

namespace meshwright {
namespace {

using Json = nlohmann::json;

constexpr char kFolder[] = MW_SOURCE_DIR "/tests/partition/testdata/cases/";

struct Case {
  std::string name;
  Json json;
};

std::ostream& operator<<(std::ostream& out, const Case& one) {
  return out << one.name;
}

std::vector<Case> ReadCases() {
  const absl::StatusOr<std::string> text =
      ReadFile(absl::StrCat(kFolder, "cases.json"));
  std::vector<Case> cases;
  if (!text.ok()) return cases;
  for (const Json& json : Json::parse(*text)) {
    cases.push_back({json["name"], json});
  }
  return cases;
}

absl::StatusOr<Module> ReadCaseModule(const Case& one) {
  const std::string name = one.json["module"];
  MW_ASSIGN_OR_RETURN(const std::string bytes,
                      ReadFile(absl::StrCat(kFolder, name, ".hlo.pb.zst")));
  MW_ASSIGN_OR_RETURN(Module module, ReadModule(bytes));
  MW_RETURN_IF_ERROR(Verify(module));
  return module;
}

absl::StatusOr<std::vector<std::optional<Annotation>>> ParsePins(
    const Json& texts, const std::vector<Shape>& shapes, const Mesh& mesh) {
  std::vector<std::optional<Annotation>> pins;
  for (size_t i = 0; i < texts.size(); ++i) {
    MW_ASSIGN_OR_RETURN(
        Sharding sharding,
        ParseSharding(texts[i].get<std::string>(), shapes[i].dimensions, mesh));
    pins.push_back(std::move(sharding));
  }
  return pins;
}

absl::StatusOr<Pins> PinsOf(const Case& one, const Module& module,
                            const Mesh& mesh) {
  std::vector<Shape> parameters;
  for (const Instruction* parameter : module.entry()->Parameters()) {
    parameters.push_back(parameter->shape);
  }
  Pins pins;
  MW_ASSIGN_OR_RETURN(pins.parameters,
                      ParsePins(one.json["parameters"], parameters, mesh));
  MW_ASSIGN_OR_RETURN(
      pins.outputs,
      ParsePins(one.json["outputs"], module.entry()->root()->shape.tuple_shapes,
                mesh));
  return pins;
}

std::string ToText(const std::vector<Collective>& collectives) {
  std::string text;
  for (const Collective& one : collectives) {
    absl::StrAppend(&text, "  ", one.count, " ", one.kind, " ", one.axes,
                    " of ", one.bytes, " bytes for ", one.tensor, "\n");
  }
  return text.empty() ? "  none\n" : text;
}

bool IsLike(const Collective& one, const Json& wanted) {
  return wanted["kind"] == one.kind &&
         (!wanted.contains("axes") || wanted["axes"] == one.axes) &&
         (!wanted.contains("bytes") || wanted["bytes"] == one.bytes);
}

// Takes what `wanted` describes out of `collectives`; false if it is not there.
bool Take(const Json& wanted, std::vector<Collective>& collectives) {
  double left = wanted.value("count", 1.0);
  double total = 0;
  bool any = false;
  std::erase_if(collectives, [&](const Collective& one) {
    if (!IsLike(one, wanted)) return false;
    if (!wanted.contains("total") && left < one.count) return false;
    any = true;
    left -= one.count;
    total += static_cast<double>(one.bytes) * one.count;
    return true;
  });
  if (wanted.contains("total")) return any && total <= wanted["total"];
  return left == 0;
}

bool Match(const Json& alternative, std::vector<Collective> collectives) {
  for (const Json& wanted : alternative) {
    if (!Take(wanted, collectives)) return false;
  }
  return collectives.empty();
}

class PartitionCase : public testing::TestWithParam<Case> {};

TEST_P(PartitionCase, CommunicatesWhatIsWanted) {
  const Case& one = GetParam();
  if (one.json.contains("known")) {
    GTEST_SKIP() << one.json["known"].get<std::string>();
  }
  const absl::StatusOr<Module> module = ReadCaseModule(one);
  ASSERT_TRUE(module.ok()) << module.status();
  const absl::StatusOr<Mesh> mesh =
      Mesh::Parse(one.json["mesh"].get<std::string>());
  ASSERT_TRUE(mesh.ok()) << mesh.status();
  const absl::StatusOr<Pins> pins = PinsOf(one, *module, *mesh);
  ASSERT_TRUE(pins.ok()) << pins.status();
  Prices prices;
  if (one.json.contains("large")) prices.collective.latency = 1e-12;
  const absl::StatusOr<Partitioned> split =
      Partition(*module, *mesh, *pins, prices);
  ASSERT_TRUE(split.ok()) << split.status();
  for (size_t i = 0; i < pins->parameters.size(); ++i) {
    EXPECT_TRUE(split->parameters[i] == pins->parameters[i]->sharding)
        << "parameter " << i;
  }
  for (size_t i = 0; i < pins->outputs.size(); ++i) {
    EXPECT_TRUE(split->outputs[i] == pins->outputs[i]->sharding)
        << "output " << i;
  }
  bool matches = false;
  for (const Json& alternative : one.json["wanted"]) {
    matches = matches || Match(alternative, split->collectives);
  }
  EXPECT_TRUE(matches) << ToText(split->collectives) << "wanted "
                       << one.json["wanted"].dump();
  EXPECT_TRUE(split->fallbacks.empty()) << split->fallbacks[0];
  const auto oracle = PartitionOracle::Create(*module, 1);
  ASSERT_TRUE(oracle.ok()) << oracle.status();
  const absl::Status status = (*oracle)->Check(*split);
  EXPECT_TRUE(status.ok()) << status;
}

INSTANTIATE_TEST_SUITE_P(All, PartitionCase, testing::ValuesIn(ReadCases()),
                         [](const auto& test) { return test.param.name; });

TEST(PartitionCases, AreThere) { EXPECT_GE(ReadCases().size(), 90u); }

}  // namespace
}  // namespace meshwright
