#include "meshwright/runtime/pipeline_runner.h"

#include <map>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/data/dataset_spec.h"
#include "meshwright/runtime/synthetic_inputs.h"
#include "meshwright/state/join_tensors.h"

namespace meshwright {

PipelineRunner::PipelineRunner(const Module* module, const SplitStep* split,
                               std::unique_ptr<JobRunner> pipeline)
    : module_(*module),
      split_(split),
      roles_(AnalyzeRoles(*module)),
      pipeline_(std::move(pipeline)) {}

absl::StatusOr<std::vector<Tensor>> PipelineRunner::PartsOf(
    int64_t number, Tensor tensor) const {
  const Shape& shape = module_.entry()->Parameters()[number]->shape;
  MW_RETURN_IF_ERROR(Conform(shape, tensor));
  const TensorParts& parts = split_->parameters[number];
  std::vector<Tensor> given;
  for (int64_t i = 0; i < parts.count(); ++i) {
    given.push_back(parts.bounds.empty()
                        ? tensor
                        : SliceTensor(tensor, parts.dimension, parts.bounds[i],
                                      parts.bounds[i + 1]));
    given.back().name = pipeline_->roles().parameters[parts.first + i].name;
  }
  return given;
}

absl::Status PipelineRunner::SetParameter(int64_t number, Tensor tensor) {
  MW_ASSIGN_OR_RETURN(std::vector<Tensor> parts,
                      PartsOf(number, std::move(tensor)));
  return pipeline_->Set(std::move(parts));
}

absl::Status PipelineRunner::Stage(int64_t batch, LentTensor tensor) {
  if (split_ == nullptr) return pipeline_->Stage(batch, std::move(tensor));
  MW_ASSIGN_OR_RETURN(const int64_t number,
                      FindParameter(roles_, tensor.tensor.name));
  MW_ASSIGN_OR_RETURN(std::vector<Tensor> parts,
                      PartsOf(number, Owned(std::move(tensor))));
  for (Tensor& part : parts) {
    MW_RETURN_IF_ERROR(pipeline_->Stage(batch, {.tensor = std::move(part)}));
  }
  return absl::OkStatus();
}

absl::Status PipelineRunner::FillSynthetic(uint64_t seed) {
  if (split_ == nullptr) return pipeline_->FillSynthetic(seed);
  return ForEachSynthetic(
      module_, roles_, seed, [this](int64_t number, Tensor tensor) {
        const int64_t first = split_->parameters[number].first;
        if (pipeline_->IsFed(first)) {
          return absl::OkStatus();
        }
        return SetParameter(number, std::move(tensor));
      });
}

absl::Status PipelineRunner::Set(std::vector<Tensor> tensors) {
  if (split_ == nullptr) return pipeline_->Set(std::move(tensors));
  for (Tensor& tensor : tensors) {
    MW_ASSIGN_OR_RETURN(const int64_t number,
                        FindParameter(roles_, tensor.name));
    MW_RETURN_IF_ERROR(SetParameter(number, std::move(tensor)));
  }
  return absl::OkStatus();
}

absl::Status PipelineRunner::Init(const Module& init,
                                  std::vector<Tensor> arguments,
                                  uint64_t seed) {
  if (split_ == nullptr) {
    return pipeline_->Init(init, std::move(arguments), seed);
  }
  MW_ASSIGN_OR_RETURN(const std::vector<InitPiece> whole,
                      MatchInit(init, module_, roles_));
  std::vector<InitPiece> pieces;
  for (const InitPiece& piece : whole) {
    const TensorParts& parts = split_->parameters[piece.parameter];
    for (int64_t i = 0; i < parts.count(); ++i) {
      InitPiece& part = pieces.emplace_back(piece);
      part.parameter = parts.first + i;
      if (parts.bounds.empty()) continue;
      part.dimension = parts.dimension;
      part.begin = parts.bounds[i];
      part.end = parts.bounds[i + 1];
    }
  }
  return pipeline_->InitPieces(init, pieces, std::move(arguments), seed);
}

absl::Status PipelineRunner::Feed(const std::string& dataset,
                                  int64_t position) {
  if (split_ == nullptr || dataset.empty()) {
    return pipeline_->Feed(dataset, position);
  }
  MW_ASSIGN_OR_RETURN(DatasetSpec spec, ParseDatasetSpec(dataset));
  std::map<std::string, std::string> parameters;
  for (const auto& [name, field] : spec.parameters) {
    const absl::StatusOr<int64_t> number = FindParameter(roles_, name);
    if (!number.ok()) {
      parameters[name] = field;  // Rejected like any other unknown name.
      continue;
    }
    const TensorParts& parts = split_->parameters[*number];
    if (parts.count() != 1) {
      return absl::InvalidArgumentError(absl::StrCat(
          "dataset: parameter ", name, " is kept in parts, on several stages"));
    }
    parameters[pipeline_->roles().parameters[parts.first].name] = field;
  }
  spec.parameters = std::move(parameters);
  return pipeline_->Feed(ToJson(spec), position);
}

absl::StatusOr<std::vector<Tensor>> PipelineRunner::ReadState() const {
  MW_ASSIGN_OR_RETURN(std::vector<Tensor> parts, pipeline_->ReadState());
  if (split_ == nullptr) return parts;
  std::map<std::string, size_t> part_of;
  for (size_t i = 0; i < parts.size(); ++i) part_of[parts[i].name] = i;
  std::vector<Tensor> state;
  for (const StatePair& pair : roles_.state_pairs) {
    const TensorParts& made = split_->parameters[pair.parameter];
    std::vector<Tensor> found;
    for (int64_t i = 0; i < made.count(); ++i) {
      found.push_back(std::move(parts[part_of.at(
          pipeline_->roles().parameters[made.first + i].name)]));
    }
    state.push_back(JoinTensors(found, made.dimension));
    state.back().name = roles_.parameters[pair.parameter].name;
  }
  return state;
}

absl::StatusOr<Tensor> PipelineRunner::Read(const std::string& name) const {
  if (split_ == nullptr) return pipeline_->Read(name);
  MW_ASSIGN_OR_RETURN(const NamedArray found, FindReadable(roles_, name));
  const TensorParts& made = found.is_state ? split_->parameters[found.index]
                                           : split_->outputs[found.index];
  const ModuleRoles& roles = pipeline_->roles();
  std::vector<Tensor> parts;
  for (int64_t i = made.first; i < made.first + made.count(); ++i) {
    MW_ASSIGN_OR_RETURN(
        parts.emplace_back(),
        pipeline_->Read(found.is_state ? roles.parameters[i].name
                                       : roles.outputs[i].name));
  }
  Tensor tensor = JoinTensors(parts, made.dimension);
  tensor.name = name;
  return tensor;
}

StateMap PipelineRunner::SplitState() const {
  StateMap map;
  const std::vector<Instruction*> parameters = module_.entry()->Parameters();
  for (const StatePair& pair : roles_.state_pairs) {
    const Shape& shape = parameters[pair.parameter]->shape;
    const TensorParts& made = split_->parameters[pair.parameter];
    for (int64_t i = 0; i < made.count(); ++i) {
      StateMap::Part& part = map.parts.emplace_back();
      part.parameter = made.first + i;
      part.tensor = std::ssize(map.tensors);
      part.start.resize(shape.dimensions.size(), 0);
      if (!made.bounds.empty()) part.start[made.dimension] = made.bounds[i];
    }
    map.tensors.push_back({.name = roles_.parameters[pair.parameter].name,
                           .type = shape.element_type,
                           .dimensions = shape.dimensions});
  }
  return map;
}

absl::Status PipelineRunner::Save(const SaveOptions& options) {
  return split_ == nullptr ? pipeline_->Save(options)
                           : pipeline_->SaveState(options, SplitState());
}

absl::StatusOr<RestoredState> PipelineRunner::Restore(
    const std::string& directory) {
  return split_ == nullptr ? pipeline_->Restore(directory)
                           : pipeline_->RestoreState(directory, SplitState());
}

absl::StatusOr<std::vector<Tensor>> PipelineRunner::ReadOutputs() const {
  MW_ASSIGN_OR_RETURN(std::vector<Tensor> parts, pipeline_->ReadOutputs());
  if (split_ == nullptr) return parts;
  std::vector<Tensor> outputs;
  for (size_t i = 0; i < split_->outputs.size(); ++i) {
    const TensorParts& made = split_->outputs[i];
    outputs.push_back(JoinTensors(
        absl::MakeConstSpan(parts).subspan(made.first, made.count()),
        made.dimension));
    outputs.back().name = roles_.outputs[i].name;
  }
  return outputs;
}

}  // namespace meshwright
