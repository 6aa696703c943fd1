// --cache: compiled programs on disk, for commands that run steps.
#ifndef MESHWRIGHT_CLI_CACHE_FLAG_H_
#define MESHWRIGHT_CLI_CACHE_FLAG_H_

#include <string>
#include <vector>

#include "meshwright/cli/command_line.h"

namespace meshwright {

FlagSpec CacheFlag();

// The folder, for CompileCache; empty: none.
std::string CacheFolderOf(const CommandLine& line);

// The same flag, for workers.
std::vector<std::string> CacheWords(const CommandLine& line);

}  // namespace meshwright

#endif  // MESHWRIGHT_CLI_CACHE_FLAG_H_
