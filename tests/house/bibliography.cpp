// docs/contributing/bibliography.md has every paper that a comment cites as "Author year", and no other.
#include <tapegrad/tests/house/sources.h>
#include <tapegrad/tests/support/patterns.h>

namespace tapegrad::tests {
namespace {

struct Citation {
  std::vector<std::string> names;
  std::string year;
};

// The comments of a source, with one blank between two words.
std::string comment_text(const std::string& source) {
  std::istringstream words(comments_of(source));
  std::string text;
  for (std::string word; words >> word;) text += word + " ";
  return text;
}

// "Kingma, Ba 2014", "Hu et al. 2021", "Dao and others 2022": names before a year.
std::vector<Citation> citations_in(const std::string& text) {
  static const Pattern year("\\b(19|20)[0-9][0-9]\\b"), name("[A-Z][A-Za-z'-]+");
  static const Pattern names("((?:[A-Z][A-Za-z'-]+(?:, | and )?)+)(?: et al[.]| and others)?,? $");
  std::vector<Citation> found;
  for (const Match& at : year.in(text)) {
    const auto position = static_cast<std::size_t>(at.position);
    constexpr std::size_t kLongest = 120;
    const std::string before = text.substr(position - std::min(position, kLongest), std::min(position, kLongest));
    const Match match = names.first(before);
    if (match.empty()) continue;
    Citation citation{{}, at[0]};
    for (const Match& one : name.in(match[1])) citation.names.push_back(one[0]);
    found.push_back(std::move(citation));
  }
  return found;
}

using Papers = std::set<std::pair<std::string, std::string>>;  // first author and year

// The entries "- Author, Author year, year. Title".
Papers papers_of(const std::string& page) {
  static const Pattern entry("- ([A-Z][A-Za-z'-]+)[^.0-9]*(?:al[.] )?([0-9]{4}(?:, [0-9]{4})*)[.] .*"),
      year("[0-9]{4}");
  Papers papers;
  for (const std::string& line : lines(page)) {
    const Match match = entry.whole(line);
    if (match.empty()) {
      EXPECT_FALSE(line.starts_with("- ")) << line;
      continue;
    }
    for (const Match& one : year.in(match[2])) papers.emplace(match[1], one[0]);
  }
  return papers;
}

// Takes the papers that `citations` name from `uncited`; returns the citations that name none of `papers`.
std::vector<std::string> without_paper(const std::vector<Citation>& citations, const Papers& papers, Papers& uncited) {
  std::vector<std::string> missing;
  for (const Citation& citation : citations) {
    bool found = false;
    for (const std::string& name : citation.names) {
      found = found || papers.contains({name, citation.year});
      uncited.erase({name, citation.year});
    }
    if (!found) missing.push_back(citation.names.front() + " " + citation.year);
  }
  return missing;
}

TEST(Bibliography, HasEveryCitation) {
  const Papers papers = papers_of(slurp(std::string(kSourceDir) + "/docs/contributing/bibliography.md"));
  ASSERT_GT(papers.size(), 100U);
  Papers uncited = papers;
  std::vector<std::string> folders = kLayers;
  folders.emplace_back("bench");
  for (const auto& [path, text] : texts_of(kSources, folders)) {
    for (const std::string& missing : without_paper(citations_in(comment_text(text)), papers, uncited))
      ADD_FAILURE() << path << " cites " << missing << ", which docs/contributing/bibliography.md does not have";
  }
  for (const auto& [author, year] : uncited) ADD_FAILURE() << "no comment cites " << author << " " << year;
}

TEST(Bibliography, MissingPapersAreFound) {
  const std::string source = "int x;  // as in Kingma, Ba 2014\n/// Yang et\n///     al. 2016; Dao and others 2022.\n";
  const Papers papers = papers_of("- Kingma, Ba 2014. Adam\n- Dao et al. 2021, 2022. Flash\n- Elman 1990. Time\n");
  Papers uncited = papers;
  EXPECT_EQ(without_paper(citations_in(comment_text(source)), papers, uncited), std::vector<std::string>{"Yang 2016"});
  EXPECT_EQ(uncited, (Papers{{"Dao", "2021"}, {"Elman", "1990"}}));
}

}  // namespace
}  // namespace tapegrad::tests
