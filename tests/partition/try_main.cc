// try MODULE MESH [name-glob=sharding ...]: partitions, prints, checks.
#include <fnmatch.h>

#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <map>

#include "absl/strings/str_split.h"
#include "meshwright/base/stopwatch.h"
#include "meshwright/hlo/print_module.h"
#include "meshwright/mesh/sharding_text.h"
#include "tests/partition/partition_oracle.h"

namespace meshwright {
namespace {

absl::Status Run(int argc, char** argv) {
  absl::StatusOr<Module> module = ReadZooModule(argv[1]);
  if (!module.ok()) return module.status();
  absl::StatusOr<Mesh> mesh = Mesh::Parse(argv[2]);
  if (!mesh.ok()) return mesh.status();
  const ModuleRoles roles = AnalyzeRoles(*module);
  Pins pins;
  const auto parameters = module->entry()->Parameters();
  pins.parameters.resize(parameters.size());
  for (int i = 3; i < argc; ++i) {
    const std::pair<std::string, std::string> pin =
        absl::StrSplit(argv[i], absl::MaxSplits('=', 1));
    for (size_t p = 0; p < parameters.size(); ++p) {
      if (fnmatch(pin.first.c_str(), roles.parameters[p].name.c_str(), 0) !=
          0) {
        continue;
      }
      auto sharding =
          ParseSharding(pin.second, parameters[p]->shape.dimensions, *mesh);
      if (!sharding.ok()) continue;
      pins.parameters[p] = *sharding;
    }
  }
  const Stopwatch watch;
  absl::StatusOr<Partitioned> split = Partition(*module, *mesh, pins);
  if (!split.ok()) return split.status();
  std::map<std::string, std::pair<double, double>> totals;
  double wire = 0;
  for (const Collective& c : split->collectives) {
    if (getenv("VERBOSE")) {
      printf("%s %s bytes=%ld x%g %s\n", c.kind.c_str(), c.axes.c_str(),
             long(c.bytes), c.count, c.tensor.c_str());
    }
    totals[c.kind + " " + c.axes].first += c.count;
    totals[c.kind + " " + c.axes].second += c.count * c.wire_bytes;
    wire += c.count * c.wire_bytes;
  }
  for (auto& [k, v] : totals)
    printf("%-30s x%-5g wire %g\n", k.c_str(), v.first, v.second);
  printf("wire %g bytes\n", wire);
  for (auto& f : split->fallbacks) printf("fallback %s\n", f.c_str());
  if (getenv("DUMP")) std::cout << ToString(split->module);
  auto oracle = PartitionOracle::Create(*module, 3);
  if (!oracle.ok()) return oracle.status();
  absl::Status status = (*oracle)->Check(*split);
  printf("max error %g\n", (*oracle)->max_error());
  return status;
}

}  // namespace
}  // namespace meshwright

int main(int argc, char** argv) {
  const absl::Status status = meshwright::Run(argc, argv);
  std::cout << status << "\n";
  return status.ok() ? 0 : 1;
}
