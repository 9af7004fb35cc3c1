"""The checkers find planted faults, and accept correct files."""

import subprocess
import tempfile
import unittest
from pathlib import Path

import arrows
import man
import names
import purity
import reached
import sizes
import spec_map
import tidy
import together
from checker import need

README = "# A room\n\nWhat it is.\nWhere to start reading.\n"


class Tree(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        self.plant("src/wire/README.md", README)

    def plant(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path


class Reached(Tree):
    def complaints(self, **files):
        for name, text in files.items():
            self.plant("src/wire/" + name.replace("_dot_", "."), text)
        return list(reached.check(self.root))

    def test_what_another_file_calls_passes(self):
        self.assertEqual(self.complaints(a_dot_h="int one();\n",
                                         a_dot_cc="int one() { return 1; }\n",
                                         b_dot_cc="int two = one();\n"), [])

    def test_what_only_tests_call_is_found(self):
        found = self.complaints(a_dot_h="int one();\n", a_dot_cc="int one() { return 1; }\n",
                                a_test_dot_cc="int two = one();\n")
        self.assertEqual(len(found), 1)
        self.assertIn("src/wire/a.h:1: only tests reach one", found[0])

    def test_members_and_constants_that_nothing_uses_are_found(self):
        found = self.complaints(a_dot_h="struct Pair {\n    int left = 0;\n    int right = 0;\n};\n"
                                        "inline constexpr int kMost = 3;\n",
                                b_dot_cc="int sum(Pair p) { return p.left; }\n",
                                b_test_dot_cc="int two = Pair{}.right + kMost;\n")
        self.assertEqual([line.split(":")[1] for line in found], ["3", "5"])

    def test_a_comment_is_no_use(self):
        self.assertEqual(len(self.complaints(a_dot_h="int one() { return 1; }\n",
                                             b_dot_cc="// one() is not called\n")), 1)


class Sizes(Tree):
    def complaints(self, methods):
        text = "class Large {\npublic:\n    // f(); g();\n" + methods + "};\n"
        self.plant("src/wire/a.h", text)
        return list(sizes.check(self.root))

    def test_forty_methods_pass(self):
        self.assertEqual(self.complaints("    int f(int a) const { return g(a); }\n" * 40), [])

    def test_more_are_a_complaint_with_their_number(self):
        found = self.complaints("    int f(int a);\n" * 20 + "private:\n    void g() {}\n" * 21)
        self.assertEqual(len(found), 1)
        self.assertIn("src/wire/a.h:1: Large has 41 methods", found[0])

    def test_members_are_no_methods(self):
        self.assertEqual(self.complaints("    int a = f(1);\n    B b{g(2)};\n" * 30), [])


class Names(Tree):
    def complaints(self, room, text):
        self.plant("src/wire/a.h", "struct Verdict {\n};\nvoid deliver(int a);\n")
        self.plant(f"src/{room}/b.h", text)
        return list(names.check(self.root))

    def test_one_type_and_functions_of_other_names_pass(self):
        found = self.complaints("live", "class Ruling {\n};\nVerdict one();\nint deliver();\n")
        self.assertEqual(len(found), 1)  # deliver() in wire
        self.assertIn("src/wire/a.h:3: deliver()", found[0])

    def test_a_type_of_two_rooms_is_found(self):
        found = self.complaints("zoo", "// a second one\nenum class Verdict : int { yes };\n")
        self.assertIn("src/zoo/b.h:2: Verdict is a type of wire already: "
                      "name it by its role", found)


class Together(Tree):
    def plant_two(self, first, second, room="tulle_room(wire COLD)\n"):
        self.plant("CMakeLists.txt", room)
        for name, line in (("a", first), ("b", second)):
            self.plant(f"src/wire/{name}.cc", f"namespace {{\n\n{line}\n\n}}  // namespace\n")
        return list(together.check(self.root))

    def test_names_of_their_own_pass(self):
        self.assertEqual(self.plant_two("int one() {\n}", "using Two = int;"), [])

    def test_two_functions_of_one_name_are_named_with_file_and_line(self):
        complaints = self.plant_two("int one(int i) {\n}", "std::string one(long i) {\n}")
        self.assertEqual(len(complaints), 1)
        self.assertRegex(complaints[0], "^src/wire/b.cc:3: one is a name of src/wire/a.cc too")

    def test_constants_and_types_count(self):
        self.assertEqual(len(self.plant_two("constexpr int kOne = 1;", "struct kOne {\n};")), 1)

    def test_a_file_that_is_compiled_alone_may_share_names(self):
        room = "tulle_room(wire COLD ALONE b.cc)\n"
        self.assertEqual(self.plant_two("int one() {\n}", "int one() {\n}", room), [])

    def test_rooms_that_packets_pass_through_are_compiled_file_by_file(self):
        room = "tulle_room(wire)\n"
        self.assertEqual(self.plant_two("int one() {\n}", "int one() {\n}", room), [])


class Arrows(Tree):
    def complaints(self):
        return list(arrows.check(self.root))

    def test_what_the_plan_allows_passes(self):
        self.plant("src/wire/a.h", '#include <string>\n#include "base/b.h"\n#include "wire/c.h"\n')
        self.assertEqual(self.complaints(), [])

    def test_an_include_against_the_arrow_is_named_with_file_and_line(self):
        self.plant("src/wire/deep/a.cc", '#include "wire/a.h"\n\n#include "cli/app.h"\n')
        self.assertEqual(self.complaints(), [
            "src/wire/deep/a.cc:3: wire may not include cli; it may include: base"])

    def test_angle_brackets_and_relative_paths_are_no_way_around(self):
        self.plant("src/wire/a.cc", '# include <sim/a.h>\n#include "../sim/a.h"\n')
        first, second = self.complaints()
        self.assertIn("src/wire/a.cc:1: wire may not include sim", first)
        self.assertIn('src/wire/a.cc:2: include our headers as "room/file.h"', second)

    def test_a_folder_that_is_no_room_is_an_error(self):
        self.plant("src/util/README.md", README)
        self.assertIn("src/util:1: is no room of the plan", self.complaints()[0])

    def test_the_table_of_the_plan_says_what_the_plan_says(self):
        table = (arrows.ROOT / "ARCHITECTURE.md").read_text()
        self.assertEqual(list(arrows.check_table(table)), [])
        wrong = table.replace("captures as bytes | base |", "captures as bytes | base cli |")
        self.assertIn("says that wire may include 'base cli'", next(arrows.check_table(wrong)))

    def test_a_room_without_readme_is_an_error(self):
        self.plant("src/base/a.h", "#pragma once\n")
        self.assertIn("src/base/README.md:1: has 0 lines", self.complaints()[0])


class Purity(Tree):
    def complaints_about(self, body, room="wire", source="a.cc"):
        path = self.plant(f"src/{room}/{source}", body)
        thing = self.root / f"{source}.o"
        subprocess.run(["g++", "-std=c++20", "-c", path, "-o", thing], check=True)
        subprocess.run(["ar", "cr", self.root / f"libtulle_{room}.a", thing], check=True)
        return [c for c in purity.check(self.root, self.root) if c.startswith(f"src/{room}/")]

    def test_a_planted_clock_is_named_with_file_and_line(self):
        body = "#include <ctime>\n\nlong now() { return std::time(nullptr); }\n"
        self.assertEqual(self.complaints_about(body), [
            "src/wire/a.cc:3: uses time, which is a clock; wire is a pure room"])

    def test_memory_and_text_in_memory_pass(self):
        body = ("#include <cstdio>\n#include <string>\n"
                "std::string f(int n) { char t[9]; std::snprintf(t, 9, \"%d\", n); return t; }\n")
        self.assertEqual(self.complaints_about(body), [])

    def test_inline_code_is_caught_by_what_its_header_includes(self):
        self.plant("src/wire/a.h", "#pragma once\n#include <thread>\n")
        self.plant("src/wire/a_test.cc", "#include <fstream>\n")
        self.assertEqual(self.complaints_about("int a;\n"), [
            "src/wire/a.h:2: includes <thread>; wire is a pure room"])

    def test_only_check_cc_may_print_to_stderr(self):
        body = '#include <cstdio>\nvoid f(int n) { std::fprintf(stderr, "%d", n); }\n'
        self.assertEqual(self.complaints_about(body, "base", "check.cc"), [])
        self.assertEqual(len(self.complaints_about(body, "base", "other.cc")), 2)

    def test_a_room_that_is_not_built_is_an_error(self):
        self.assertIn("is not built", list(purity.check(self.root, self.root))[0])

    def test_symbols_are_known_in_every_disguise(self):
        for symbol, kind in {
                "std::chrono::_V2::steady_clock::now()": "a clock",
                "__isoc99_fscanf": "a file",
                "open64@GLIBC_2.2.5": "a file",
                "std::basic_ofstream<char, std::char_traits<char> >::close()": "a file",
                "__printf_chk": "a print",
                "std::cout": "a print",
                "fmt::v9::vprint(fmt::v9::basic_string_view<char>)": "a print",
                "std::random_device::_M_getval()": "a random device",
                "std::thread::_M_start_thread(std::unique_ptr<int>)": "a thread",
        }.items():
            self.assertEqual(purity.banned_kind(symbol), kind, symbol)
        for symbol in ("__vsnprintf_chk", "memcpy", "tulle::wire::write(int)", "__assert_fail",
                       "std::filesystem::__cxx11::path::_M_split_cmpts()"):
            self.assertIsNone(purity.banned_kind(symbol), symbol)


class Tidy(Tree):
    def complaints_about(self, name, text):
        self.plant(name, text)
        return list(tidy.check(self.root))

    def test_each_rule_of_form_is_named_with_file_and_line(self):
        long_line = "// " + "x" * 98
        for line, rule in {
                long_line: "101 columns",
                "\tint a;": "a tab",
                "int a; ": "space at the end",
                "// TODO later": "TODO",
                "// see ../shared/x": "stands alone",
                "using namespace std;": "write std::",
        }.items():
            complaint, = self.complaints_about("src/wire/a.cc", f"int b;\n{line}\n")
            self.assertIn("src/wire/a.cc:2: ", complaint)
            self.assertIn(rule, complaint)

    def test_a_test_that_sleeps_is_caught(self):
        for name, line in {"src/wire/a_test.cc": "std::this_thread::sleep_for(1ms);",
                           "tests/pair/run.py": "time.sleep(1)",
                           "tests/pair/run.sh": "sleep 1"}.items():
            complaint, = self.complaints_about(name, line + "\n")
            self.assertEqual(complaint, f"{name}:1: a test never sleeps; time is an argument")
            (self.root / name).unlink()

    def test_a_header_without_guard_and_an_endless_file_are_caught(self):
        self.assertIn("#pragma once", self.complaints_about("src/wire/a.h", "int a();\n")[0])
        text = "#pragma once\n" * 801
        self.assertIn("more than 800 lines", self.complaints_about("src/wire/a.h", text)[0])

    def test_a_link_that_leads_nowhere_is_caught(self):
        text = ("[here](README.md#x) [web](https://example.org) `[](int)`\n"
                "```\n[&](auto)\n```\n[gone](gone.md)\n")
        self.assertEqual(self.complaints_about("src/wire/NOTES.md", text), [
            "src/wire/NOTES.md:5: the link leads nowhere: gone.md"])


class SpecMap(Tree):
    def test_a_file_or_a_test_that_does_not_exist_is_named_with_its_line(self):
        self.plant("src/wire/link_test.cc", "TEST(Link, is_up) {}\n")
        self.plant(
            "docs/SPEC_MAP.md",
            "| clause | rule | file | test |\n|---|---|---|---|\n"
            "| 7.1 | a | `src/wire/link_test.cc` | `Link.is_up` |\n"
            "| 7.2 | b | `src/wire/gone.h` | `Link.is_down` |\n"
            "| 7.3 | c | `src/wire/link_test.cc` | by eye |\n",
        )
        self.assertEqual(
            list(spec_map.check(self.root)),
            [
                "docs/SPEC_MAP.md:4: there is no file src/wire/gone.h",
                "docs/SPEC_MAP.md:4: there is no test Link.is_down",
                "docs/SPEC_MAP.md:5: a clause names the test that holds it",
            ],
        )


class Man(Tree):
    def test_subcommands_are_read_out_of_the_help_text(self):
        text = ("Usage: tulle [OPTIONS] SUBCOMMAND\n\nOptions:\n  -h,--help   Print this\n\n"
                "Subcommands:\n  decode      Print packets\n              in a capture\n"
                "  run         Run\n")
        self.assertEqual(man.subcommands(text), ["decode", "run"])

    def test_options_are_read_out_of_help_texts_and_pages(self):
        text = ("Options:\n  -q,--quiet       Print less, without --json\n"
                "  --json FILE      Write all\n\nExamples:\n  tulle sim --html x\n")
        self.assertEqual(man.options_in(text), {"--quiet", "--json"})
        page = (".Op Fl -json Ar file\n.It Fl q , -quiet\nas Fl -html does\n"
                ".Fl -profile , -seed\nand --csv\n")
        self.assertEqual(man.options_on(page), ({"--json", "--quiet", "--profile", "--seed"},
                                                {"--quiet"}))

    def test_mandoc_warnings_are_complaints_with_file_and_line(self):
        page = self.plant("docs/man/tulle.1", ".Dd $Mdocdate$\n.Dt TULLE 1\n.Os\n.Xx\n")
        complaints = list(man.lint("mandoc", page))
        self.assertIn("docs/man/tulle.1:4: ", "\n".join(complaints))


if __name__ == "__main__":
    for program, package in {"ar": "binutils", "nm": "binutils", "mandoc": "mandoc"}.items():
        need(program, package)
    unittest.main()
