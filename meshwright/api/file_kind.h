// What a file seems to be, for whoever gave the wrong one.
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
// By how it begins, and by the keys of JSON; compressed or not.
FileContent ContentOf(absl::string_view bytes);

// `why` a file that should be of a kind could not be read, with its path: that
// it is of another kind, where that is so. kInvalidArgument, or as `why`.
absl::Status ExplainContent(const absl::Status& why, const std::string& path,
                            absl::string_view bytes, FileKind wanted);

}  // namespace meshwright

#endif  // MESHWRIGHT_API_FILE_KIND_H_
