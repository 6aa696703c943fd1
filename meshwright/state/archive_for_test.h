// Hand-made .npy, .npz and safetensors files, right and wrong.
#ifndef MESHWRIGHT_STATE_ARCHIVE_FOR_TEST_H_
#define MESHWRIGHT_STATE_ARCHIVE_FOR_TEST_H_

#include <zlib.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace meshwright {

inline std::string LittleEndian(uint64_t value, int size) {
  std::string bytes;
  for (int i = 0; i < size; ++i) {
    bytes.push_back(static_cast<char>(value & 0xff));
    value >>= 8;
  }
  return bytes;
}

inline std::string Npy(const std::string& header, const std::string& data,
                       int version = 1) {
  return "\x93NUMPY" + LittleEndian(version, 1) + LittleEndian(0, 1) +
         LittleEndian(header.size(), version == 1 ? 2 : 4) + header + data;
}

// u8[2] {'a', 'b'}.
inline std::string SmallNpy() {
  return Npy("{'descr': '|u1', 'fortran_order': False, 'shape': (2,), }\n",
             "ab");
}

inline std::string Safetensors(const std::string& header,
                               const std::string& data) {
  return LittleEndian(header.size(), 8) + header + data;
}

inline std::string Deflate(const std::string& bytes) {
  z_stream stream = {};
  deflateInit2(&stream, 9, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
  std::string packed(bytes.size() + 100, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

struct ZipOptions {
  bool deflate = false;
  bool zip64 = false;
  std::string comment = "";
  int flags = 0;
  std::optional<int> method = std::nullopt;
  std::optional<uint32_t> declared = std::nullopt;   // Unpacked size.
  std::optional<uint32_t> directory = std::nullopt;  // Its offset.
  bool overlap = false;  // All entries share the first one's data.
  bool garbage = false;  // In place of deflated data.
};

inline std::string Zip(
    const std::vector<std::pair<std::string, std::string>>& files,
    const ZipOptions& options) {
  std::string archive;
  std::string directory;
  for (const auto& [name, bytes] : files) {
    std::string packed = options.deflate ? Deflate(bytes) : bytes;
    if (options.garbage) packed.assign(packed.size(), '\xff');
    const std::string size32 =
        options.zip64
            ? LittleEndian(0xffffffff, 4) + LittleEndian(0xffffffff, 4)
            : LittleEndian(packed.size(), 4) +
                  LittleEndian(options.declared.value_or(bytes.size()), 4);
    const std::string middle =
        LittleEndian(20, 2) + LittleEndian(options.flags, 2) +
        LittleEndian(options.method.value_or(options.deflate ? 8 : 0), 2) +
        LittleEndian(0, 4) +
        LittleEndian(crc32(0, reinterpret_cast<const Bytef*>(bytes.data()),
                           static_cast<uInt>(bytes.size())),
                     4) +
        size32 + LittleEndian(name.size(), 2);
    const uint64_t offset = options.overlap ? 0 : archive.size();
    std::string extra;
    if (options.zip64) {
      extra = LittleEndian(1, 2) + LittleEndian(24, 2) +
              LittleEndian(bytes.size(), 8) + LittleEndian(packed.size(), 8) +
              LittleEndian(offset, 8);
    }
    archive += "PK\x03\x04" + middle + LittleEndian(0, 2) + name + packed;
    directory += "PK\x01\x02" + LittleEndian(20, 2) + middle +
                 LittleEndian(extra.size(), 2) + LittleEndian(0, 10) +
                 LittleEndian(options.zip64 ? 0xffffffff : offset, 4) + name +
                 extra;
  }
  const uint64_t offset = options.directory.value_or(archive.size());
  archive += directory;
  if (options.zip64) {
    const uint64_t end = archive.size();
    archive += "PK\x06\x06" + LittleEndian(44, 8) + LittleEndian(45, 2) +
               LittleEndian(45, 2) + LittleEndian(0, 8) +
               LittleEndian(files.size(), 8) + LittleEndian(files.size(), 8) +
               LittleEndian(directory.size(), 8) + LittleEndian(offset, 8);
    archive += "PK\x06\x07" + LittleEndian(0, 4) + LittleEndian(end, 8) +
               LittleEndian(1, 4);
  }
  archive += "PK\x05\x06" + LittleEndian(0, 4) + LittleEndian(files.size(), 2) +
             LittleEndian(files.size(), 2) + LittleEndian(directory.size(), 4) +
             LittleEndian(options.zip64 ? 0xffffffff : offset, 4) +
             LittleEndian(options.comment.size(), 2) + options.comment;
  return archive;
}

}  // namespace meshwright

#endif  // MESHWRIGHT_STATE_ARCHIVE_FOR_TEST_H_
