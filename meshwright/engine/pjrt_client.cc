#include "meshwright/engine/pjrt_client.h"

#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "meshwright/base/annotate.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/engine/check_use.h"
#include "meshwright/engine/pjrt_buffer.h"
#include "meshwright/engine/pjrt_compile_options.h"
#include "meshwright/engine/pjrt_executable.h"
#include "meshwright/engine/seen_cores.h"
#include "meshwright/engine/xnn_fusions.h"
#include "meshwright/engine/xnn_products.h"

namespace meshwright {
namespace {

// Points into `name` and `value`.
PJRT_NamedValue ToPjrt(const std::string& name, const OptionValue& value) {
  // Becomes an array element, so it must have exactly this size.
  PJRT_NamedValue named = {};
  named.struct_size = sizeof(named);
  named.name = name.data();
  named.name_size = name.size();
  named.value_size = 1;
  std::visit(
      [&](const auto& v) {
        using T = std::decay_t<decltype(v)>;
        if constexpr (std::is_same_v<T, bool>) {
          named.type = PJRT_NamedValue_kBool;
          named.bool_value = v;
        } else if constexpr (std::is_same_v<T, int64_t>) {
          named.type = PJRT_NamedValue_kInt64;
          named.int64_value = v;
        } else if constexpr (std::is_same_v<T, double>) {
          named.type = PJRT_NamedValue_kFloat;
          named.float_value = static_cast<float>(v);
        } else {
          named.type = PJRT_NamedValue_kString;
          named.string_value = v.data();
          named.value_size = v.size();
        }
      },
      value);
  return named;
}

// Says how to give a program the kernel that it lacks (ffi_library.h).
absl::Status Explained(const absl::Status& status) {
  absl::string_view text = status.message();
  constexpr absl::string_view kLacks = "No FFI handler registered for ";
  const size_t at = text.find(kLacks);
  if (at == absl::string_view::npos) return status;
  text.remove_prefix(at + kLacks.size());
  const absl::string_view target = text.substr(0, text.find(' '));
  return absl::NotFoundError(absl::StrCat(
      "there is no kernel for calls of ", target,
      "; its library is given by --ffi LIBRARY:", target, "=SYMBOL"));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Client>> PjrtClient::Create(
    const PjrtApi* api, const OptionMap& options, OptionMap xla_defaults,
    const std::optional<ProcessTeam>& team) {
  std::vector<PJRT_NamedValue> values;
  values.reserve(options.size());
  for (const auto& [name, value] : options) {
    values.push_back(ToPjrt(name, value));
  }
  auto args = NewPjrtArgs<PJRT_Client_Create_Args>();
  args.create_options = values.data();
  args.num_options = values.size();
  std::unique_ptr<PjrtKeyValues> key_values;
  if (team.has_value()) {
    key_values = std::make_unique<PjrtKeyValues>(*team);
    key_values->AddTo(args);
  }
  MW_RETURN_IF_ERROR(api->Call(MW_PJRT(PJRT_Client_Create), args));
  MW_ASSIGN_OR_RETURN(
      auto session,
      PjrtSession::Create(api,
                          PjrtHandle<PJRT_Client>(args.client, PjrtDelete{api}),
                          std::move(key_values)));
  return std::unique_ptr<Client>(
      new PjrtClient(std::move(session), std::move(xla_defaults)));
}

absl::StatusOr<BufferPtr> PjrtClient::FromHost(const HostArray& array,
                                               const Device& device) {
  MW_RETURN_IF_ERROR(CheckHostArray(array));
  const PjrtDevice* mine = session_->Find(device);
  if (mine == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("device ", device.id(), " belongs to another client"));
  }
  return SendToDevice(session_, array, *mine);
}

absl::StatusOr<std::unique_ptr<Executable>> PjrtClient::Compile(
    const Program& program, const CompileOptions& options) {
  MW_RETURN_IF_ERROR(CheckCompileOptions(options, session_->global_ids()));
  if (!xla_defaults_.contains(kXnnFusionType) ||
      options.xla_overrides.contains(kXnnFusionType)) {
    return CompileWith(xla_defaults_, program, options);
  }
  if (program.format == "hlo") {
    if (auto with_products = WithXnnProducts(program.code)) {
      MW_ASSIGN_OR_RETURN(
          auto executable,
          CompileIfSafe({program.format, *std::move(with_products)}, options));
      if (executable != nullptr) return executable;
    }
  }
  MW_ASSIGN_OR_RETURN(auto executable, CompileIfSafe(program, options));
  if (executable != nullptr) return executable;
  OptionMap without = xla_defaults_;
  without.erase(kXnnFusionType);
  return CompileWith(without, program, options);
}

absl::StatusOr<std::unique_ptr<Executable>> PjrtClient::CompileIfSafe(
    const Program& program, const CompileOptions& options) {
  MW_ASSIGN_OR_RETURN(auto executable,
                      CompileWith(xla_defaults_, program, options));
  MW_ASSIGN_OR_RETURN(const Program optimized, executable->OptimizedProgram());
  MW_ASSIGN_OR_RETURN(const bool unsafe, HasUnsafeXnnFusion(optimized));
  if (unsafe) executable = nullptr;
  return executable;
}

absl::StatusOr<std::unique_ptr<Executable>> PjrtClient::Load(
    const std::string& serialized, const CompileOptions& options) {
  MW_RETURN_IF_ERROR(CheckCompileOptions(options, session_->global_ids()));
  auto args = NewPjrtArgs<PJRT_Executable_DeserializeAndLoad_Args>();
  args.client = session_->client();
  args.serialized_executable = serialized.data();
  args.serialized_executable_size = serialized.size();
  MW_RETURN_IF_ERROR(
      session_->api().Call(MW_PJRT(PJRT_Executable_DeserializeAndLoad), args));
  return PjrtExecutable::Create(session_,
                                session_->Own(args.loaded_executable));
}

absl::StatusOr<std::unique_ptr<Executable>> PjrtClient::CompileWith(
    const OptionMap& defaults, const Program& program,
    const CompileOptions& options) {
  const std::string serialized = SerializeCompileOptions(options, defaults);
  auto source = NewPjrtArgs<PJRT_Program>();
  source.code = const_cast<char*>(program.code.data());  // Only read.
  source.code_size = program.code.size();
  source.format = program.format.data();
  source.format_size = program.format.size();
  auto args = NewPjrtArgs<PJRT_Client_Compile_Args>();
  args.client = session_->client();
  args.program = &source;
  args.compile_options = serialized.data();
  args.compile_options_size = serialized.size();
  const SeenCores seen(CoresToCompileFor(*this));
  if (absl::Status status =
          session_->api().Call(MW_PJRT(PJRT_Client_Compile), args);
      !status.ok()) {
    return Annotate(Explained(status), "compiling");
  }
  return PjrtExecutable::Create(session_, session_->Own(args.executable));
}

}  // namespace meshwright
