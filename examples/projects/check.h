// What test.cpp needs: checks, and a folder for the files of its run.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

// One line per check. The test ends at the first check that fails.
inline void check(bool holds, const char* what) {
  std::printf("%s: %s\n", holds ? "passed" : "FAILED", what);
  if (!holds) std::exit(1);
}

// A folder in another one, without what an earlier test has left in it.
inline std::string fresh_folder(const std::string& parent) {
  const std::string folder = parent + "/test-run";
  std::filesystem::remove_all(folder);
  return folder;
}
