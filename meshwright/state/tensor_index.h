// The offsets of the tensors in a file: .npz, .npy and safetensors.
//
//   MW_ASSIGN_OR_RETURN(auto file, RandomAccessFile::Open("shard-3.npz"));
//   MW_ASSIGN_OR_RETURN(auto places, IndexTensors(*file));
//   // {"images", f32[512,32,32,3], offset 128}, ...: rows can be read alone.
#ifndef MESHWRIGHT_STATE_TENSOR_INDEX_H_
#define MESHWRIGHT_STATE_TENSOR_INDEX_H_

#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/base/random_access_file.h"
#include "meshwright/state/safetensors.h"

namespace meshwright {

// Tensors without their data; reads only headers. Errors as ReadTensorFile;
// also kInvalidArgument for tensors whose parts cannot be read individually:
// compressed, big-endian or column-major ones.
absl::StatusOr<std::vector<PlacedTensor>> IndexTensors(
    const RandomAccessFile& file);

}  // namespace meshwright

#endif  // MESHWRIGHT_STATE_TENSOR_INDEX_H_
