#include <iterator>
#include <limits>

#include "meshwright/base/version.h"
#include "meshwright/service/fuzz_requests_for_test.h"
#include "meshwright/service/limits.h"
#include "proto/service.pb.h"
#include "proto/worker.pb.h"

namespace meshwright {
namespace {

using Messages = std::vector<std::string>;

int Below(std::mt19937& random, int bound) {
  return static_cast<int>(random() % static_cast<unsigned>(bound));
}

std::string RandomBytes(std::mt19937& random, int max_size) {
  std::string bytes(Below(random, max_size), '\0');
  for (char& c : bytes) c = static_cast<char>(random());
  return bytes;
}

int64_t OddNumber(std::mt19937& random) {
  constexpr int64_t kNumbers[] = {0,
                                  1,
                                  -1,
                                  7,
                                  int64_t{1} << 31,
                                  int64_t{1} << 40,
                                  std::numeric_limits<int64_t>::max(),
                                  std::numeric_limits<int64_t>::min()};
  return kNumbers[Below(random, std::size(kNumbers))];
}

std::string OddText(std::mt19937& random) {
  switch (Below(random, 5)) {
    case 0:
      return "";
    case 1:
      return "\xff\xfe\xc0\xaf";  // No UTF-8.
    case 2:
      return std::string(Below(random, 20000), 'x');
    case 3:
      return RandomBytes(random, 30);
    default:
      return "name";
  }
}

void SetOddRegion(std::mt19937& random, proto::Region& region) {
  region.set_offset(Below(random, 2) == 0 ? 4096 : OddNumber(random));
  region.set_size(Below(random, 2) == 0 ? 8 : OddNumber(random));
}

proto::NamedTensorPart OddTensor(std::mt19937& random) {
  constexpr const char* kTypes[] = {"f32", "u8", "token", "", "f99", "tuple"};
  proto::NamedTensorPart part;
  part.set_name(OddText(random));
  part.set_type(kTypes[Below(random, std::size(kTypes))]);
  const int rank = Below(random, 8) == 0 ? 1000 : Below(random, 3);
  for (int i = 0; i < rank; ++i) part.add_dimensions(OddNumber(random));
  if (Below(random, 4) != 0) part.set_offset(OddNumber(random));
  part.set_bytes(RandomBytes(random, 64));
  part.set_last(Below(random, 2) == 0);
  if (Below(random, 3) == 0) {
    SetOddRegion(random, *part.mutable_region());
    if (Below(random, 2) == 0) return part;
    part.set_type("u8");  // As it should be, but for the region.
    part.clear_dimensions();
    part.add_dimensions(8);
    part.clear_bytes();
    part.clear_offset();
    part.set_last(true);
  }
  return part;
}

std::string HelloReport(std::mt19937& random) {
  proto::WorkerReport report;
  proto::Hello& hello = *report.mutable_hello();
  const bool honest = Below(random, 2) == 0;
  hello.set_protocol(honest ? kProtocol : static_cast<int>(random()));
  hello.set_version(honest ? std::string(Version()) : OddText(random));
  hello.set_host(honest ? "host" : OddText(random));
  if (!honest) hello.set_devices(static_cast<int>(random()));
  return report.SerializeAsString();
}

Messages JoinMessages(std::mt19937& random) {
  Messages messages;
  if (Below(random, 4) != 0) messages.push_back(HelloReport(random));
  for (int i = Below(random, 4); i > 0; --i) {
    proto::WorkerReport report;
    switch (Below(random, 4)) {
      case 0:
        report.mutable_part()->set_offset(OddNumber(random));
        report.mutable_part()->set_bytes(RandomBytes(random, 1000));
        break;
      case 1:
        report.mutable_reply()->set_message(OddText(random));
        break;
      case 2:
        report.mutable_heartbeat()->add_actions(OddText(random));
        break;
      default:
        messages.push_back(HelloReport(random));
        continue;
    }
    messages.push_back(report.SerializeAsString());
  }
  return messages;
}

Messages UploadMessages(std::mt19937& random) {
  Messages messages;
  for (int i = Below(random, 4); i > 0; --i) {
    proto::Upload part;
    part.set_what(static_cast<proto::Upload::What>(Below(random, 7)));
    part.set_bytes(Below(random, 8) == 0 ? "bad" : OddText(random));
    messages.push_back(part.SerializeAsString());
  }
  return messages;
}

Messages InitMessages(std::mt19937& random) {
  Messages messages;
  for (int i = Below(random, 5); i > 0; --i) {
    proto::InitPart part;
    const int kind = messages.empty() ? 0 : Below(random, 4);
    if (kind == 0) {
      part.mutable_begin()->set_job(OddNumber(random));
      part.mutable_begin()->set_from(
          static_cast<proto::InitPart::Begin::From>(Below(random, 6)));
    } else if (kind == 1) {
      part.set_module(RandomBytes(random, 100));
    } else if (kind == 2) {
      *part.mutable_tensor() = OddTensor(random);
    }
    messages.push_back(part.SerializeAsString());
  }
  return messages;
}

proto::StepPart::Begin OddStep(std::mt19937& random) {
  proto::StepPart::Begin begin;
  begin.set_job(OddNumber(random));
  begin.set_count(OddNumber(random));
  if (Below(random, 4) == 0) begin.set_batch(OddNumber(random));
  if (Below(random, 4) == 0) {
    begin.add_fetch("name");
    SetOddRegion(random, *begin.add_into());
  }
  return begin;
}

Messages RunStepMessages(std::mt19937& random) {
  proto::StepRequest request;
  *request.mutable_begin() = OddStep(random);
  for (int i = Below(random, 4); i > 0; --i) {
    *request.add_tensors() = OddTensor(random);
  }
  return {request.SerializeAsString()};
}

Messages StepMessages(std::mt19937& random) {
  Messages messages;
  for (int i = Below(random, 4); i > 0; --i) {
    proto::StepPart part;
    if (messages.empty() ? Below(random, 4) != 0 : Below(random, 8) == 0) {
      *part.mutable_begin() = OddStep(random);
    } else {
      *part.mutable_tensor() = OddTensor(random);
    }
    messages.push_back(part.SerializeAsString());
  }
  return messages;
}

Messages StageMessages(std::mt19937& random) {
  Messages messages;
  for (int i = Below(random, 4); i > 0; --i) {
    proto::StagePart part;
    if (messages.empty() ? Below(random, 4) != 0 : Below(random, 8) == 0) {
      part.mutable_begin()->set_job(OddNumber(random));
      part.mutable_begin()->set_batch(OddNumber(random));
    } else {
      *part.mutable_tensor() = OddTensor(random);
    }
    messages.push_back(part.SerializeAsString());
  }
  return messages;
}

Messages ValueMessages(std::mt19937& random, bool get) {
  if (get) {
    proto::GetValueRequest request;
    request.set_key(OddText(random));
    request.set_timeout_ms(OddNumber(random));
    return {request.SerializeAsString()};
  }
  proto::SetValueRequest request;
  request.set_key(OddText(random));
  request.set_value(RandomBytes(random, 100));
  return {request.SerializeAsString()};
}

Messages JobMessages(std::mt19937& random) {
  proto::FetchRequest request;  // Others are the same, without names.
  request.set_job(OddNumber(random));
  if (Below(random, 2) == 0) request.add_names(OddText(random));
  while (Below(random, 3) == 0) SetOddRegion(random, *request.add_into());
  return {request.SerializeAsString()};
}

Messages FeedMessages(std::mt19937& random) {
  proto::FeedRequest request;
  request.set_job(OddNumber(random));
  request.set_dataset(OddText(random));
  request.set_position(OddNumber(random));
  return {request.SerializeAsString()};
}

FuzzRequest OddRequest(std::mt19937& random) {
  switch (Below(random, 14)) {
    case 0:
    case 1:
      return {"Workers/Join", JoinMessages(random)};
    case 2:
      return {"Workers/SetValue", ValueMessages(random, false)};
    case 3:
      return {"Workers/GetValue", ValueMessages(random, true)};
    case 4:
      return {"Jobs/Plan", UploadMessages(random)};
    case 5:
      return {"Jobs/Load", UploadMessages(random)};
    case 6:
      return {"Jobs/Init", InitMessages(random)};
    case 7:
      return {"Jobs/Step", StepMessages(random)};
    case 8:
      return {"Jobs/Fetch", JobMessages(random)};
    case 9:
      return {"Jobs/Feed", FeedMessages(random)};
    case 10: {
      constexpr const char* kMethods[] = {"Jobs/Status",     "Jobs/Watch",
                                          "Jobs/Stop",       "Jobs/Save",
                                          "Jobs/AwaitSaved", "Jobs/Restore"};
      return {kMethods[Below(random, 6)], JobMessages(random)};
    }
    case 11:
      return {"Jobs/RunStep", RunStepMessages(random)};
    case 12:
      return {"Jobs/Stage", StageMessages(random)};
    default:
      return {"Jobs/NoSuchMethod", JobMessages(random)};
  }
}

// Changes, cuts, repeats or replaces what is sent.
void Damage(std::mt19937& random, Messages& messages) {
  const int what = Below(random, 8);
  if (what == 0 && !messages.empty()) {
    messages.push_back(
        messages[Below(random, static_cast<int>(messages.size()))]);
  }
  for (std::string& message : messages) {
    if (what == 1) message = RandomBytes(random, 200);
    if (what == 2) message.resize(message.size() / 2);
    if (what == 3 && !message.empty()) {
      message[Below(random, static_cast<int>(message.size()))] =
          static_cast<char>(random());
    }
    // A field of bytes, or a group, longer than any message.
    if (what == 4) message += "\x12\xff\xff\xff\xff\x0f";
    if (what == 5) message += std::string(300, '\x0b');
    if (what == 6 && Below(random, 300) == 0) {
      message = std::string(kMaxMessageBytes + 1, '\0');
    }
  }
  if (what == 7) messages.clear();
}

}  // namespace

FuzzRequest MakeFuzzRequest(std::mt19937& random) {
  FuzzRequest request = OddRequest(random);
  request.method = "/meshwright.proto." + request.method;
  if (Below(random, 2) == 0) Damage(random, request.messages);
  request.protocol = Below(random, 16) != 0;
  request.cancel = Below(random, 8) == 0;
  request.half_close = Below(random, 8) != 0;
  return request;
}

}  // namespace meshwright
