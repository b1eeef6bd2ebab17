// The verb `new`: writes a project that trains, saves and tests a model, from the files of examples/projects.
#include <fmt/format.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/command/tools.h>
#include <tapegrad/tasks/language/messages.h>
#include <tapegrad/tasks/language/texts.h>
#include <tapegrad/tasks/settings/output.h>
#include <tapegrad/train/data/image.h>
#include <tapegrad/train/files.h>
#include <tapegrad/version.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

namespace tapegrad::tasks {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kNew = "new", kProjects = "examples/projects/", kPictures = ".pictures";

// Files in a folder of kProjects are those of a kind, files in kProjects itself are those of all kinds.
struct ProjectFile {
  std::string_view kind, path, text;
};
std::vector<ProjectFile> project_files() {
  std::vector<ProjectFile> files;
  for (const auto& [name, text] : embedded_files()) {
    if (!name.starts_with(kProjects)) continue;
    const std::string_view path = name.substr(kProjects.size());
    const std::size_t slash = path.find('/');
    const bool of_all = slash == path.npos;
    files.push_back({of_all ? "" : path.substr(0, slash), of_all ? path : path.substr(slash + 1), text});
  }
  return files;
}

// The kinds of projects, in the order of their names.
const std::vector<std::string_view>& kinds_of_projects() {
  static const std::vector<std::string_view> kKinds = [] {
    std::vector<std::string_view> kinds;
    for (const ProjectFile& file : project_files())
      if (!file.kind.empty()) kinds.push_back(file.kind);
    std::ranges::sort(kinds);
    kinds.erase(std::unique(kinds.begin(), kinds.end()), kinds.end());
    return kinds;
  }();
  return kKinds;
}

// What a target of CMake may be called, and what its generators and a build of tapegrad do not call theirs.
void check_name(std::string_view name) {
  constexpr std::string_view kTaken[] = {"all", "clean", "help", "install", "package", "tapegrad", "test"};
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  const auto fits = [&](char c) { return letter(c) || (c >= '0' && c <= '9') || c == '_' || c == '-'; };
  if (name.empty() || !letter(name[0]) || !std::ranges::all_of(name, fits))
    bad_request(kNew, "expected a name of letters, digits, - and _ that begins with a letter, got \"{}\"", name);
  if (std::ranges::find(kTaken, name) != std::end(kTaken))
    bad_request(kNew, "expected a name that CMake does not use itself, got \"{}\"", name);
}

// "circle.pictures" has drawings of # and ., side by side and below each other with blanks between them: they become
// the images circle/1.png, circle/2.png ...
void write_pictures(const fs::path& folder, std::string_view text) {
  create_folder(folder);
  int number = 0;
  std::vector<std::vector<float>> row;  // the pixels of the drawings that are side by side
  const auto flush = [&] {
    for (const std::vector<float>& pixels : row) {
      const auto side = static_cast<int64_t>(std::sqrt(static_cast<double>(pixels.size())));
      data::save_image((folder / fmt::format("{}.png", ++number)).string(), tensor(pixels, {1, side, side}));
    }
    row.clear();
  };
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(line.size() + 1);
    if (line.empty()) flush();
    for (std::size_t i = 0; !line.empty(); ++i) {
      const std::string_view piece = line.substr(0, line.find(' '));
      line.remove_prefix(std::min(line.size(), piece.size() + 1));
      if (row.size() <= i) row.emplace_back();
      for (const char c : piece) row[i].push_back(c == '#' ? 255.f : 0.f);
    }
  }
  flush();
}

void write_project(const NewRequest& request, const fs::path& folder) {
  const std::string version(kVersion, std::string_view(kVersion).rfind('.'));
  const std::string name = folder.filename().string();
  for (const ProjectFile& file : project_files()) {
    if (!file.kind.empty() && file.kind != request.kind) continue;
    fs::path path = folder / file.path;
    create_folder(path.parent_path());
    if (file.path.ends_with(kPictures)) {
      write_pictures(path.replace_extension(), file.text);
    } else {
      replace_file(path.string(), filled(file.text, {{"name", name}, {"version", version}}));
    }
  }
}

}  // namespace

void NewRequest::list(Fields& f) {
  Options add(f);
  add("name", "the folder of the project, which is created; its last part is the name of the program", name)
      .type("NAME")
      .positional();
  add("from", "the data, or the part of a model, that the project begins with", kind).choices(kinds_of_projects());
}

int new_project(const NewRequest& request) {
  fs::path folder = fs::path(request.name).lexically_normal();
  if (folder.filename().empty()) folder = folder.parent_path();  // "name/"
  check_name(folder.filename().string());
  if (as_bad_request(kNew, [&] { return is_there(folder.string()); }))
    bad_request(kNew, "expected the name of a new folder, but {} exists; nothing was written", folder.string());
  if (!folder.parent_path().empty()) create_folder(folder.parent_path());
  std::error_code error;
  if (!fs::create_directory(folder, error))
    bad_request(kNew, "cannot create {}: {}", folder.string(),
                (error ? error : std::make_error_code(std::errc::file_exists)).message());
  try {
    write_project(request, folder);
  } catch (...) {
    std::error_code none;  // the first error is the one to report
    fs::remove_all(folder, none);
    throw;
  }
  const std::string word = shell_word(folder.string());
  print_text(said("Written: {}. Its README.md says how to train the model. Build and test it:\n", word));
  print_text(
      fmt::format("  cmake -G Ninja -S {0} -B {0}/build && cmake --build {0}/build\n"
                  "  ctest --test-dir {0}/build --output-on-failure\n",
                  word));
  return 0;
}

}  // namespace tapegrad::tasks
