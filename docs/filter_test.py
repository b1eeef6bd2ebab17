"""Tests of filter.py: python3 docs/filter_test.py"""
import pathlib
import unittest

import filter as docs_filter


def filtered(text):
    """What Doxygen is given for lines that are not the first of their file."""
    return docs_filter.Header(["#pragma once"] + text.split("\n")).run().split("\n")[1:-1]


class HeaderTest(unittest.TestCase):
    def test_sentences_at_the_top_describe_the_file(self):
        self.assertEqual(docs_filter.Header(["// Two words.", "// More.", "#pragma once"]).run(),
                         "/// \\file\n/// Two words.\n/// More.\n#pragma once\n")

    def test_indented_lines_are_code(self):
        self.assertEqual(filtered("/// Adds:\n///\n///   f(a<b>);\n///\n/// More.\nint f();"),
                         ["/// Adds:", "///", "/// \\code{.cpp}", "///   f(a<b>);", "/// \\endcode", "///", "/// More.", "int f();"])
        self.assertEqual(docs_filter.Header(["// Words:", "//   f(&x);", "#pragma once"]).run(),
                         "/// \\file\n/// Words:\n/// \\code{.cpp}\n///   f(&x);\n/// \\endcode\n#pragma once\n")

    def test_comments_after_members_are_documentation(self):
        self.assertEqual(filtered("struct A {\n  int x = 1;  // in pixels\n  int f() { return 1; }  // a <b>\n};"),
                         ["struct A {", "  int x = 1;  ///< in pixels", "  int f() { return 1; }  ///< a \\<b\\>", "};"])
        self.assertEqual(filtered("enum class E { a, b };  ///< of a kind"), ["/** of a kind */ enum class E { a, b };"])

    def test_notes_for_tools_are_not(self):
        self.assertEqual(filtered("struct A {\n  int x = 1;  // NOLINT: so\n};"), ["struct A {", "  int x = 1;  // NOLINT: so", "};"])

    def test_each_of_several_members_has_the_comment(self):
        self.assertEqual(filtered("struct A {\n  double lr = 1, eps = f(2, 3);  // positive\n};"),
                         ["struct A {", "/** positive */ double lr = 1; /** positive */ double eps = f(2, 3);", "};"])
        self.assertEqual(filtered("/// Names.\nconstexpr std::map<int, int> kA = {1, 2},\n    kB;"),
                         ["/// Names.", "constexpr std::map<int, int> kA = {1, 2}; /** Names. */ constexpr std::map<int, int> kB;", ""])

    def test_no_other_declaration_is_divided(self):
        for line in ("Tensor f(int a, int b);", "std::map<int, int> m;", "  a, b", "using A = B<int, int>;", "return {a, b};"):
            self.assertIsNone(docs_filter.separated(line, "text"), line)

    def test_a_group_shares_its_comment(self):
        self.assertEqual(filtered("/// Adds.\nint f();\nint g() {\n  return 1;\n}\nint h();\n\nint i();"),
                         ["/// Adds.", "int f();", "/// Adds.", "int g() {", "  return 1;", "}", "/// Adds.", "int h();", "", "int i();"])

    def test_a_template_has_its_comment_once(self):
        self.assertEqual(filtered("/// Adds.\nint f();\ntemplate <class T>\nrequires(C<T>)\nint g();"),
                         ["/// Adds.", "int f();", "/// Adds.", "template <class T>", "requires(C<T>)", "int g();"])

    def test_what_a_class_covers_refers_to_it(self):
        self.assertEqual(filtered("/// A.\nstruct A {\n  A();\n\n  bool empty() const;\n\n  int other() const;\n};"),
                         ["/// A.", "struct A {", "/// See A.", "  A();", "", "/// See A.", "  bool empty() const;", "",
                          "  int other() const;", "};"])

    def test_options_refer_to_what_takes_them(self):
        self.assertIn("/// Options of fill.", filtered("struct FillOptions {\n};\nvoid fill(int x, const FillOptions& o = {});"))
        self.assertIn("/// Options of Fill.", filtered("struct FillOptions {\n};"))

    def test_protected_members_are_private(self):
        self.assertEqual(filtered("class A {\n protected:\n};"), ["class A {", " private:", "};"])


class PageTest(unittest.TestCase):
    def test_headings_and_links(self):
        top = pathlib.Path("/top")
        text = "# A page\n## One `two`\n[a](#one-two) [b](x.h) [c](http://x)\n```\n# [a](#b)\n```"
        self.assertEqual(docs_filter.page(top, top / "nn/README.md", text).split("\n"),
                         ["# A page {#page-nn_README}", "## One `two` {#nn_README--one-two}",
                          "[a](#nn_README--one-two) b [c](http://x)", "```", "# [a](#b)", "```"])

    def test_links_on_two_lines(self):
        top = pathlib.Path("/top")
        self.assertEqual(docs_filter.page(top, top / "nn/README.md", "- [a\n  b](#one-two)\n```\n[a\nb](#c)\n```"),
                         "- [a b](#nn_README--one-two)\n```\n[a\nb](#c)\n```")

    def test_pictures(self):
        top = pathlib.Path("/top")
        self.assertEqual(docs_filter.page(top, top / "docs/a.md", "![A sum](ideas/sum.svg) ![b](b.svg) ![c](http://x/c.svg)"),
                         "![A sum](sum.svg) ![b](b.svg) ![c](http://x/c.svg)")


unittest.main()
