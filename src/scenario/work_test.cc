// What a wrong list of work, faults or captures is answered with.
#include "scenario/work.h"

#include <gtest/gtest.h>

#include "scenario/files_test.h"
#include "topology/spec.h"

namespace tulle::scenario {
namespace {

std::string work_answer(std::string_view entry, const FileReader& files = files_in_memory({})) {
    return answer("topology: star:4\nwork:\n  - " + std::string(entry), files);
}

std::string with_fault(std::string_view fault) {
    return answer(
        "topology: leaf-spine:leaves=2,spines=1,hosts=2\n"
        "work: [{shift: {by: 1, bytes: 1}}]\n"
        "faults: [" +
        std::string(fault) + "]\n");
}

TEST(work, an_entry_has_one_kind) {
    EXPECT_EQ(work_answer("{level: 1}"),
              "s.yaml:3: this work entry has no workload; add one of permutation, incast, shift, "
              "bisection, flows, cm, hpcc_flows, all_reduce, reduce_scatter, all_gather, "
              "all_to_all, broadcast, job, training, experts, serving, memory, storage, chakra, "
              "simai, astra, kineto");
    EXPECT_EQ(work_answer("{shift: {by: 1, bytes: 1}, bisection: {bytes: 1}}"),
              "s.yaml:3: the entry is both shift and bisection; make two of it");
    EXPECT_EQ(work_answer("{permutatoin: {bytes: 1}}"),
              "s.yaml:3: unknown key 'permutatoin' in an entry of work; did you mean "
              "'permutation'?");
}

TEST(work, what_is_missing_or_out_of_range_is_said) {
    EXPECT_EQ(work_answer("permutation: {}"),
              "s.yaml:3: the size of the messages is missing; write bytes: 1MB");
    EXPECT_EQ(work_answer("permutation: {bytes: 0}"),
              "s.yaml:3: bytes: a message has from one byte to 100TB");
    EXPECT_EQ(work_answer("permutation: {bytes: 1, count: 5}"),
              "s.yaml:3: count: '5' is no whole number from 1 to 4");
    EXPECT_EQ(work_answer("permutation: {byte: 1}"),
              "s.yaml:3: unknown key 'byte' in permutation; did you mean 'bytes'?");
    EXPECT_EQ(work_answer("incast: {bytes: 1}"), "s.yaml:3: `to` is missing; write to: 0");
    EXPECT_EQ(work_answer("incast: {to: 4, bytes: 1}"),
              "s.yaml:3: to: there is no host 4; the 4 hosts count from 0 to 3");
    EXPECT_EQ(work_answer("incast: {to: nobody, bytes: 1}"),
              "s.yaml:3: to: there is no host 'nobody'; they are called h0, ...");
    EXPECT_EQ(work_answer("incast: {to: 1, from: [0-2], bytes: 1}"),
              "s.yaml:3: from: host 1 would send to itself");
    EXPECT_EQ(work_answer("incast: {to: 1, from: [0, h0], bytes: 1}"),
              "s.yaml:3: from: host 0 is written twice");
    EXPECT_EQ(work_answer("incast: {to: 1, from: [0-9], bytes: 1}"),
              "s.yaml:3: from: there is no host 9; the 4 hosts count from 0 to 3");
    EXPECT_EQ(work_answer("incast: {to: 1, from: [0], senders: 1, bytes: 1}"),
              "s.yaml:3: senders has no effect beside from; remove one");
    EXPECT_EQ(work_answer("incast: {to: 1, senders: 4, bytes: 1}"),
              "s.yaml:3: senders: '4' is no whole number from 1 to 3");
    EXPECT_EQ(work_answer("shift: {bytes: 1}"), "s.yaml:3: `by` is missing; write by: 1");
    EXPECT_EQ(work_answer("shift: {by: 4, bytes: 1}"),
              "s.yaml:3: by: '4' is no whole number from 1 to 3");
    EXPECT_EQ(work_answer("flows: {}"), "s.yaml:3: flows is a map; write a list such as [A, B]");
    EXPECT_EQ(work_answer("flows: [{from: 0, to: 0, bytes: 1}]"),
              "s.yaml:3: host 0 sends to itself");
    EXPECT_EQ(work_answer("{shift: {by: 1, bytes: 1}, level: 8}"),
              "s.yaml:3: level: '8' is no whole number from 0 to 7");
    EXPECT_EQ(work_answer("{shift: {by: 1, bytes: 1}, start: 2000000s}"),
              "s.yaml:3: start: it is more than a day away");
    EXPECT_EQ(work_answer("{shift: {by: 1, bytes: 1}, operation: push}"),
              "s.yaml:3: operation: 'push' is unknown here; write one of write, send, read");
    EXPECT_EQ(work_answer("{shift: {by: 1, bytes: 1}, paths: p}"),
              "s.yaml:3: paths has no effect here; it goes with hpcc_flows");
    EXPECT_EQ(answer("topology: pair\nwork: [{shift: {by: 1, bytes: 1}}]"), "read");
}

TEST(work, files_are_read_beside_the_scenario) {
    const FileReader files = files_in_memory({{"a.cm", "Nodes 4\n0->3 start 5 size 9\n"},
                                              {"big.cm", "Nodes 5\n0->3 start 5 size 9\n"},
                                              {"bad.cm", "Nodes 5\nfoo\n"},
                                              {"flow.txt", "1\n0 3 3 100 9 2\n"},
                                              {"far.txt", "1\n0 7 3 100 9 2\n"},
                                              {"path.txt", "0 3 | 0 4 3 | 3 4 0\n"},
                                              {"wrong.txt", "0 2 | 0 4 2 | 2 4 0\n"}});
    EXPECT_EQ(work_answer("cm: a.cm", files), "read");
    EXPECT_EQ(work_answer("cm: none.cm", files), "s.yaml:3: cannot open none.cm");
    EXPECT_EQ(work_answer("cm: big.cm", files),
              "s.yaml:3: big.cm has 5 nodes, but the topology has 4 hosts");
    EXPECT_EQ(work_answer("cm: bad.cm", files).substr(0, 9), "bad.cm:2:");
    EXPECT_EQ(work_answer("hpcc_flows: flow.txt", files), "read");
    EXPECT_EQ(work_answer("hpcc_flows: far.txt", files),
              "s.yaml:3: there is no host 7; the 4 hosts count from 0 to 3");
    EXPECT_EQ(work_answer("{hpcc_flows: flow.txt, paths: path.txt}", files), "read");
    EXPECT_EQ(work_answer("{hpcc_flows: flow.txt, paths: wrong.txt}", files),
              "wrong.txt:1: there is no path from host 0 to host 3");
    EXPECT_EQ(work_answer("{hpcc_flows: flow.txt, level: 1}", files),
              "s.yaml:3: level has no effect here; the file has priority groups");
}

TEST(work, too_many_flows_are_refused_before_they_fill_memory) {
    sim::Setup setup;
    setup.graph = *topology::build_spec("star:6");
    const Names names(setup.graph);
    const FileReader files = files_in_memory({});
    const auto list = parse_tree("[{shift: {by: 1, bytes: 1}},\n {shift: {by: 1, bytes: 1}}]", "f");
    ASSERT_TRUE(list.ok());
    Notes notes("f");
    read_work(*list, {.names = names, .files = files, .most_flows = 10}, notes, setup);
    ASSERT_TRUE(notes.failed());
    EXPECT_EQ(notes.error().message, "f:2: there are more than 10 flows; take fewer");
}

TEST(faults, what_is_wrong_with_one_is_said) {
    EXPECT_EQ(with_fault("{at: 1us, cable: h0-leaf0, state: down}"), "read");
    EXPECT_EQ(with_fault("{cable: h0-leaf0, state: down}"),
              "s.yaml:3: when it happens is missing; write at: 100us");
    EXPECT_EQ(with_fault("{at: 1us, state: down}"),
              "s.yaml:3: a fault has one of cable, switch, host and manager");
    EXPECT_EQ(
        with_fault("{at: 1us, cable: h0-leaf0}"),
        "s.yaml:3: what becomes of it is missing; write state: down, state: up or state: flapping");
    EXPECT_EQ(with_fault("{at: 1us, cable: h0-h1, state: down}"),
              "s.yaml:3: there is no cable 'h0-h1'; h0 and h1 are joined by no cable");
    EXPECT_EQ(with_fault("{at: 1us, cable: h0-leaf0, state: dwn}"),
              "s.yaml:3: state: 'dwn' is unknown here; did you mean 'down'?");
    EXPECT_EQ(with_fault("{at: 1us, cable: h0-leaf0#1, state: down}"),
              "s.yaml:3: there is no cable 'h0-leaf0#1'; h0 and leaf0 are joined by one cable");
    EXPECT_EQ(with_fault("{at: 1us, cable: nonsense, state: down}"),
              "s.yaml:3: there is no cable 'nonsense'; write the names of the nodes at its ends, "
              "such as h0-leaf0");
    EXPECT_EQ(with_fault("{at: 1us, switch: laef0, state: down}"),
              "s.yaml:3: there is no switch 'laef0'; did you mean 'leaf0'?");
    EXPECT_EQ(with_fault("{at: 1us, switch: h0, state: down}"),
              "s.yaml:3: 'h0' is a host; only switches go down and up");
    EXPECT_EQ(with_fault("{at: 1us, host: 0, state: down}"),
              "s.yaml:3: a host has no state; take down its cable or switch");
    EXPECT_EQ(with_fault("{at: 1us, host: 0}"),
              "s.yaml:3: write one of pause_storm: on and slow_receiver: 10Gbps");
    EXPECT_EQ(with_fault("{at: 1us, host: 0, slow_receiver: 0Gbps}"),
              "s.yaml:3: slow_receiver: '0Gbps' would never deliver anything; write a rate such as "
              "400Gbps");
    EXPECT_EQ(with_fault("{at: 1us, host: 0, pause_storm: maybe}"),
              "s.yaml:3: pause_storm: 'maybe' is unknown here; write on or off");
    EXPECT_EQ(answer("topology: star:2\nprofile: ib-ndr\nwork: [{shift: {by: 1, bytes: 1}}]\n"
                     "faults: [{at: 1us, host: 0, pause_storm: on}]"),
              "s.yaml:4: pause_storm has no effect, because flow_control is not pfc");
}

TEST(qos, what_is_wrong_with_an_entry_is_said) {
    const std::string head = "topology: star:2\nwork: [{shift: {by: 1, bytes: 1}}]\n";
    EXPECT_EQ(answer(head + "qos: [{node: switch7}]"),
              "s.yaml:3: there is no node 'switch7'; did you mean 'switch0'?");
    EXPECT_EQ(answer(head + "qos: [{node: switch0, pfc_priorities: [16]}]"),
              "s.yaml:3: fabric.pfc.priorities: '16' is no whole number from 0 to 7");
    EXPECT_EQ(answer(head + "qos: [{node: switch0}]"),
              "s.yaml:3: the entry changes nothing; add one of pfc_priorities, strict, weights and "
              "willing");
    EXPECT_EQ(answer(head + "qos:\n  - {node: switch0, pfc_priorities: [3]}\n"
                            "  - {node: switch0, willing: yes}"),
              "s.yaml:5: switch0 has two entries; make them one");
    EXPECT_EQ(answer(head + "qos: [{node: h0, weights: [1, 2]}]"),
              "s.yaml:3: weights of a host has no effect, because its switch is not willing");
    EXPECT_EQ(answer(head + "qos: [{node: h0, weights: [1, 2]}, {node: switch0, willing: yes}]"),
              "read");
    EXPECT_EQ(answer(head + "profile: roce-v2-lossy\nqos: [{node: h0, pfc_priorities: [3]}]"),
              "s.yaml:4: pfc_priorities has no effect, because flow_control is not pfc");
    EXPECT_EQ(answer(head + "profile: ib-ndr\nqos: [{node: switch0}]"),
              "s.yaml:4: qos has no effect, because flow_control is credits");
    EXPECT_EQ(answer(head + "capture: [h0-h1]").substr(0, 35),
              "s.yaml:3: there is no cable 'h0-h1'");
}

}  // namespace
}  // namespace tulle::scenario
