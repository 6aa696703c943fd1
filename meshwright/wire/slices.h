// Divides arrays into parts of nearly equal size.
#ifndef MESHWRIGHT_WIRE_SLICES_H_
#define MESHWRIGHT_WIRE_SLICES_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace meshwright::internal {

// Some bytes of an array.
struct Slice {
  size_t offset = 0;
  size_t size = 0;
};

// Part `part` of `parts` of an array of `bytes` bytes with elements of `width`.
// 10 elements in 4 parts: 3, 3, 2, 2.
inline Slice PartOf(size_t bytes, size_t width, int parts, int part) {
  const size_t count = bytes / width;
  const auto begin_of = [&](size_t i) {
    return count / parts * i + std::min<size_t>(count % parts, i);
  };
  const size_t begin = begin_of(part);
  return {begin * width, (begin_of(part + 1) - begin) * width};
}

// Chunk `chunk` of `bytes` bytes in chunks of `chunk_bytes`.
inline Slice ChunkOf(size_t bytes, size_t chunk_bytes, int64_t chunk) {
  const size_t begin = std::min(bytes, chunk_bytes * chunk);
  return {begin, std::min(chunk_bytes, bytes - begin)};
}

inline int64_t ChunkCount(size_t bytes, size_t chunk_bytes) {
  return static_cast<int64_t>((bytes + chunk_bytes - 1) / chunk_bytes);
}

}  // namespace meshwright::internal

#endif  // MESHWRIGHT_WIRE_SLICES_H_
