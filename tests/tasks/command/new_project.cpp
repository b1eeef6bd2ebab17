// `new` writes complete projects and nothing else: their files, folders that it keeps.
// tests/consumer/projects.sh compiles, trains and tests them.
#include <tapegrad/tests/support/testing.h>
#include <tapegrad/train.h>

namespace tapegrad::tasks {
namespace {

using namespace tests;
namespace fs = std::filesystem;

// The paths of the files in a folder, sorted.
std::vector<std::string> files_in(const fs::path& folder) {
  std::vector<std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (!entry.is_directory()) files.push_back(fs::relative(entry.path(), folder).string());
  std::sort(files.begin(), files.end());
  return files;
}

using NewProject = InAFolder;

TEST_F(NewProject, HasTheFilesOfItsKind) {
  const bool has_png = std::ranges::count(data::image_formats(), "PNG") > 0;
  for (const auto& [kind, file] :
       std::map<std::string, std::string>{{"csv", "table.csv"}, {"images", ""}, {"text", "text.txt"}, {"layer", ""}}) {
    SCOPED_TRACE(kind);
    if (kind == "images" && !has_png) continue;
    const Ran ran = successful(run_command({"new", "deep/my-" + kind + "/", "--from", kind}, folder));
    expect_parts(ran.out, {"Written: deep/my-" + kind, "cmake -G Ninja -S deep/my-" + kind, "ctest --test-dir deep"});
    std::vector<std::string> files = files_in(folder / "deep/my-" + kind);
    std::erase_if(files, [](const std::string& name) { return name.starts_with("images/"); });
    std::vector<std::string> expected{"CMakeLists.txt", "README.md", "check.h", "main.cpp", "model.h", "test.cpp"};
    if (!file.empty()) expected.insert(expected.end() - (file < "test.cpp" ? 1 : 0), file);
    EXPECT_EQ(files, expected);
    const std::string build = slurp(folder / "deep/my-" + kind + "/CMakeLists.txt");
    expect_parts(build, {"project(my-" + kind + " LANGUAGES CXX)", "find_package(tapegrad 0."});
    EXPECT_EQ(build.find("{name}"), std::string::npos);
    const std::vector<std::string> readme = lines(slurp(folder / "deep/my-" + kind + "/README.md"));
    EXPECT_LE(readme.size(), 11u);
    EXPECT_EQ(readme.at(0), "# my-" + kind);
  }
  if (!has_png) return;
  const data::ImageFolder images(folder / "deep/my-images/images", {.channels = 1});
  EXPECT_EQ(images.classes(), (std::vector<std::string>{"bars", "cross", "ring"}));
  EXPECT_EQ(images.size(), 72);
  for (int64_t i = 0; i < images.size(); ++i) EXPECT_EQ(images[i].first.shape(), (Shape{1, 12, 12}));
}

TEST_F(NewProject, IsACsvProjectByDefault) {
  successful(run_command({"new", "plants"}, folder));
  EXPECT_TRUE(fs::exists(folder / "plants/table.csv"));
}

TEST_F(NewProject, MayHaveTheNameOfAVerb) {
  successful(run_command({"new", "plot", "--from", "layer"}, folder));
  successful(run_command({"new", "--from=text", "train"}, folder));
  EXPECT_TRUE(fs::exists(folder / "plot/main.cpp") && fs::exists(folder / "train/text.txt"));
}

TEST_F(NewProject, KeepsWhatExists) {
  successful(run_command({"new", "plants"}, folder));
  spill(folder / "plants/main.cpp", "mine");
  fs::create_directory(folder / "empty");
  spill(folder / "file", "a file");
  fs::create_symlink("nowhere", folder / "link");
  const std::vector<std::string> before = files_in(folder.path());
  expect_errors("tasks/errors/runs.txt", "new projects where something exists", folder);
  EXPECT_EQ(run_command({"new", "file/inside"}, folder).code, 1);
  EXPECT_EQ(files_in(folder.path()), before);
  EXPECT_EQ(slurp(folder / "plants/main.cpp"), "mine");
}

// A disk that is full in the middle leaves no half of a project.
TEST_F(NewProject, IsCompleteOrNotThere) {
  const Ran ran = run_command({"new", "poems", "--from", "text"}, {.folder = folder.path(), .largest_file = 4500});
  expect_error(ran, 1, {"[file] ", "File too large"});
  EXPECT_TRUE(fs::is_empty(folder.path()));
}

}  // namespace
}  // namespace tapegrad::tasks
