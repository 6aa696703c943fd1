#include "meshwright/hlo/text_metadata.h"

#include <map>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/string_view.h"
#include "meshwright/hlo/text_fields.h"
#include "proto/hlo.pb.h"

namespace meshwright::internal {
namespace {

// Fields of the schema's FileLocation that are preserved but not interpreted.
constexpr int kColumn = 4;
constexpr int kEndLine = 5;
constexpr int kEndColumn = 6;

// The key of a frontend attribute: all characters except those that end it.
std::string ReadKey(TextLexer& lexer) {
  constexpr absl::string_view kKeyCharacters =
      "!#$%&'()*+-./0123456789:;<>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`"
      "abcdefghijklmnopqrstuvwxyz|~";
  const absl::string_view text = lexer.Run(kKeyCharacters);
  std::string key;
  if (text.empty() || !absl::CUnescape(text, &key)) {
    lexer.FailExpected("the name of a frontend attribute");
  }
  return key;
}

// {line=3 column=7} as a map.
std::map<std::string, int32_t> ReadRow(TextLexer& lexer) {
  std::map<std::string, int32_t> row;
  lexer.Expect("{");
  while (lexer.ok() && !lexer.NextIs("}")) {
    const absl::string_view name = lexer.Word("a field");
    lexer.Expect("=");
    row[std::string(name)] = lexer.SmallInteger();
  }
  lexer.Expect("}");
  return row;
}

// Calls read_row() for each line of a table, which starts with its number.
template <typename ReadLine>
void ReadTable(TextLexer& lexer, absl::string_view name,
               const ReadLine& read_line) {
  if (!lexer.TakeWord(name)) return;
  while (lexer.NextIsDigit()) {
    lexer.Integer();
    read_line();
  }
}

}  // namespace

Metadata ReadMetadataText(TextLexer& lexer) {
  Metadata metadata;
  lexer.Expect("{");
  while (lexer.ok() && !lexer.NextIs("}")) {
    const absl::string_view name = lexer.Word("a field of metadata");
    lexer.Expect("=");
    if (name == "op_type") {
      metadata.op_type = lexer.Quoted();
    } else if (name == "op_name") {
      metadata.op_name = lexer.Quoted();
    } else if (name == "source_file") {
      metadata.source_file = lexer.Quoted();
    } else if (name == "source_line") {
      metadata.source_line = lexer.SmallInteger();
    } else if (name == "stack_frame_id") {
      pb::MetadataStackFrame frame;
      frame.set_stack_frame_id(lexer.SmallInteger());
      metadata.unknown_fields = frame.SerializeAsString();
    } else {
      lexer.SkipValue();
    }
    lexer.Take(",");
  }
  lexer.Expect("}");
  return metadata;
}

FrontendAttributes ReadFrontendAttributesText(TextLexer& lexer) {
  FrontendAttributes attributes;
  lexer.List("{", "}", [&] {
    std::string key = ReadKey(lexer);
    lexer.Expect("=");
    attributes[std::move(key)] = lexer.StringOrDict();
  });
  return attributes;
}

std::string ReadStackFrames(TextLexer& lexer) {
  pb::ModuleStackFrames frames;
  pb::StackFrameIndexProto& index = *frames.mutable_stack_frame_index();
  ReadTable(lexer, "FileNames", [&] { index.add_file_names(lexer.Quoted()); });
  ReadTable(lexer, "FunctionNames",
            [&] { index.add_function_names(lexer.Quoted()); });
  ReadTable(lexer, "FileLocations", [&] {
    auto row = ReadRow(lexer);
    auto* location = index.add_file_locations();
    location->set_file_name_id(row["file_name_id"]);
    location->set_function_name_id(row["function_name_id"]);
    location->set_line(row["line"]);
    std::string& others = *location->mutable_unknown_fields();
    AddField(kColumn, row["column"], others);
    AddField(kEndLine, row["end_line"], others);
    AddField(kEndColumn, row["end_column"], others);
  });
  ReadTable(lexer, "StackFrames", [&] {
    auto row = ReadRow(lexer);
    auto* frame = index.add_stack_frames();
    frame->set_file_location_id(row["file_location_id"]);
    // Printed with one added, so that 1 means none.
    frame->set_parent_frame_id(row["parent_frame_id"] - 1);
  });
  if (index.ByteSizeLong() == 0) return "";
  return frames.SerializeAsString();
}

}  // namespace meshwright::internal
