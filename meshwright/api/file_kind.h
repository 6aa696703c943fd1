// Recognises the kind of a file, for messages about a file of the wrong kind.
//
//   ExplainContent(why, "step.hlo.pb", bytes, FileKind::kPlan);
//   // step.hlo.pb: this is an HLO module, not a plan (meshwright plan -o FILE
//   // writes one)
#ifndef MESHWRIGHT_API_FILE_KIND_H_
#define MESHWRIGHT_API_FILE_KIND_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace meshwright {

enum class FileKind : uint8_t {
  kModule,
  kPlan,
  kCluster,
  kSharding,
  kStages,
  kTimetable,
  kTensors,
  kDataset,
  kDatabase,
  kProblem,
  kOther,
};

struct FileContent {
  // Of files that are of no kind above.
  enum class Form : uint8_t { kKnown, kBinary, kText, kJson, kBrokenJson };

  FileKind kind = FileKind::kOther;
  std::string words;  // "a plan", "text", "binary data of no known kind"
  Form form = Form::kKnown;
};
// By its first bytes, and by the keys of JSON; possibly compressed.
FileContent ContentOf(absl::string_view bytes);

// `why` is the error of reading a file of kind `wanted`, with its path. If the
// file is of another kind, kInvalidArgument saying so; otherwise `why`.
absl::Status ExplainContent(const absl::Status& why, const std::string& path,
                            absl::string_view bytes, FileKind wanted);

}  // namespace meshwright

#endif  // MESHWRIGHT_API_FILE_KIND_H_
