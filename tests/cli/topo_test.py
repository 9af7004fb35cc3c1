"""`tulle topo` builds, checks and converts fabrics as its man page says."""

import json
import pathlib
import tempfile
import unittest

from program import main, tulle

PEERS = pathlib.Path(__file__).parent.parent / "peers"

FAT_TREE = """\
Hosts                  128
Switches                56   32 leaves, 16 spines, 8 cores
Cables                 256   128 to hosts, 128 between switches
Diameter                 6   hops (cables) between the hosts that are farthest apart
Bisection               32   cables between the first and the second half of the hosts
Oversubscription     2 : 1   what half of the hosts sends : what crosses
"""


def text_of(*arguments, **keywords):
    result = tulle("topo", *arguments, **keywords)
    assert result.returncode == 0, result.stderr
    assert not result.stderr, result.stderr
    return result.stdout.decode()


def cables_of(hpcc):
    """The header and the cables of a file, whichever end of a cable comes first."""
    header, switches, *links = hpcc.splitlines()
    words = (link.split() for link in links)
    return header, switches, sorted((sorted(map(int, w[:2])), w[2:]) for w in words)


class Summary(unittest.TestCase):
    def test_the_example_of_the_man_page_is_true(self):
        self.assertEqual(text_of("fat-tree:k=8,oversubscription=2"), FAT_TREE)
        page = PEERS.parent.parent / "docs" / "man" / "tulle-topo.1"
        self.assertIn(FAT_TREE, page.read_text())

    def test_every_topology_of_the_help_text_can_be_built(self):
        text = text_of("--help").partition("Topologies by name:\n")[2].partition("\n\n")[0]
        specs = [w for line in text.splitlines() for w in line.split() if ":" in w or w == "pair"]
        self.assertGreaterEqual(len(specs), 11)
        for spec in specs:
            with self.subTest(spec=spec):
                self.assertIn("Hosts", text_of(spec))

    def test_json_has_the_same_numbers(self):
        report = json.loads(text_of("fat-tree:k=8,oversubscription=2", "--json", "-"))
        self.assertEqual(report, {
            "hosts": 128, "servers": 128, "switches": 56, "switches_of_tier": [32, 16, 8],
            "cables": 256, "host_cables": 128, "diameter_hops": 6, "bisection_cables": 32,
            "bisection_bps": None, "oversubscription": 2.0})

    def test_a_rate_on_the_command_line_gives_the_cut_a_rate(self):
        report = json.loads(text_of("star:4", "--rate", "100Gbps", "--json", "-"))
        self.assertEqual(report["bisection_bps"], 200_000_000_000)

    def test_files_of_other_programs_are_recognised(self):
        for name, hosts in (("topo_fattree_k8_100g.txt", 128), ("topo_star17_100g.txt", 17),
                            ("ibnetdiscover_two_leaves.txt", 3), ("ibsim_two_paths.net", 3)):
            with self.subTest(file=name):
                report = json.loads(text_of(PEERS / name, "--json", "-"))
                self.assertEqual(report["hosts"], hosts)

    def test_standard_input_is_a_file_too(self):
        content = (PEERS / "ibsim_two_paths.net").read_bytes()
        self.assertEqual(text_of("-", input=content), text_of(PEERS / "ibsim_two_paths.net"))


class Conversion(unittest.TestCase):
    def test_the_fat_tree_of_another_simulator_is_ours_to_the_byte(self):
        written = text_of("fat-tree:k=8", "--rate", "100Gbps", "--delay", "1us", "--to", "hpcc")
        self.assertEqual(written, (PEERS / "topo_fattree_k8_100g.txt").read_text())

    def test_a_chain_of_formats_ends_where_it_began(self):
        first = text_of("torus:3x3,hosts=2", "--rate", "100Gbps", "--delay", "1us", "--to", "hpcc")
        text = first
        for way in (("hpcc", "yaml"), ("yaml", "ibnetdiscover"), ("ibnetdiscover", "yaml")):
            text = text_of("-", "--from", way[0], "--to", way[1], input=text.encode())
        last = text_of("-", "--delay", "1us", "--to", "hpcc", input=text.encode())
        self.assertEqual(cables_of(last), cables_of(first))

    def test_an_output_file_appears_whole(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "fabric.dot"
            self.assertEqual(text_of("ring:4", "--to", "dot", "-o", path), "")
            self.assertTrue(path.read_text().startswith("graph fabric {"))
            self.assertEqual([p.name for p in pathlib.Path(folder).iterdir()], ["fabric.dot"])


class Mistakes(unittest.TestCase):
    def refused(self, *arguments, **keywords):
        result = tulle("topo", *arguments, **keywords)
        self.assertEqual(result.returncode, 2)
        self.assertEqual(result.stdout, b"")
        return result.stderr.decode()

    def test_a_mistake_is_one_sentence_that_says_what_to_write(self):
        self.assertEqual(
            self.refused("fat-tree:k=7"),
            "tulle topo: 'fat-tree:k=7': the k of a fat tree is the even number of ports of its "
            "switches, not 7\n")
        self.assertIn("there is no such topology; there are fat-tree", self.refused("cube:8"))
        self.assertIn("there is no format 'svg'", self.refused("star:2", "--to", "svg"))
        self.assertIn("can be written, not read", self.refused("-", "--from", "dot", input=b""))
        self.assertIn("--rate: ", self.refused("star:2", "--rate", "quick"))
        self.assertIn("write --rate 100Gbps --delay 1us", self.refused("star:2", "--to", "hpcc"))
        self.assertIn("excludes", self.refused("star:2", "--to", "dot", "--json", "-"))

    def test_a_broken_file_is_named_with_its_line(self):
        self.assertEqual(
            self.refused("-", input=b"hosts: [a, b]\ncables:\n- [a, c]\n"),
            "tulle topo: standard input:3: 'c' is neither a node of this file nor a port of one\n")
        self.assertEqual(
            self.refused("-", input=b"hosts: [a, b, c]\ncables:\n- [a, b]\n"),
            "tulle topo: standard input: host c has no cable\n")

    def test_a_result_that_has_no_place_is_refused(self):
        self.assertIn("cannot write", self.refused("star:2", "--to", "dot", "-o", "/nowhere/x"))


if __name__ == "__main__":
    main()
