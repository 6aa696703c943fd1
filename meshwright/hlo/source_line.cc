#include "meshwright/hlo/source_line.h"

#include "absl/strings/str_cat.h"
#include "proto/hlo.pb.h"

namespace meshwright {
namespace {

// Element `id` of a list that counts from 1; null if there is none.
template <typename List>
auto At(const List& list, int32_t id) {
  return id >= 1 && id <= list.size() ? &list.Get(id - 1) : nullptr;
}

}  // namespace

std::string SourceLine(const Module& module, const Instruction& instruction) {
  const Metadata& metadata = instruction.metadata;
  if (!metadata.source_file.empty()) {
    return absl::StrCat(metadata.source_file, ":", metadata.source_line);
  }
  pb::MetadataStackFrame own;
  pb::ModuleStackFrames all;
  if (!own.ParseFromString(metadata.unknown_fields) ||
      !all.ParseFromString(module.unknown_fields)) {
    return "";
  }
  const pb::StackFrameIndexProto& index = all.stack_frame_index();
  const auto* frame = At(index.stack_frames(), own.stack_frame_id());
  if (frame == nullptr) return "";
  const auto* place = At(index.file_locations(), frame->file_location_id());
  if (place == nullptr) return "";
  const std::string* file = At(index.file_names(), place->file_name_id());
  return file == nullptr ? "" : absl::StrCat(*file, ":", place->line());
}

}  // namespace meshwright
