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
        self.assertIn("there is no engine 'x'; the engines are min-hop,",
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

    def test_credit_loops_are_judged_with_the_lanes_of_the_dumps(self):
        fabric = self.fabric("torus:4x4")
        tables, levels, lanes = (self.folder / name for name in ("lfts", "levels", "sl2vl"))
        subnet("route", fabric, "--engine", "dfsssp", "--dump", tables, "--path-sls", levels,
               "--sl2vl", lanes)
        dumps = ("--tables", tables, "--path-sls", levels, "--sl2vl", lanes)
        found = report("check", fabric, *dumps)
        self.assertEqual(found["credit_loops"]["lanes"], 3)
        self.assertEqual(found["tables"],
                         f"from {tables}, lanes from {levels} and {lanes}")
        self.assertTrue(report("check", fabric, "--tables", tables, code=1)
                        ["credit_loops"]["is_wrong"])
        # Some levels are missing, so those paths share lane 0.
        lines = levels.read_text().splitlines()
        few = self.write("few", "\n".join(line for line in lines if not line.endswith("1")))
        found = report("check", fabric, "--tables", tables, "--path-sls", few, code=1)
        self.assertIn(" pairs of hosts, so it is 0 there",
                      " ".join(found["credit_loops"]["details"]))
        self.assertIn("--path-sls requires --tables",
                      refusal("check", fabric, "--path-sls", levels))
        other = self.fabric("star:2")
        self.assertIn("this port is nobody's in the fabric", refusal("check", other, *dumps))
        self.assertIn("levels:1: a row is the GUID of a switch",
                      refusal("check", self.fabric("torus:4x4"), "--tables", tables,
                              "--sl2vl", levels))

    def test_a_missing_and_a_wrong_entry_are_named(self):
        fabric = self.fabric("line:3")
        lines = subnet("route", fabric, "--dump", "-").splitlines()
        h2 = [i for i, line in enumerate(lines) if "'h2'" in line]
        del lines[h2[1]]
        tables = self.write("lost.dump", "\n".join(lines) + "\n")
        found = report("check", fabric, "--tables", tables, code=1)
        self.assertEqual(found["reach"]["lost_host_pairs"], 2)
        self.assertIn("from switch0 to h2 (LID 3): switch1 has no port that leads on",
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

    def test_holes_in_partitions_are_named(self):
        rules = self.write("p.conf", "Default=0x7fff: SELF=full;\n"
                                     "red=0x10: h0=full, h1, h2;\nblue=0x20: h3, h9;\n")
        found = report("check", "star:5", "--partitions", rules, code=1)["partitions"]
        self.assertEqual(found["pairs_that_may_talk"], 2 * 2)  # h0 with h1 and h2
        self.assertEqual(found["details"], [
            f"{rules}:3: partition blue names 'h9', and the fabric has no such node",
            "partition blue has members, and no full one: nobody in it can talk",
            "h3 can talk to no other host",
            "h4 can talk to no other host",
            "h3 shares no partition with the subnet manager, at h0: it can ask for no path",
            "h4 shares no partition with the subnet manager, at h0: it can ask for no path"])
        healthy = self.write("q.conf", "Default=0x7fff, defmember=full: ALL;\n")
        self.assertFalse(report("check", "star:5", "--partitions", healthy)["is_wrong"])
        broken = self.write("r.conf", "red=0x10: h0\n")
        self.assertIn("r.conf:1: a partition ends with a ';'",
                      refusal("check", "star:5", "--partitions", broken))

    def test_a_fabric_in_pieces_is_routed_and_named(self):
        fabric = self.fabric("line:4")
        text = fabric.read_text()
        lines = [line for line in text.splitlines()
                 if not (line.startswith("[3]") and '# "switch2"' in line)  # at switch1
                 and not (line.startswith("[2]") and '"switch1"' in line and "[3]" in line)]
        broken = self.write("broken.txt", "\n".join(lines) + "\n")
        found = report("check", broken, code=1)
        self.assertEqual(found["reach"]["pieces"], 2)
        self.assertEqual(found["reach"]["apart_host_pairs"], 2 * 2 * 2)
        self.assertEqual(found["reach"]["host_pairs"], 2 * 2)
        self.assertIn("the fabric is in 2 pieces: no cables join 8 pairs of hosts",
                      found["reach"]["details"])
        self.assertFalse(found["credit_loops"]["is_wrong"])
        self.assertEqual(report("route", broken)["pieces"], 2)
        lonely = text + '\nCa 1 "H-9" # "h9"\n'
        found = report("check", self.write("lonely.txt", lonely), code=1)
        self.assertEqual(found["reach"]["details"], ["h9 has no cable"])

    def test_lids_are_those_of_the_file(self):
        fabric = self.fabric("fat-tree:k=4")
        self.assertIn("'h0'", [line for line in subnet("route", fabric, "--dump", "-").splitlines()
                               if line.startswith("0x0001 ")][0])
        self.assertTrue(report("route", fabric)["are_lids_of_the_file"])
        self.assertFalse(report("route", fabric, "--lmc", "1")["are_lids_of_the_file"])
        text = fabric.read_text().replace("# lid 2 lmc 0", "# lid 1 lmc 0")
        twice = self.write("twice.txt", text)
        self.assertFalse(report("route", twice)["are_lids_of_the_file"])
        found = report("check", twice, code=1)
        self.assertEqual(found["lids"]["details"], ["1 is that of h0 and of h1"])

    def test_tables_that_use_one_of_two_ways_are_uneven(self):
        fabric = self.fabric("fat-tree:k=4")
        lines = subnet("route", fabric, "--dump", "-").splitlines()
        at = ""
        for i, line in enumerate(lines):
            at = line if line.startswith("Unicast") else at
            if "'leaf0'" in at and "Channel Adapter" in line and " 004 " in line:
                lines[i] = line.replace(" 004 ", " 003 ")  # leaf0 sends all up to spine0
        found = report("check", fabric, "--tables", self.write("one.dump", "\n".join(lines)),
                       code=1)
        self.assertFalse(found["reach"]["is_wrong"])
        self.assertTrue(found["shifts"]["is_wrong"])
        self.assertIn("the tables of fat-tree have 1.00 on average on this fabric",
                      found["shifts"]["details"])

    def test_the_slower_end_of_a_cable_counts(self):
        fabric = self.fabric("leaf-spine:leaves=3,spines=2,hosts=2")
        at = fabric.read_text()
        for name in ("leaf0", "spine1"):
            lines = at.splitlines()
            begin = [i for i, line in enumerate(lines) if f'# "{name}" enhanced' in line][0]
            other = "spine1" if name == "leaf0" else "leaf0"
            place = [i for i in range(begin, begin + 6) if f'# "{other}"' in lines[i]][0]
            lines[place] = lines[place].replace("4xHDR", "4xEDR")
            found = report("check", self.write("slow.txt", "\n".join(lines)), code=1)
            self.assertEqual(found["cables"]["odd"], 1, name)

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
        options = self.write("o.conf", "lmc 9\n")
        self.assertIn("o.conf:1: lmc is a number from 0 to 7, not '9'",
                      refusal("sweep", "ring:5", "--options", options))

    def test_a_broken_cable_costs_only_what_changes(self):
        found = report("sweep", "fat-tree:k=8", "--faults", "3")
        self.assertFalse(found["is_wrong"])
        self.assertEqual(len(found["faults"]), 3)
        for fault in found["faults"]:
            self.assertLessEqual(fault["sets"].get("SLtoVLMappingTable", 0), 80)
            self.assertLess(fault["sets"]["LinearForwardingTable"],
                            found["smps_of"]["LinearForwardingTable"] / 2)
        self.assertNotIn("SLtoVLMappingTable", found["faults"][2]["sets"])

    def test_options_and_partitions_are_set_up(self):
        options = self.write("o.conf", "lmc 1\nqos TRUE\ncongestion_control TRUE\ncc_cct 1 2\n"
                                       "log_file x\nmax_wire_smps 8\n")
        rules = self.write("p.conf", "Default=0x7fff, defmember=full: ALL;\n")
        found = report("sweep", "star:4", "--options", options, "--partitions", rules)
        self.assertFalse(found["is_wrong"])
        self.assertEqual(found["window"], 8)
        self.assertEqual(found["ignored_options"], ["log_file"])
        for table, count in (("P_KeyTable", 4 + 4 + 1), ("VLArbitrationTable", 2 * 8),
                             ("SLtoVLMappingTable", 5), ("CACongestionSetting", 4),
                             ("CongestionControlTable", 4), ("SwitchCongestionSetting", 1)):
            self.assertEqual(found["smps_of"][table], count, table)


class Query(Files):
    def test_paths_follow_from_tables_and_partitions(self):
        rules = self.write("p.conf", "red=0x10, sl=2: h1=full, h2=full;\n")
        answer = report("query", "star:4", "paths", "--from", "h1", "--to", "h2",
                        "--partitions", rules)
        self.assertEqual(len(answer["paths"]), 1)
        path = answer["paths"][0]
        self.assertEqual((path["from"], path["to"]), ("h1", "h2"))
        self.assertEqual((path["pkey"], path["service_level"]), (0x8010, 2))
        self.assertEqual((path["mtu"], path["mbps"]), (4096, 400000))
        self.assertEqual(report("query", "star:4", "paths", "--from", "h1", "--to", "h3",
                                "--partitions", rules)["paths"], [])

    def test_tables_come_in_segments(self):
        nodes = report("query", "fat-tree:k=4", "nodes")
        self.assertEqual(len(nodes["nodes"]), 36)
        self.assertGreater(nodes["mads"], 36 * 112 / 200)
        self.assertEqual(len(report("query", "fat-tree:k=4", "links")["links"]), 2 * 48)
        self.assertEqual(len(report("query", "star:3", "ports")["ports"]), 3 + 4)
        self.assertIn("36 nodes by", subnet("query", "fat-tree:k=4", "nodes"))

    def test_groups_are_those_of_a_policy(self):
        rules = self.write("p.conf", "Default=0x7fff, ipoib, defmember=full: ALL;\n")
        groups = report("query", "star:3", "groups", "--partitions", rules)["groups"]
        self.assertEqual([group["mgid"] for group in groups], ["ff12:401b:ffff:0:0:0:ffff:ffff"])

    def test_counters_count_mads(self):
        counters = report("query", "star:3", "counters")["counters"]
        self.assertEqual(len(counters), 4)
        for node in counters:
            self.assertEqual(node["xmit_bytes"], 288 * node["xmit_packets"])
            self.assertGreater(node["rcv_packets"], 0)

    def test_names_that_there_are_not_are_refused(self):
        self.assertIn("no host 'x'", refusal("query", "star:3", "paths", "--from", "x"))
        self.assertIn("no node 'x'", refusal("query", "star:3", "paths", "--to", "x"))
        self.assertIn("--to is for paths", refusal("query", "star:3", "nodes", "--to", "h1"))


if __name__ == "__main__":
    main()
