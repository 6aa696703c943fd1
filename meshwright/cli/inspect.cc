// meshwright inspect: describes a module.
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "meshwright/analysis/block_kinds.h"
#include "meshwright/analysis/blocks.h"
#include "meshwright/analysis/display_names.h"
#include "meshwright/analysis/flops.h"
#include "meshwright/analysis/index_range.h"
#include "meshwright/analysis/roles.h"
#include "meshwright/analysis/segments.h"
#include "meshwright/analysis/summary.h"
#include "meshwright/annotations/island_fit.h"
#include "meshwright/base/annotate.h"
#include "meshwright/base/file.h"
#include "meshwright/base/fold_names.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/base/units.h"
#include "meshwright/cli/commands.h"
#include "meshwright/cli/load_module.h"
#include "meshwright/cost/program_memory.h"
#include "meshwright/graph/flat_graph.h"
#include "meshwright/hlo/host_calls.h"
#include "meshwright/hlo/inline_calls.h"
#include "meshwright/hlo/kernel_calls.h"
#include "meshwright/hlo/print_module.h"
#include "meshwright/hlo/untuple_signature.h"
#include "meshwright/partition/assignment.h"
#include "meshwright/partition/take_islands.h"
#include "meshwright/partition/whole_ops.h"
#include "meshwright/rules/island.h"
#include "meshwright/rules/suggest_rule.h"

namespace meshwright {
namespace {

using Json = nlohmann::ordered_json;

const CommandSpec& InspectSpec() {
  static const auto* const spec = new CommandSpec{
      .name = "inspect",
      .summary = "what a module is: FLOPs, state, data, loss, blocks, segments",
      .positional = {"MODULE"},
      .flags = {{"parameters", "", "list every parameter"},
                {"text", "", "print the module as HLO text instead"},
                RulesFlag(),
                RequireRulesFlag(),
                {"json", "", "one JSON object on stdout"}}};
  return *spec;
}

// On one accelerator, estimated like the memory of plans.
struct StepMemory {
  ProgramBytes bytes;
  std::string peak_at;  // An HLO name; empty without temporaries.
};

StepMemory MemoryOf(const Module& module) {
  const Module step = InlineCalls(module);
  const FusionStyle style = FusionStyleFor(/*cpu=*/false);
  const ProgramBytes bytes =
      EstimateMemory(step, KernelsOf(step, ModuleWork(step), style), style);
  return {bytes, bytes.peak_at == nullptr ? "" : bytes.peak_at->name};
}

struct Inspection {
  ModuleRoles roles;
  ModuleSummary summary;
  ModuleWork work;
  std::vector<Segment> segments;
  StepMemory memory;
  BlockSummary blocks;
  std::map<int64_t, int64_t> bounds;
  // Instructions that a partitioned step replicates on every device, because no
  // rule can split them.
  std::vector<const Instruction*> whole;
  // Calls of the host, which prevent the step from running elsewhere, one line
  // each.
  std::vector<std::string> host_calls;
};

std::vector<const Instruction*> WholeInstructions(
    const FlatGraph& graph, const std::vector<Rule>& rules) {
  std::vector<const Instruction*> whole;
  for (const OpId op : WholeOps(graph, rules)) {
    whole.push_back(graph.ops[op].instruction);
  }
  return whole;
}

std::vector<std::string> HostCallLines(const Module& module) {
  std::vector<std::string> lines;
  for (const Instruction* call : HostCalls(module)) {
    lines.push_back(HostCallWords(module, *call));
  }
  return lines;
}

// User-visible names by HLO name.
class RoleNames {
 public:
  RoleNames(const Module& module, const ModuleRoles& roles)
      : names_(module, roles) {
    for (const auto& computation : module.computations()) {
      for (const auto& instruction : computation->instructions()) {
        by_name_[instruction->name] = instruction.get();
      }
    }
  }

  std::string Of(const std::string& name) const {
    const auto found = by_name_.find(name);
    return found == by_name_.end() ? name : names_.WithHloName(*found->second);
  }
  std::string Of(const Instruction& instruction) const {
    return names_.Of(instruction);
  }

