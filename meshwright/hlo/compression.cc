#include "meshwright/hlo/compression.h"

#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "meshwright/base/check.h"

namespace meshwright {
namespace {

constexpr absl::string_view kGzipMagic = "\x1f\x8b";
constexpr absl::string_view kZstdMagic = "\x28\xb5\x2f\xfd";
constexpr size_t kChunk = size_t{1} << 18;

absl::Status TooLarge(int64_t max_bytes) {
  return absl::InvalidArgumentError(absl::StrCat(
      "decompresses to more than ", max_bytes, " bytes, the largest allowed"));
}

absl::Status Damaged(absl::string_view kind, absl::string_view reason) {
  return absl::InvalidArgumentError(
      absl::StrCat("damaged ", kind, " data: ", reason));
}

absl::StatusOr<std::string> Gunzip(absl::string_view bytes, int64_t max_bytes) {
  z_stream stream = {};
  MW_CHECK(inflateInit2(&stream, 15 + 16) == Z_OK);
  const std::unique_ptr<z_stream, int (*)(z_stream*)> guard(&stream,
                                                            inflateEnd);
  std::string out;
  std::string chunk(kChunk, '\0');
  size_t consumed = 0;
  while (true) {
    if (stream.avail_in == 0) {
      const size_t step = std::min<size_t>(bytes.size() - consumed, 1 << 30);
      stream.next_in = const_cast<Bytef*>(
          reinterpret_cast<const Bytef*>(bytes.data() + consumed));
      stream.avail_in = static_cast<uInt>(step);
      consumed += step;
    }
    stream.next_out = reinterpret_cast<Bytef*>(chunk.data());
    stream.avail_out = static_cast<uInt>(chunk.size());
    const int result = inflate(&stream, Z_NO_FLUSH);
    out.append(chunk.data(), chunk.size() - stream.avail_out);
    if (std::ssize(out) > max_bytes) return TooLarge(max_bytes);
    const bool input_spent = stream.avail_in == 0 && consumed == bytes.size();
    if (result == Z_STREAM_END) {
      if (input_spent) return out;
      // A gzip file may hold several members, one after the other.
      inflateReset(&stream);
    } else if (result != Z_OK && result != Z_BUF_ERROR) {
      return Damaged("gzip", stream.msg ? stream.msg : "bad stream");
    } else if (input_spent && stream.avail_out > 0) {
      return Damaged("gzip", "it ends early");
    }
  }
}

absl::StatusOr<std::string> Unzstd(absl::string_view bytes, int64_t max_bytes) {
  const std::unique_ptr<ZSTD_DCtx, size_t (*)(ZSTD_DCtx*)> context(
      ZSTD_createDCtx(), ZSTD_freeDCtx);
  std::string out;
  std::string chunk(kChunk, '\0');
  ZSTD_inBuffer input = {bytes.data(), bytes.size(), 0};
  while (true) {
    ZSTD_outBuffer output = {chunk.data(), chunk.size(), 0};
    const size_t result = ZSTD_decompressStream(context.get(), &output, &input);
    if (ZSTD_isError(result)) return Damaged("zstd", ZSTD_getErrorName(result));
    out.append(chunk.data(), output.pos);
    if (std::ssize(out) > max_bytes) return TooLarge(max_bytes);
    const bool input_spent = input.pos == input.size;
    if (result == 0 && input_spent) return out;
    if (input_spent && output.pos < output.size) {
      return Damaged("zstd", "it ends early");
    }
  }
}

std::string Gzip(absl::string_view bytes) {
  z_stream stream = {};
  MW_CHECK(deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8,
                        Z_DEFAULT_STRATEGY) == Z_OK);
  std::string out(deflateBound(&stream, bytes.size()) + 64, '\0');
  stream.next_in =
      const_cast<Bytef*>(reinterpret_cast<const Bytef*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  MW_CHECK(deflate(&stream, Z_FINISH) == Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

std::string Zstd(absl::string_view bytes) {
  std::string out(ZSTD_compressBound(bytes.size()), '\0');
  const size_t size = ZSTD_compress(out.data(), out.size(), bytes.data(),
                                    bytes.size(), /*compressionLevel=*/3);
  MW_CHECK(!ZSTD_isError(size)) << ZSTD_getErrorName(size);
  out.resize(size);
  return out;
}

}  // namespace

Compression DetectCompression(absl::string_view bytes) {
  if (absl::StartsWith(bytes, kGzipMagic)) return Compression::kGzip;
  if (absl::StartsWith(bytes, kZstdMagic)) return Compression::kZstd;
  return Compression::kNone;
}

Compression CompressionForPath(absl::string_view path) {
  if (absl::EndsWith(path, ".gz")) return Compression::kGzip;
  if (absl::EndsWith(path, ".zst")) return Compression::kZstd;
  return Compression::kNone;
}

absl::StatusOr<std::string> Decompress(absl::string_view bytes,
                                       int64_t max_bytes) {
  const Compression compression = DetectCompression(bytes);
  MW_CHECK(compression != Compression::kNone);
  return compression == Compression::kGzip ? Gunzip(bytes, max_bytes)
                                           : Unzstd(bytes, max_bytes);
}

std::string Compress(absl::string_view bytes, Compression compression) {
  switch (compression) {
    case Compression::kGzip:
      return Gzip(bytes);
    case Compression::kZstd:
      return Zstd(bytes);
    case Compression::kNone:
      break;
  }
  return std::string(bytes);
}

}  // namespace meshwright
