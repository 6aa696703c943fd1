#include "meshwright/cli/demo_data.h"

#include <cstring>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/hlo/read_module.h"
#include "meshwright/hlo/verify.h"
#include "meshwright/state/tensor_file.h"

extern "C" {
extern const char mw_demo_module_begin[], mw_demo_module_end[];
extern const char mw_demo_state_begin[], mw_demo_state_end[];
extern const char mw_demo_text_begin[], mw_demo_text_end[];
}

namespace meshwright {
namespace {

absl::string_view Embedded(const char* begin, const char* end) {
  return {begin, static_cast<size_t>(end - begin)};
}

// Windows of the text as s32[rows, columns]. Row r of step s has its own start;
// targets start `shift` characters later.
Tensor TextWindows(absl::string_view text, std::string name, const Shape& shape,
                   int64_t step, int64_t shift) {
  const int64_t rows = shape.dimensions[0];
  const int64_t columns = shape.dimensions[1];
  const int64_t starts = std::ssize(text) - columns - 1;
  std::vector<int32_t> tokens;
  for (int64_t row = 0; row < rows; ++row) {
    // A prime stride distributes the windows over the text.
    const int64_t start = ((step * rows + row) * 7919) % starts;
    for (int64_t column = 0; column < columns; ++column) {
      tokens.push_back(text[start + column + shift]);
    }
  }
  Tensor tensor{.name = std::move(name),
                .type = ElementType::kS32,
                .dimensions = shape.dimensions};
  tensor.data.resize(tokens.size() * sizeof(int32_t));
  std::memcpy(tensor.data.data(), tokens.data(), tensor.data.size());
  return tensor;
}

}  // namespace

absl::StatusOr<Module> DemoModule() {
  MW_ASSIGN_OR_RETURN(Module module, ReadModule(Embedded(mw_demo_module_begin,
                                                         mw_demo_module_end)));
  MW_RETURN_IF_ERROR(Verify(module));
  return module;
}

absl::StatusOr<std::vector<Tensor>> DemoState() {
  return ParseTensors(Embedded(mw_demo_state_begin, mw_demo_state_end));
}

absl::string_view DemoText() {
  return Embedded(mw_demo_text_begin, mw_demo_text_end);
}

std::vector<Tensor> DemoBatch(const Module& module, const ModuleRoles& roles,
                              int64_t step) {
  const absl::string_view text = DemoText();
  const std::vector<Instruction*> parameters = module.entry()->Parameters();
  std::vector<Tensor> batch;
  for (size_t i = 0; i < parameters.size(); ++i) {
    const ParameterInfo& info = roles.parameters[i];
    if (info.role != ParameterRole::kData) continue;
    const int64_t shift = absl::EndsWith(info.name, "targets") ? 1 : 0;
    batch.push_back(
        TextWindows(text, info.name, parameters[i]->shape, step, shift));
  }
  return batch;
}

}  // namespace meshwright
