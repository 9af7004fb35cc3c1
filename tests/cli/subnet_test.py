"""`tulle subnet` routes fabrics and finds what is wrong with them, as its man page says."""

import json
import pathlib
import tempfile
import unittest

from program import main, tulle

PAGE = pathlib.Path(__file__).parent.parent.parent / "docs" / "man" / "tulle-subnet.1"
ENGINES = ("min-hop", "up-down", "fat-tree", "dfsssp", "dimension-order", "dragonfly")


def subnet(*arguments, code=0, **keywords):
    result = tulle("subnet", *arguments, **keywords)
    assert result.returncode == code, (arguments, result.returncode, result.stderr)
    return result.stdout.decode()


def report(*arguments, **keywords):
    return json.loads(subnet(*arguments, "--json", "-", **keywords))


def refusal(*arguments):
    result = tulle("subnet", *arguments)
    assert result.returncode == 2, (arguments, result.returncode)
    assert len(result.stderr.splitlines()) == 1, result.stderr
    return result.stderr.decode()


class Files(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write(self, name, text):
        path = self.folder / name
        path.write_text(text)
        return path

    def fabric(self, spec):
        """A fabric as ibnetdiscover prints it."""
        text = tulle("topo", spec, "--rate", "200Gbps", "--to", "ibnetdiscover").stdout.decode()
        return self.write("fabric.txt", text)


class Route(Files):
    def test_every_engine_routes_every_shape(self):
        for fabric in ("fat-tree:k=4", "torus:5x3", "dragonfly:a=4,p=1,h=1", "line:3"):
            for engine in ENGINES:
                with self.subTest(fabric=fabric, engine=engine):
                    routed = report("route", fabric, "--engine", engine)
                    self.assertEqual(routed["engine"], engine)
                    self.assertEqual(routed["entries"], routed["switches"] * routed["lids"])
                    self.assertEqual(routed["is_deadlock_free"], engine != "min-hop")

    def test_the_shape_of_a_fabric_chooses_the_engine(self):
        for fabric, engine in (("fat-tree:k=4", "fat-tree"), ("torus:5x5", "dimension-order"),
                               ("dragonfly:a=4,p=2,h=2", "dragonfly"), ("pair", "fat-tree"),
                               ("dragonfly+:leaves=2,spines=2,hosts=2,global=1", "dfsssp")):
            with self.subTest(fabric=fabric):
                self.assertEqual(report("route", fabric)["engine"], engine)

    def test_the_text_says_what_was_done_instead(self):
        self.assertIn("fat-tree, up and down by tiers", subnet("route", "fat-tree:k=4"))
        self.assertIn("the fabric is no tree", subnet("route", "torus:5x5", "--engine", "ftree"))

    def test_service_levels_are_in_the_report_where_they_say_something(self):
        self.assertEqual(report("route", "fat-tree:k=4")["service_levels"], {})
        levels = report("route", "ring:5", "--engine", "dfsssp")["service_levels"]
        self.assertEqual(len(levels), 5)
        self.assertEqual({level for row in levels.values() for level in row}, {0, 1})

    def test_what_is_wrong_is_said_in_a_sentence(self):
        self.assertIn("there is no engine 'x'; there are min-hop,",
                      refusal("route", "ring:5", "--engine", "x"))
        self.assertIn("/no/such", refusal("route", "/no/such"))
        self.assertIn("LIDs", refusal("route", "star:60000"))
        self.assertIn("ports", refusal("route", "star:300"))


class Check(Files):
    def test_the_example_of_the_man_page_is_true(self):
        text = subnet("check", "ring:5", "--engine", "min-hop", code=1)
        self.assertIn(text, PAGE.read_text())

    def test_a_healthy_fabric_has_nothing_wrong(self):
        found = report("check", self.fabric("fat-tree:k=4"))
        self.assertFalse(found["is_wrong"])
        self.assertEqual(found["reach"]["host_pairs"], 16 * 15)
        self.assertEqual(found["shifts"]["most_flows"], 1)

    def test_tables_go_out_and_come_back(self):
        fabric = self.fabric("fat-tree:k=4")
        dump = self.folder / "lfts.dump"
        subnet("route", fabric, "--engine", "fat-tree", "--dump", dump)
        self.assertEqual(dump.read_text(), subnet("route", fabric, "--dump", "-"))
        found = report("check", fabric, "--tables", dump)
        self.assertFalse(found["is_wrong"])
        self.assertIsNone(found["engine"])

    def test_a_missing_and_a_wrong_entry_are_named(self):
        fabric = self.fabric("line:3")
        lines = subnet("route", fabric, "--dump", "-").splitlines()
        h2 = [i for i, line in enumerate(lines) if "'h2'" in line]
        del lines[h2[1]]
        tables = self.write("lost.dump", "\n".join(lines) + "\n")
        found = report("check", fabric, "--tables", tables, code=1)
        self.assertEqual(found["reach"]["lost_host_pairs"], 2)
        self.assertIn("from switch0 to h2 (LID 6): switch1 has no port that leads on",
                      found["reach"]["details"])

        lines = subnet("route", fabric, "--dump", "-").splitlines()
        lines[h2[1]] = lines[h2[1]].replace(" 003 ", " 002 ")
        tables = self.write("circle.dump", "\n".join(lines) + "\n")
        found = report("check", fabric, "--tables", tables, code=1)
        self.assertEqual(found["reach"]["looping_host_pairs"], 2)
        self.assertIn("in a circle: switch", found["reach"]["details"][0])

    def test_a_slow_cable_is_named(self):
        fabric = self.fabric("leaf-spine:leaves=3,spines=2,hosts=2")
        text = fabric.read_text().replace('"spine1" lid 11 4xHDR', '"spine1" lid 11 1xHDR', 1)
        found = report("check", self.write("slow.txt", text), code=1)
        self.assertEqual(found["cables"]["odd"], 1)
        self.assertIn("runs at 1xHDR (50Gbps), the others at 4xHDR (200Gbps)",
                      found["cables"]["details"][0])

    def test_a_guid_that_is_given_twice_is_named(self):
        fabric = self.fabric("star:3")
        text = fabric.read_text().replace("caguid=0x200000000000200", "caguid=0x200000000000100")
        found = report("check", self.write("twice.txt", text), code=1)
        self.assertEqual(found["guids"]["details"],
                         ["0x0200000000000100 is that of h0 and of h1"])
        self.assertFalse(found["reach"]["is_wrong"])

    def test_how_many_flows_are_too_many_can_be_told(self):
        subnet("check", "torus:5x5", "--flows", "100")
        found = report("check", "torus:5x5", "--flows", "1", code=1)
        self.assertTrue(found["shifts"]["is_wrong"])
        self.assertEqual(report("check", "fat-tree:k=8", "--shifts", "7")["shifts"]["shifts"], 7)

    def test_a_dump_of_another_fabric_is_refused(self):
        other = self.write("other.dump", subnet("route", "star:3", "--dump", "-"))
        message = refusal("check", "ring:5", "--tables", other)
        self.assertRegex(message, r"other.dump:\d+: ")
        self.assertIn("excludes", refusal("check", "ring:5", "--tables", other, "--engine", "x"))


class Sweep(Files):
    def test_a_fabric_comes_up_and_all_smps_are_counted(self):
        found = report("sweep", "fat-tree:k=4")
        self.assertFalse(found["is_wrong"])
        self.assertEqual(found["nodes"], 36)
        self.assertEqual(found["smps"], sum(found["smps_of"].values()))
        self.assertEqual(found["smps_of"]["LinearForwardingTable"], 20)
        self.assertEqual(found["host_pairs_without_route"], 0)
        self.assertIn("all have a route, all links are active", subnet("sweep", "fat-tree:k=4"))

    def test_a_smaller_window_takes_longer_and_sends_the_same(self):
        wide, narrow = (report("sweep", "fat-tree:k=4", "--window", n) for n in ("64", "1"))
        self.assertGreater(narrow["bring_up_ps"], wide["bring_up_ps"])
        self.assertEqual(narrow["smps"], wide["smps"])

    def test_lost_smps_are_sent_again(self):
        found = report("sweep", "torus:4x4", "--loss", "10000", "--seed", "3")
        self.assertFalse(found["is_wrong"])
        self.assertGreater(found["smps_repeated"], 0)
        self.assertEqual(found, report("sweep", "torus:4x4", "--loss", "10000", "--seed", "3"))

    def test_what_is_wrong_is_said_in_a_sentence(self):
        self.assertIn("there is no engine 'x'", refusal("sweep", "ring:5", "--engine", "x"))


if __name__ == "__main__":
    main()