 private:
  const DisplayNames names_;
  absl::flat_hash_map<std::string, const Instruction*> by_name_;
};

Inspection Inspect(const Module& module) {
  const ModuleRoles roles = AnalyzeRoles(module);
  const ModuleWork work(module);
  const FlatGraph graph = Flatten(module);
  const std::vector<Rule> rules = RulesOf(graph);
  return {
      .roles = roles,
      .summary = Summarize(module, roles),
      .work = work,
      .segments = FindSegments(module, work),
      .memory = MemoryOf(module),
      .blocks = SummarizeBlocks(graph, rules, FindBlocks(graph, rules), work),
      .bounds = IndexBounds(module),
      .whole = WholeInstructions(graph, rules),
      .host_calls = HostCallLines(module)};
}

Json Parameters(const Module& module, const Inspection& inspection) {
  Json list = Json::array();
  const std::vector<Instruction*> parameters = module.entry()->Parameters();
  for (size_t index = 0; index < parameters.size(); ++index) {
    const Shape& shape = parameters[index]->shape;
    const ParameterInfo& info = inspection.roles.parameters[index];
    Json row = {{"index", index},
                {"name", info.name},
                {"shape", shape.dimensions},
                {"dtype", std::string(Name(shape.element_type))},
                {"role", std::string(Name(info.role))}};
    const auto bound = inspection.bounds.find(static_cast<int64_t>(index));
    if (bound != inspection.bounds.end()) row["bound"] = bound->second;
    list.push_back(row);
  }
  return list;
}

Json Outputs(const Module& module, const Inspection& inspection) {
  Json list = Json::array();
  const std::vector<const Shape*> shapes =
      Leaves(module.entry()->root()->shape);
  for (size_t index = 0; index < shapes.size(); ++index) {
    const OutputInfo& info = inspection.roles.outputs[index];
    list.push_back({{"index", index},
                    {"name", info.name},
                    {"shape", shapes[index]->dimensions},
                    {"dtype", std::string(Name(shapes[index]->element_type))},
                    {"role", std::string(Name(info.role))}});
  }
  return list;
}

Json Memory(const StepMemory& memory) {
  return {{"peak_bytes", memory.bytes.peak()},
          {"peak_at", memory.peak_at},
          {"parameter_bytes", memory.bytes.arguments},
          {"output_bytes", memory.bytes.outputs}};
}

Json Segments(const std::vector<Segment>& segments) {
  Json list = Json::array();
  for (const Segment& segment : segments) {
    list.push_back({{"label", segment.label},
                    {"count", segment.count},
                    {"contractions", segment.contractions},
                    {"instructions", segment.instructions},
                    {"flops", segment.flops},
                    {"bytes", segment.bytes},
                    {"parameters", segment.parameters},
                    {"parameter_bytes", segment.parameter_bytes}});
  }
  return list;
}

Json BlocksJson(const BlockSummary& summary) {
  Json list = Json::array();
  for (const BlockKind& kind : summary.kinds) {
    Json row = {{"label", kind.label},
                {"count", kind.count},
                {"contractions", kind.contractions},
                {"instructions", kind.ops},
                {"flops", kind.work.flops},
                {"bytes", kind.work.bytes},
                {"parameters", kind.parameters},
                {"parameter_bytes", kind.parameter_bytes},
                {"splits", Json::array()}};
    for (const BlockSplit& split : kind.splits) {
      const Factor& factor = kind.factors[split.factor];
      const bool summed = factor.kind == FactorKind::kReduced;
      row["splits"].push_back({{"factor", split.factor},
                               {"size", factor.size},
                               {"kind", summed ? "summed" : "kept"},
                               {"parts", split.parts},
                               {"contraction_sums", split.contraction_sums},
                               {"other_sums", split.other_sums},
                               {"blocked", split.blocked}});
    }
    list.push_back(std::move(row));
  }
  return list;
}

Json ToJson(const Module& module, const Inspection& inspection) {
  const Work total = inspection.work.total();
  Json whole = Json::array();
  for (const Instruction* one : inspection.whole) {
    whole.push_back(absl::StrCat(one->name, " (", one->opcode_name(), ")"));
  }
  Json json = {{"module", module.name()},
               {"instructions", inspection.summary.instructions},
               {"computations", inspection.summary.computations},
               {"opcodes", inspection.summary.opcodes},
               {"flops", total.flops},
               {"transcendentals", total.transcendentals},
               {"bytes_accessed", total.bytes},
               {"unknown_loops", inspection.work.unknown_loops()},
               {"state_bytes", inspection.summary.state_bytes},
               {"data_bytes", inspection.summary.data_bytes},
               {"constant_bytes", inspection.summary.constant_bytes},
               {"parameters", Parameters(module, inspection)},
               {"outputs", Outputs(module, inspection)},
               {"loss", nullptr},
               {"segments", Segments(inspection.segments)},
               {"blocks", BlocksJson(inspection.blocks)},
               {"memory", Memory(inspection.memory)},
               {"whole", whole},
               {"host_calls", inspection.host_calls},
               {"warnings", inspection.roles.warnings}};
  if (inspection.roles.loss.has_value()) json["loss"] = *inspection.roles.loss;
  return json;
}

std::string ShapeText(const Json& row) {
  std::string dims;
  for (const Json& size : row["shape"]) {
    absl::StrAppend(&dims, dims.empty() ? "" : ",", size.get<int64_t>());
  }
  return absl::StrCat(row["dtype"].get<std::string>(), "[", dims, "]");
}

// Prints parameters that differ only in numbers in their names on one line.
void PrintParameters(const Json& rows, bool with_state) {
  // By everything printed beside the name, in order of first occurrence.
  std::vector<std::pair<std::string, std::string>> kinds;
  std::map<std::pair<std::string, std::string>, std::vector<std::string>> names;
  for (const Json& row : rows) {
    if (!with_state && row["role"] == "state") continue;
    const std::pair kind(
        row["role"].get<std::string>(),
        absl::StrCat(
            ShapeText(row),
            row.contains("bound")
                ? absl::StrCat("  in [0, ", row["bound"].get<int64_t>(), ")")
                : ""));
    std::vector<std::string>& of = names[kind];
    if (of.empty()) kinds.push_back(kind);
    of.push_back(row["name"].get<std::string>());
  }
  for (const auto& kind : kinds) {
    for (const FoldedName& name : FoldNames(names[kind])) {
      absl::PrintF("  %-9s %-44s %s\n", kind.first, name.ToString(),
                   kind.second);
    }
  }
}

// Prints instructions that no rule splits, equal ones on one line.
void PrintWhole(const Inspection& inspection, const RoleNames& names) {
  std::vector<std::string> lines;
  for (const Instruction* one : inspection.whole) {
    lines.push_back(
        absl::StrCat(names.Of(*one), " (", TargetOrOpcode(*one), ")"));
  }
  for (const FoldedName& line : FoldNames(lines)) {
    absl::PrintF("whole        %s: no rule splits it over devices\n",
                 line.ToString());
  }
}

void PrintIslands(const Module& module) {
  for (const Instruction* one : IslandsIn(module)) {
    const absl::StatusOr<Island> island = IslandOf(*one);
    if (!island.ok()) continue;
    absl::PrintF("island       %s: %s\n", one->metadata.op_name,
                 island->mesh.ToString());
  }
}

int64_t CountRole(const ModuleRoles& roles, ParameterRole role) {
  int64_t count = 0;
  for (const ParameterInfo& info : roles.parameters) count += info.role == role;
  return count;
}

double Percent(double part, double whole) {
  return whole > 0 ? 100 * part / whole : 0;
}

void PrintSegments(const Inspection& inspection, const RoleNames& names) {
  for (const Segment& segment : inspection.segments) {
    const double flops = segment.flops * static_cast<double>(segment.count);
    absl::PrintF(
        "segment      %s x %d: %s, %s FLOPs and %s bytes each, %s, %s; "
        "%.0f %%\n",
        names.Of(segment.label), segment.count,
        Counted(segment.instructions, "instruction"),
        FormatCount(segment.flops), FormatCount(segment.bytes),
        Counted(segment.parameters, "parameter"),
        FormatBytes(static_cast<int64_t>(segment.parameter_bytes)),
        Percent(flops, inspection.work.total().flops));
  }
}

void PrintBlocks(const BlockSummary& summary, const RoleNames& names) {
  int64_t count = 0;
  for (const BlockKind& kind : summary.kinds) count += kind.count;
  if (count == 0) return;
  absl::PrintF(
      "blocks       %d of %d kinds, with %d of %d ops and %.1f %% of the "
      "FLOPs\n",
      count, summary.kinds.size(), summary.block_ops, summary.ops,
      Percent(summary.block_work.flops, summary.work.flops));
  for (const BlockKind& kind : summary.kinds) {
    const double flops = kind.work.flops * static_cast<double>(kind.count);
    absl::PrintF(
        "block        %s x %d: %s with %s, %s FLOPs and %s bytes each, %s, "
        "%s; %.0f %%\n",
        names.Of(kind.label), kind.count, Counted(kind.ops, "op"),
        Counted(kind.contractions, "contraction"), FormatCount(kind.work.flops),
        FormatCount(kind.work.bytes), Counted(kind.parameters, "parameter"),
        FormatBytes(static_cast<int64_t>(kind.parameter_bytes)),
        Percent(flops, summary.work.flops));
  }
}

void PrintReport(const Module& module, const Inspection& inspection,
                 bool all_parameters) {
  const ModuleSummary& summary = inspection.summary;
  const Work total = inspection.work.total();
  absl::PrintF("module       %s\n", module.name());
  absl::PrintF("instructions %d in %s\n", summary.instructions,
               Counted(summary.computations, "computation"));
  absl::PrintF("work         %s FLOPs, %s transcendentals, %s bytes touched\n",
               FormatCount(total.flops), FormatCount(total.transcendentals),
               FormatCount(total.bytes));
  const std::pair<ParameterRole, int64_t> rows[] = {
      {ParameterRole::kState, summary.state_bytes},
      {ParameterRole::kData, summary.data_bytes},
      {ParameterRole::kConstant, summary.constant_bytes}};
  for (const auto& [role, bytes] : rows) {
    const int64_t count = CountRole(inspection.roles, role);
    if (count == 0) continue;
    absl::PrintF("%-12s %s, %s\n", std::string(Name(role)),
                 Counted(count, "tensor"), FormatBytes(bytes));
  }
  if (inspection.roles.loss.has_value()) {
    const int64_t loss = *inspection.roles.loss;
    absl::PrintF("loss         output %d, %s\n", loss,
                 inspection.roles.outputs[loss].name);
  }
  const RoleNames names(module, inspection.roles);
  const StepMemory& memory = inspection.memory;
  absl::PrintF(
      "memory       %s at the peak%s\n", FormatBytes(memory.bytes.peak()),
      memory.peak_at.empty() ? ""
                             : absl::StrCat(", at ", names.Of(memory.peak_at)));
  if (inspection.roles.state_pairs.empty()) {
    absl::PrintF(
        "note         no parameter is state, nothing is kept from step to "
        "step; in HLO text, input_output_alias={ {0}: (2, {}, may-alias) } "
        "after the module's name makes output 0 the next value of parameter "
        "2\n");
  }
  PrintSegments(inspection, names);
  PrintBlocks(inspection.blocks, names);
  if (inspection.work.unknown_loops() > 0) {
    absl::PrintF("note         %s of unknown length: counted as one pass\n",
                 Counted(inspection.work.unknown_loops(), "loop"));
  }
  PrintWhole(inspection, names);
  PrintIslands(module);
  for (const std::string& line : inspection.host_calls) {
    absl::PrintF("host         %s: no other process can run this\n", line);
  }
  for (const std::string& warning : inspection.roles.warnings) {
    absl::PrintF("warning      %s\n", warning);
  }
  absl::PrintF("parameters\n");
  PrintParameters(Parameters(module, inspection), all_parameters);
  if (!all_parameters) {
    absl::PrintF("  (--parameters lists the state too)\n");
  }
}

absl::Status RunInspect(const CommandLine& line) {
  MW_RETURN_IF_ERROR(line.CheckNotBoth("text", "json"));
  const std::string path = line.positional(0);
  MW_ASSIGN_OR_RETURN(Module module, LoadModule(path));
  if (!line.Has("text")) {
    UntupleSignature(module);
    MW_RETURN_IF_ERROR(Annotate(CallsToKernels(module), path));
  }
  MW_RETURN_IF_ERROR(ReadRules(line.Optional("rules"), path, module));
  if (line.Has("text")) {
    absl::PrintF("%s", ToString(module));
    return absl::OkStatus();
  }
  if (HasManualRegions(module)) {
    absl::StatusOr<Module> taken = TakeIslands(InlineCalls(module));
    if (taken.ok()) module = *std::move(taken);
  }
  if (line.Has("require-rules")) {
    MW_RETURN_IF_ERROR(Annotate(RequireRules(module), path));
  }
  const Inspection inspection = Inspect(module);
  if (line.Has("json")) {
    absl::PrintF("%s\n",
                 ToJson(module, inspection)
                     .dump(2, ' ', false, Json::error_handler_t::replace));
  } else {
    PrintReport(module, inspection, line.Has("parameters"));
  }
  return absl::OkStatus();
}

}  // namespace

extern const Command kInspectCommand = {&InspectSpec, &RunInspect};

}  // namespace meshwright
