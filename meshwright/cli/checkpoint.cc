// meshwright checkpoint: lists, verifies and compares saved state; imports and
// exports safetensors files of other programs.
#include <sys/stat.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "meshwright/base/progress.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/base/units.h"
#include "meshwright/checkpoint/compare.h"
#include "meshwright/checkpoint/reader.h"
#include "meshwright/checkpoint/safetensors_set.h"
#include "meshwright/checkpoint/save_folder.h"
#include "meshwright/cli/commands.h"

namespace meshwright {
namespace {

using Json = nlohmann::ordered_json;

const CommandSpec& CheckpointSpec() {
  static const auto* const spec = new CommandSpec{
      .name = "checkpoint",
      .summary = "ls, verify, diff, export or import saved state",
      .positional = {"ls|verify|diff|export|import", "DIR", "[OTHER]"},
      .flags = {
          {"output", "DIR",
           "export: the folder of the safetensors set; import: that of "
           "checkpoints"},
          {"max-shard-mib", "M", "export: size of a file (default 4096)"},
          {"prefix", "P",
           "export: only tensors whose names begin so; import: before every "
           "name"},
          {"strip", "", "export: without the prefix"},
          {"step", "N", "import: the checkpoint's step (default 0)"},
          {"json", "", "one JSON object on stdout"}}};
  return *spec;
}

std::string Dump(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

// The folder itself if it is a checkpoint, otherwise all checkpoints in it.
// kNotFound if there are none.
absl::StatusOr<std::vector<std::string>> FoldersIn(const std::string& path) {
  MW_ASSIGN_OR_RETURN(const std::string newest, FindCheckpoint(path));
  if (newest == path) return std::vector{path};
  MW_ASSIGN_OR_RETURN(const std::vector<int64_t> steps, ListSteps(path));
  std::vector<std::string> folders;
  for (const int64_t step : steps) {
    folders.push_back(absl::StrCat(path, "/", StepFolderName(step)));
  }
  return folders;
}

std::string SavedAt(const std::string& folder) {
  struct stat info;
  const std::string file = absl::StrCat(folder, "/", kManifestName);
  if (::stat(file.c_str(), &info) != 0) return "";
  return absl::FormatTime("%Y-%m-%d %H:%M:%S", absl::FromTimeT(info.st_mtime),
                          absl::UTCTimeZone());
}

Json Describe(const CheckpointReader& reader) {
  const Manifest& manifest = reader.manifest();
  return {{"folder", reader.folder()},
          {"step", manifest.step},
          {"saved_at", SavedAt(reader.folder())},
          {"bytes", manifest.bytes()},
          {"tensors", manifest.tensors.size()},
          {"files", manifest.files.size()},
          {"program", manifest.program},
          {"extra", Json::parse(manifest.extra)}};
}

Json DescribeTensors(const Manifest& manifest) {
  Json tensors = Json::array();
  for (const SavedTensor& tensor : manifest.tensors) {
    tensors.push_back({{"name", tensor.info.name},
                       {"dtype", std::string(Name(tensor.info.type))},
                       {"shape", tensor.info.dimensions},
                       {"regions", tensor.regions.size()}});
  }
  return tensors;
}

// A damaged checkpoint is reported on its line; the others are listed
// nevertheless.
absl::Status List(const CommandLine& line) {
  const std::string& path = line.positional(1);
  MW_ASSIGN_OR_RETURN(const std::vector<std::string> folders, FoldersIn(path));
  const bool is_one = folders[0] == path;
  Json list = Json::array();
  for (const std::string& folder : folders) {
    const auto reader = CheckpointReader::Open(folder);
    if (is_one) MW_RETURN_IF_ERROR(reader.status());
    if (!reader.ok()) {
      list.push_back({{"folder", folder},
                      {"error", std::string(reader.status().message())}});
      if (!line.Has("json")) absl::PrintF("%s\n", reader.status().message());
      continue;
    }
    const Manifest& manifest = (*reader)->manifest();
    Json& described = list.emplace_back(Describe(**reader));
    if (is_one) described["contents"] = DescribeTensors(manifest);
    if (line.Has("json")) continue;
    std::vector<std::string> keys;
    for (const auto& [key, value] : described["extra"].items()) {
      keys.push_back(key);
    }
    absl::PrintF(
        "step %-8d %s UTC  %9s  %s in %s%s\n", manifest.step, SavedAt(folder),
        FormatBytes(manifest.bytes()),
        Counted(std::ssize(manifest.tensors), "tensor"),
        Counted(std::ssize(manifest.files), "file"),
        keys.empty() ? "" : absl::StrCat("; ", absl::StrJoin(keys, ", ")));
    if (!is_one) continue;
    for (const SavedTensor& tensor : manifest.tensors) {
      absl::PrintF("  %-40s %-20s %s\n", tensor.info.name,
                   tensor.info.ShapeText(),
                   Counted(std::ssize(tensor.regions), "region"));
    }
  }
  if (line.Has("json")) absl::PrintF("%s\n", Dump({{"checkpoints", list}}));
  return absl::OkStatus();
}

absl::Status VerifyOne(const std::string& folder) {
  MW_ASSIGN_OR_RETURN(const auto reader, CheckpointReader::Open(folder));
  return reader->Verify();
}

absl::Status VerifyAll(const CommandLine& line) {
  MW_ASSIGN_OR_RETURN(const std::vector<std::string> folders,
                      FoldersIn(line.positional(1)));
  absl::Status first;
  Json list = Json::array();
  Progress progress("verifying", std::ssize(folders));
  for (const std::string& folder : folders) {
    const absl::Status status = VerifyOne(folder);
    Json one = {{"folder", folder}, {"ok", status.ok()}};
    if (!status.ok()) one["error"] = std::string(status.message());
    list.push_back(std::move(one));
    progress.Advance();
    if (!line.Has("json") && status.ok()) absl::PrintF("%s: ok\n", folder);
    first.Update(status);
  }
  if (line.Has("json")) {
    absl::PrintF("%s\n", Dump({{"ok", first.ok()}, {"checkpoints", list}}));
  }
  return first;
}

Json ToJson(const TensorDifference& one) {
  Json json = {{"name", one.name}, {"a", nullptr}, {"b", nullptr}};
  if (!one.a.empty()) json["a"] = one.a;
  if (!one.b.empty()) json["b"] = one.b;
  if (one.a == one.b) {
    json["elements"] = one.elements;
    json["max_abs"] = one.max_abs;
    json["max_rel"] = one.max_rel;
  }
  return json;
}

void Print(const TensorDifference& one) {
  if (one.a.empty() || one.b.empty()) {
    absl::PrintF("%-40s only in %s: %s\n", one.name,
                 one.b.empty() ? "the first" : "the second",
                 one.b.empty() ? one.a : one.b);
  } else if (one.a != one.b) {
    absl::PrintF("%-40s is %s and %s\n", one.name, one.a, one.b);
  } else {
    absl::PrintF("%-40s %s differ, by at most %.3g (relative %.3g)\n", one.name,
                 Counted(one.elements, "element"), one.max_abs, one.max_rel);
  }
}

absl::Status Diff(const CommandLine& line) {
  if (line.positional_count() < 3) {
    return absl::InvalidArgumentError("diff needs two checkpoints: diff A B");
  }
  MW_ASSIGN_OR_RETURN(const auto a, CheckpointReader::Open(line.positional(1)));
  MW_ASSIGN_OR_RETURN(const auto b, CheckpointReader::Open(line.positional(2)));
  const Progress progress("comparing");
  MW_ASSIGN_OR_RETURN(const Comparison comparison, CompareCheckpoints(*a, *b));
  if (line.Has("json")) {
    Json different = Json::array();
    for (const TensorDifference& one : comparison.different) {
      different.push_back(ToJson(one));
    }
    absl::PrintF("%s\n", Dump({{"same", comparison.different.empty()},
                               {"equal", comparison.equal},
                               {"different", std::move(different)}}));
    return absl::OkStatus();
  }
  for (const TensorDifference& one : comparison.different) Print(one);
  absl::PrintF("%s equal bit for bit, %d not\n",
               Counted(comparison.equal, "tensor"),
               comparison.different.size());
  return absl::OkStatus();
}

absl::StatusOr<std::string> OutputOf(const CommandLine& line) {
  std::string output = line.Text("output", "");
  if (!output.empty()) return output;
  return absl::InvalidArgumentError(
      absl::StrCat(line.positional(0), " needs -o DIR"));
}

absl::Status Export(const CommandLine& line) {
  ExportOptions options{.prefix = line.Text("prefix", ""),
                        .strip = line.Has("strip")};
  MW_ASSIGN_OR_RETURN(options.output, OutputOf(line));
  MW_ASSIGN_OR_RETURN(const int64_t mib,
                      line.Integer("max-shard-mib", 4096, {1, 1 << 20}));
  options.max_file_bytes = mib << 20;
  MW_ASSIGN_OR_RETURN(const auto reader,
                      CheckpointReader::Open(line.positional(1)));
  const Progress progress("exporting");
  MW_ASSIGN_OR_RETURN(const ExportedSet set, ExportSet(*reader, options));
  if (line.Has("json")) {
    absl::PrintF("%s\n", Dump({{"folder", options.output},
                               {"tensors", set.tensors},
                               {"bytes", set.bytes},
                               {"files", set.files}}));
  } else {
    absl::PrintF("%s: %s of step %d, %s in %s\n", options.output,
                 Counted(set.tensors, "tensor"), reader->manifest().step,
                 FormatBytes(set.bytes),
                 Counted(std::ssize(set.files), "file"));
  }
  return absl::OkStatus();
}

absl::Status Import(const CommandLine& line) {
  ImportOptions options{.source = line.positional(1),
                        .prefix = line.Text("prefix", "")};
  MW_ASSIGN_OR_RETURN(options.directory, OutputOf(line));
  MW_ASSIGN_OR_RETURN(options.step,
                      line.Integer("step", 0, {0, 1'000'000'000'000}));
  const Progress progress("importing");
  MW_ASSIGN_OR_RETURN(const std::string folder, ImportSet(options));
  MW_ASSIGN_OR_RETURN(const auto reader, CheckpointReader::Open(folder));
  if (line.Has("json")) {
    absl::PrintF("%s\n", Dump(Describe(*reader)));
  } else {
    absl::PrintF("%s: %s, %s\n", folder,
                 Counted(std::ssize(reader->manifest().tensors), "tensor"),
                 FormatBytes(reader->manifest().bytes()));
  }
  return absl::OkStatus();
}

struct Subcommand {
  std::string name;
  absl::Status (*run)(const CommandLine& line);
};

absl::Status RunCheckpoint(const CommandLine& line) {
  static const auto* const actions =
      new std::vector<Subcommand>{{"ls", List},
                                  {"verify", VerifyAll},
                                  {"diff", Diff},
                                  {"export", Export},
                                  {"import", Import}};
  std::vector<std::string> names;
  for (const Subcommand& action : *actions) {
    names.push_back(action.name);
    if (action.name != line.positional(0)) continue;
    if (line.positional_count() > 2 && action.name != "diff") {
      return absl::InvalidArgumentError(
          absl::StrCat(action.name, " takes one folder, not \"",
                       line.positional(2), "\", too"));
    }
    return action.run(line);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("cannot \"", line.positional(0), "\"; it can ",
                   absl::StrJoin(names, ", ")));
}

}  // namespace

extern const Command kCheckpointCommand = {&CheckpointSpec, &RunCheckpoint};

}  // namespace meshwright
