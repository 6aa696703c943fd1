// The functions of HiGHS' C API that mip.cc calls.
//
// The wheel contains the library without its header; these are the declarations
// of version 1.15 (MIT licence), whose HighsInt is 32 bits wide.
#ifndef MESHWRIGHT_SOLVE_HIGHS_API_H_
#define MESHWRIGHT_SOLVE_HIGHS_API_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "meshwright/base/library_search.h"

namespace meshwright {

// Called by HiGHS with: kind, message, output data (see GetCallbackItem), input
// data (its first member is an int: whether to stop), user data.
using HighsCallback = void (*)(int, const char*, const void*, void*, void*);

struct HighsApi {
  static constexpr int32_t kError = -1;    // A status.
  static constexpr int32_t kMinimise = 1;  // An objective sense.
  static constexpr int32_t kRowwise = 2;   // A matrix format.
  static constexpr int kMipInterrupt = 6;  // A kind of callback.
  static constexpr int32_t kOptimal = 7;   // Model statuses.
  static constexpr int32_t kInfeasible = 8;

  std::string path;

  const char* (*Version)() = nullptr;
  void* (*Create)() = nullptr;
  void (*Destroy)(void*) = nullptr;
  int32_t (*SetBool)(void*, const char*, int32_t) = nullptr;
  int32_t (*SetInt)(void*, const char*, int32_t) = nullptr;
  int32_t (*SetDouble)(void*, const char*, double) = nullptr;
  int32_t (*SetString)(void*, const char*, const char*) = nullptr;
  // columns, rows, nonzeros, format, sense, offset, costs, lower, upper,
  // rows' lower, rows' upper, starts, indices, values, integrality.
  int32_t (*PassMip)(void*, int32_t, int32_t, int32_t, int32_t, int32_t, double,
                     const double*, const double*, const double*, const double*,
                     const double*, const int32_t*, const int32_t*,
                     const double*, const int32_t*) = nullptr;
  // Values of columns, of rows, duals of columns, of rows.
  int32_t (*SetSolution)(void*, const double*, const double*, const double*,
                         const double*) = nullptr;
  int32_t (*SetCallback)(void*, HighsCallback, void*) = nullptr;
  int32_t (*StartCallback)(void*, int) = nullptr;
  const void* (*GetCallbackItem)(const void*, const char*) = nullptr;
  int32_t (*Run)(void*) = nullptr;
  int32_t (*GetModelStatus)(const void*) = nullptr;
  // Values of columns, duals of columns, values of rows, duals of rows.
  int32_t (*GetSolution)(const void*, double*, double*, double*,
                         double*) = nullptr;
  int32_t (*GetIntInfo)(const void*, const char*, int32_t*) = nullptr;
  int32_t (*GetInt64Info)(const void*, const char*, int64_t*) = nullptr;
  int32_t (*GetDoubleInfo)(const void*, const char*, double*) = nullptr;
};

// Loads the first library of the pinned version. kUnavailable, saying where it
// looked and why the libraries found there are not usable.
absl::StatusOr<HighsApi> LoadHighs(const LibrarySearch& search);

// The process's own, loaded once.
const absl::StatusOr<HighsApi>& Highs();

}  // namespace meshwright

#endif  // MESHWRIGHT_SOLVE_HIGHS_API_H_
