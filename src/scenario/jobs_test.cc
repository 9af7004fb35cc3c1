// Collectives, jobs and storage as a scenario writes them.
#include "scenario/jobs.h"

#include <gtest/gtest.h>

#include "scenario/fields.h"
#include "scenario/files_test.h"

namespace tulle::scenario {
namespace {

using workload::Collective;
using workload::Program;
using workload::Task;
using workload::Tier;

constexpr std::string_view kRails = "topology: rail:servers=2,rails=4,storage=1\n";

// On two servers of four GPUs and a storage node.
std::string on_rails(std::string_view entry, std::string_view gpus = "{scale_up: nvlink4}") {
    return std::string(kRails) + "gpus: " + std::string(gpus) + "\nwork:\n  - " +
           std::string(entry);
}

std::string said(std::string_view entry, std::string_view gpus = "{scale_up: nvlink4}") {
    return answer(on_rails(entry, gpus));
}

sim::Setup made(const std::string& text) {
    auto setup = read_scenario(text, "s.yaml", files_in_memory({}));
    EXPECT_TRUE(setup.ok()) << setup.error().message;
    return setup ? *setup : sim::Setup{};
}

TEST(gpus, are_ranks_in_the_order_of_hosts_and_then_come_the_others) {
    const sim::Setup setup = made(on_rails("all_reduce: {bytes: 1MiB}"));
    ASSERT_EQ(setup.ranks.size(), 9u);
    for (uint32_t rank = 0; rank < 9; ++rank) EXPECT_EQ(setup.ranks[rank].endpoint, rank);
    for (uint32_t rank = 0; rank < 8; ++rank) EXPECT_EQ(setup.ranks[rank].scale_up, rank);
    EXPECT_EQ(setup.ranks[8].scale_up, topology::kNone);
    ASSERT_NE(setup.scale_up, nullptr);
    EXPECT_EQ(setup.scale_up->fabric_name, "NVLink 4");
    EXPECT_EQ(setup.scale_up->graph.host_count(), 8u);
    EXPECT_EQ(setup.scale_up->graph.switch_count(), 2u);
    EXPECT_EQ(setup.scale_up->host.algorithms.dcqcn.line_rate_bps, 2'966'400'000'000u);
}

TEST(gpus, may_be_some_of_the_hosts_and_share_servers_that_the_topology_does_not_know) {
    const sim::Setup setup = made(
        "topology: star:6\n"
        "gpus: {hosts: [1-4], per_server: 2, scale_up: {profile: nvlink4, fabric: {link: {rate: "
        "1000Gbps}}}}\n"
        "work: [{all_reduce: {bytes: 1MiB}}]\n");
    const uint32_t endpoints[] = {1, 2, 3, 4, 0, 5};
    ASSERT_EQ(setup.ranks.size(), 6u);
    for (uint32_t rank = 0; rank < 6; ++rank)
        EXPECT_EQ(setup.ranks[rank].endpoint, endpoints[rank]);
    EXPECT_EQ(setup.scale_up->graph.switch_count(), 2u);
    EXPECT_EQ(setup.scale_up->fabric.link.rate.whole_bits_per_second(), 1'000'000'000'000u);
    EXPECT_EQ(setup.program.phases[0].ranks, 4u);
    EXPECT_EQ(setup.program.phases[0].algorithm, "ring");
    EXPECT_TRUE(setup.program.phases[0].is_automatic);
}

TEST(gpus, react_in_some_time_and_a_file_that_says_no_is_named_with_its_line) {
    EXPECT_EQ(
        answer("topology: star:4\nhosts: {reaction: 0ns}\nwork: [{all_reduce: {bytes: 1KB}}]\n"),
        "s.yaml:2: hosts.reaction is below 1ns; write 500ns, or what a rank takes to react");
    EXPECT_EQ(
        answer("topology: star:4\nhosts: {reaction: 0ns}\nwork: [{shift: {by: 1, bytes: 1KB}}]\n")
            .substr(0, 4),
        "read");
}

TEST(gpus, may_share_an_adapter) {
    const sim::Setup setup = made(
        "topology: star:4\ngpus: {per_nic: 2, per_server: 4, scale_up: pcie5}\n"
        "work: [{all_reduce: {bytes: 1MiB}}]\n");
    ASSERT_EQ(setup.ranks.size(), 8u);
    for (uint32_t rank = 0; rank < 8; ++rank) {
        EXPECT_EQ(setup.ranks[rank].endpoint, rank / 2);
        EXPECT_EQ(setup.ranks[rank].scale_up, rank);
    }
    EXPECT_EQ(setup.program.phases[0].ranks, 8u);
}

TEST(gpus, may_be_slow) {
    const sim::Setup setup =
        made(on_rails("all_reduce: {bytes: 1MiB}",
                      "{scale_up: nvlink4, slow: [{gpus: [3], compute: 3/2, reaction: 4}]}"));
    EXPECT_EQ(setup.ranks[3].compute_permille, 1500u);
    EXPECT_EQ(setup.ranks[3].reaction_permille, 4000u);
    EXPECT_EQ(setup.ranks[2].reaction_permille, 1000u);
}

TEST(gpus, of_a_rack_have_the_profile_of_racks) {
    const auto inside = [](const std::string& count) {
        return made("topology: star:16\ngpus: {per_server: " + count +
                    ", scale_up: nvlink5}\nwork: [{all_reduce: {bytes: 1MiB}}]\n")
            .scale_up->fabric_name;
    };
    EXPECT_EQ(inside("8"), "NVLink 5");
    EXPECT_EQ(inside("16"), "NVLink 5 rack");
}

TEST(gpus, without_a_word_each_host_has_one_and_servers_have_no_network_inside) {
    const sim::Setup setup = made("topology: star:4\nwork: [{all_reduce: {bytes: 1MiB}}]\n");
    EXPECT_EQ(setup.ranks.size(), 4u);
    EXPECT_EQ(setup.scale_up, nullptr);
    EXPECT_EQ(setup.program.phases[0].algorithm, "ring");
    EXPECT_TRUE(made("topology: star:4\nwork: [{shift: {by: 1, bytes: 1}}]\n").ranks.empty());
}

TEST(gpus, what_is_wrong_with_them_is_said) {
    const std::string_view entry = "all_reduce: {bytes: 1}";
    EXPECT_EQ(said(entry, "{scale_up: none}"), "read");
    EXPECT_EQ(said(entry, "{hosts: [0-9]}"),
              "s.yaml:2: hosts: there is no host 9; the 9 hosts count from 0 to 8");
    EXPECT_EQ(said(entry, "{hosts: [3-1]}"), "s.yaml:2: hosts: 3-1 ends before it begins");
    EXPECT_EQ(said(entry, "{hosts: []}"), "s.yaml:2: hosts: name at least one");
    EXPECT_EQ(said(entry, "{per_server: 3}"), "s.yaml:2: per_server: 3 does not divide the 8 GPUs");
    EXPECT_EQ(said(entry, "{per_server: 9}"),
              "s.yaml:2: per_server: '9' is no whole number from 1 to 8");
    EXPECT_EQ(said(entry, "{scale_up: nvlink}").substr(0, 42),
              "s.yaml:2: there is no profile 'nvlink'; di");
    EXPECT_EQ(said(entry, "{scale_up: {fabric: {}}}"),
              "s.yaml:2: the profile is missing; write profile: nvlink4");
    EXPECT_EQ(said(entry, "{scale_up: {profile: nvlink4, fabric: {ecn: {kmin: 1KB}}}}"),
              "s.yaml:2: fabric.ecn.kmin has no effect, because marking is not ecn; change "
              "that, or remove this");
    EXPECT_EQ(said(entry, "{scale_up: nvlink4, per_server: 1}"),
              "s.yaml:2: scale_up: each server has one GPU; write per_server: 8 or so");
    EXPECT_EQ(said(entry, "{scale_up: nvlink4, hosts: [0-4]}"),
              "s.yaml:2: scale_up: servers have different numbers of GPUs; write per_server: 8 or "
              "so");
    EXPECT_EQ(said(entry, "{per_nic: 2}"),
              "s.yaml:2: per_nic: GPUs that share an adapter need a network between them; write "
              "scale_up: nvlink4, or pcie5");
    EXPECT_EQ(said(entry, "{generation: pascal}"),
              "s.yaml:2: generation: 'pascal' is unknown here; write one of volta, ampere, hopper, "
              "blackwell");
    EXPECT_EQ(said(entry, "{slow: [{gpus: [8], compute: 2}]}"),
              "s.yaml:2: gpus: there is no GPU '8'; the 8 GPUs count from 0 to 7");
    EXPECT_EQ(said(entry, "{slow: [{gpus: [1]}]}"),
              "s.yaml:2: slow: the factor is missing; write compute: 3/2 or reaction: 3/2");
    EXPECT_EQ(said(entry, "{slow: [{gpus: [1], compute: 1/2}]}"),
              "s.yaml:2: compute: a slow GPU takes longer; write 3/2 or so");
    EXPECT_EQ(said(entry, "{per_sever: 4}"),
              "s.yaml:2: unknown key 'per_sever' in gpus; did you mean 'per_server'?");
    EXPECT_EQ(answer("topology: star:4\ngpus: {per_server: 2}\nwork: [{shift: {by: 1, bytes: 1}}]"),
              "s.yaml:2: gpus has no effect: no work is a collective, a job or storage");
}

TEST(jobs, a_collective_is_a_job_of_one_phase) {
    const sim::Setup setup =
        made(on_rails("{all_to_all: {bytes: 8MiB, ranks: [0-3, 6]}, name: experts, start: 3us}"));
    ASSERT_EQ(setup.program.jobs.size(), 1u);
    EXPECT_EQ(setup.program.jobs[0].name, "experts");
    EXPECT_EQ(setup.program.jobs[0].start.ps, 3'000'000);
    EXPECT_EQ(setup.program.jobs[0].traffic_class & 3, 2);  // as flows have it on this profile
    ASSERT_EQ(setup.program.phases.size(), 1u);
    EXPECT_EQ(setup.program.phases[0].name, "experts");
    EXPECT_EQ(setup.program.phases[0].collective, Collective::all_to_all);
    EXPECT_EQ(setup.program.phases[0].bytes, 8u << 20);
    EXPECT_EQ(setup.program.phases[0].ranks, 5u);
    EXPECT_TRUE(setup.groups.empty());
    for (const Task& task : setup.program.tasks())
        EXPECT_TRUE(task.rank <= 3 || task.rank == 6) << task.rank;
}

TEST(jobs, options_of_a_collective_are_taken) {
    const sim::Setup setup = made(on_rails(
        "all_reduce: {bytes: 1MiB, algorithm: two_level, between: tree, in_switch: yes, chunk: "
        "64KiB, window: 2, channels: 2}"));
    bool contributes = false;
    for (const Task& task : setup.program.tasks()) {
        contributes |= task.kind == Task::Kind::contribute;
        EXPECT_LE(task.bytes, 64u << 10);
    }
    EXPECT_TRUE(contributes);
    const sim::Setup from_5 =
        made(on_rails("broadcast: {bytes: 1KiB, root: 5, algorithm: ring, protocol: none}"));
    EXPECT_EQ(from_5.program[0].rank, 5u);
    const sim::Setup by_rail = made(on_rails("all_to_all: {bytes: 1MiB, pxn: yes}"));
    for (const Task& task : by_rail.program.tasks())
        EXPECT_TRUE(task.tier == Tier::scale_up || task.rank % 4 == task.peer % 4);
}

TEST(jobs, sizes_are_swept_phase_by_phase) {
    const sim::Setup setup = made(on_rails("all_reduce: {sizes: {from: 8B, to: 1KiB, factor: 4}}"));
    std::vector<uint64_t> sizes;
    for (const workload::Phase& phase : setup.program.phases) sizes.push_back(phase.bytes);
    EXPECT_EQ(sizes, (std::vector<uint64_t>{8, 32, 128, 512}));
}

TEST(jobs, steps_follow_one_another_and_are_repeated) {
    const sim::Setup setup = made(
        on_rails("job: {repeat: 2, steps: [{compute: 1ms, name: forward}, {all_gather: {bytes: "
                 "1MiB}}]}"));
    std::vector<std::string> names;
    for (const workload::Phase& phase : setup.program.phases) names.push_back(phase.name);
    EXPECT_EQ(names,
              (std::vector<std::string>{"forward", "all_gather", "forward #2", "all_gather #2"}));
    EXPECT_EQ(setup.program[0].duration.ps, 1'000'000'000);
    EXPECT_EQ(setup.program.jobs.size(), 1u);
}

TEST(jobs, several_run_at_once_on_channels_of_their_own) {
    const sim::Setup setup = made(on_rails(
        "all_reduce: {bytes: 1MiB}\n  - job: {ranks: [0-3], steps: [{broadcast: {bytes: 1KiB}}]}\n"
        "  - shift: {by: 1, bytes: 1KB}\n  - storage: {bytes: 1MiB}"));
    EXPECT_EQ(setup.program.jobs.size(), 3u);
    EXPECT_EQ(setup.flows.size(), 9u);
    uint32_t end[3] = {};
    for (const Task& task : setup.program.tasks()) {
        const uint32_t job = setup.program.phases[task.phase].job;
        const bool is_message = task.bytes != 0;
        EXPECT_TRUE(!is_message || job == 0 || task.channel >= end[job - 1]);
        end[job] = std::max<uint32_t>(end[job], task.channel + 1);
    }
    EXPECT_FALSE(setup.program.check(9));
}

TEST(jobs, storage_reads_from_hosts_without_a_gpu) {
    const sim::Setup setup = made(on_rails("storage: {bytes: 300KiB, initiators: [0, 5]}"));
    ASSERT_EQ(setup.program.size(), 2u * 3 * 3);  // a command, the data, a response
    EXPECT_EQ(setup.program.phases[0].collective, Collective::storage_read);
    for (const Task& task : setup.program.tasks()) EXPECT_TRUE(task.rank == 8 || task.peer == 8);
    const sim::Setup writes = made(
        on_rails("storage: {bytes: 300KiB, operation: write, targets: [s1r0], initiators: [0-3], "
                 "block: 64KiB, depth: 1}"));
    EXPECT_EQ(writes.program.phases[0].collective, Collective::storage_write);
    EXPECT_EQ(writes.program[0].peer, 4u);
}

TEST(jobs, what_is_wrong_with_a_collective_is_said) {
    EXPECT_EQ(said("all_reduce: {}"), "s.yaml:4: the size is missing; write bytes: 64MiB");
    EXPECT_EQ(said("all_reduce: {bytes: 0}"), "s.yaml:4: bytes: it is at least one byte");
    EXPECT_EQ(said("all_reduce: {bytes: 1, sizes: {from: 1, to: 2}}"),
              "s.yaml:4: bytes has no effect beside sizes; remove one");
    EXPECT_EQ(said("all_reduce: {sizes: {from: 1}}"),
              "s.yaml:4: sizes has an end missing; write {from: 8B, to: 1GiB, factor: 2}");
    EXPECT_EQ(said("all_reduce: {sizes: {from: 2, to: 1}}"),
              "s.yaml:4: sizes: from is larger than to");
    EXPECT_EQ(said("all_reduce: {sizes: {from: 1, to: 2, factor: 1}}"),
              "s.yaml:4: factor: '1' is no whole number from 2 to 1048576");
    EXPECT_EQ(said("all_reduce: {bytes: 1, algorithm: rign}"),
              "s.yaml:4: algorithm: 'rign' is unknown here; did you mean 'ring'?");
    EXPECT_EQ(said("all_reduce: {bytes: 1, algorithm: ring, between: tree}"),
              "s.yaml:4: between has no effect here; it goes with algorithm: two_level");
    EXPECT_EQ(said("all_gather: {bytes: 1, algorithm: ring, peers: 2}"),
              "s.yaml:4: peers has no effect here; it goes with algorithm: direct");
    EXPECT_EQ(said("all_reduce: {bytes: 1, algorithm: in_switch}"),
              "s.yaml:4: in_switch reduces inside one server; between servers write algorithm: "
              "two_level and in_switch: yes");
    EXPECT_EQ(said("all_reduce: {bytes: 1, ranks: [0-2], algorithm: in_switch}"),
              "s.yaml:4: in_switch needs all GPUs of each server; take more ranks, or write "
              "in_switch: no");
    EXPECT_EQ(said("all_reduce: {bytes: 1, algorithm: two_level, in_switch: yes}",
                   "{scale_up: ualink-200}"),
              "s.yaml:4: in_switch: the switches inside servers do not add up; take a scale_up "
              "with switch.reduction, such as nvlink4");
    EXPECT_EQ(said("all_reduce: {bytes: 1, algorithm: two_level, in_switch: yes}", "{}"),
              "s.yaml:4: in_switch needs a network inside servers; write gpus: {scale_up: ...}");
    EXPECT_EQ(said("all_reduce: {bytes: 1, ranks: [0-4], algorithm: two_level}"),
              "s.yaml:4: two_level needs the same GPUs of each server");
    EXPECT_EQ(said("all_reduce: {bytes: 1, ranks: [0-8]}"),
              "s.yaml:4: ranks: there is no GPU '8'; the 8 GPUs count from 0 to 7");
    EXPECT_EQ(said("all_reduce: {bytes: 1, ranks: [1, 0-2]}"),
              "s.yaml:4: ranks: GPU 1 is written twice");
    EXPECT_EQ(said("all_reduce: {bytes: 1, ranks: []}"), "s.yaml:4: ranks: name at least one GPU");
    EXPECT_EQ(said("broadcast: {bytes: 1, ranks: [0-3], root: 4}"),
              "s.yaml:4: root: GPU 4 is not one of the ranks");
    EXPECT_EQ(said("all_reduce: {bytes: 1, channels: 0}"),
              "s.yaml:4: channels: '0' is no whole number from 1 to 1024");
    EXPECT_EQ(said("all_reduce: {bytes: 1, pxn: yes}").substr(0, 43),
              "s.yaml:4: unknown key 'pxn' in all_reduce; ");
    EXPECT_EQ(said("{all_reduce: {bytes: 1}, operation: send}"),
              "s.yaml:4: operation has no effect beside all_reduce; it goes with flows");
    EXPECT_EQ(said("all_reduce: {bytes: 1GiB, chunk: 1B}"),
              "s.yaml:4: it takes more than 16000000 messages; take larger chunks, fewer GPUs, or "
              "an algorithm without sums in switches");
}

// Four servers with an adapter each, on two leaves.
std::string on_sharp(const std::string& entry, const std::string& fabric = "") {
    return "topology: leaf-spine:leaves=2,spines=2,hosts=2\nprofile: ib-ndr-sharp\n" + fabric +
           "work: [{" + entry + "}]\n";
}

TEST(jobs, that_add_up_between_servers_take_a_tree_for_few_bytes_and_one_for_many) {
    const sim::Setup few = made(on_sharp("all_reduce: {bytes: 3KiB, algorithm: in_network}"));
    ASSERT_EQ(few.trees.size(), 1u);
    EXPECT_FALSE(few.trees[0].tree.streams);
    EXPECT_EQ(few.trees[0].tree.links.size(), 2u);
    EXPECT_EQ(few.program.phases[0].algorithm, "in_network (latency tree)");
    for (const Task& task : few.program.tasks())
        if (task.kind == Task::Kind::sum_for_all) {
            EXPECT_EQ(task.bytes, 1u << 10);
        }
    const sim::Setup many = made(on_sharp("all_reduce: {bytes: 1MiB, algorithm: in_network}"));
    ASSERT_EQ(many.trees.size(), 1u);
    EXPECT_TRUE(many.trees[0].tree.streams);
    EXPECT_EQ(many.program.phases[0].algorithm, "in_network (streaming tree)");
}

TEST(jobs, that_find_no_tree_add_up_in_a_ring) {
    const sim::Setup setup =
        made(on_sharp("all_reduce: {bytes: 3KiB, algorithm: in_network}}, {all_reduce: {bytes: "
                      "3KiB, algorithm: in_network}",
                      "fabric: {switch: {reduction_trees: 1}}\n"));
    EXPECT_EQ(setup.trees.size(), 1u);
    ASSERT_EQ(setup.program.phases.size(), 2u);
    EXPECT_EQ(setup.program.phases[1].algorithm, "ring (no tree of switches is free)");
}

// A port carries one stream: there is a tree for the first channel and none for the second.
TEST(jobs, that_find_a_tree_for_some_of_their_channels_leave_it_to_others) {
    const sim::Setup setup =
        made(on_sharp("all_reduce: {bytes: 1MiB, algorithm: in_network, channels: 2}}, "
                      "{all_reduce: {bytes: 1MiB, algorithm: in_network, channels: 1}"));
    ASSERT_EQ(setup.program.phases.size(), 2u);
    EXPECT_EQ(setup.program.phases[0].algorithm, "ring (no tree of switches is free)");
    EXPECT_EQ(setup.program.phases[1].algorithm, "in_network (streaming tree)");
    ASSERT_EQ(setup.trees.size(), 1u);
    EXPECT_EQ(setup.trees[0].job, 1u);
}

TEST(jobs, that_add_up_between_servers_say_what_they_lack) {
    EXPECT_EQ(said("all_reduce: {bytes: 1, algorithm: two_level, between: in_network}"),
              "s.yaml:4: in_network: the switches between servers do not add up; take a profile "
              "with switch.reduction, such as ib-ndr-sharp");
    EXPECT_EQ(said("all_reduce: {bytes: 1, algorithm: in_network}"),
              "s.yaml:4: in_network takes one rank of each server; with several write algorithm: "
              "two_level and between: in_network");
    EXPECT_EQ(said("all_reduce: {bytes: 1, ranks: [0, 1], algorithm: in_network}"),
              "s.yaml:4: in_network adds up between servers, and there is only one");
}

TEST(jobs, of_many_messages_are_generated) {
    const sim::Setup setup =
        made(on_rails("job: {repeat: 3, steps: [{compute: 1us}, {all_to_all: {bytes: 64MiB, chunk: "
                      "128B}}]}"));
    EXPECT_EQ(setup.program.size(), 0u);
    ASSERT_EQ(setup.program.phases.size(), 6u);
    EXPECT_EQ(setup.program.phases[5].name, "all_to_all #3");
    ASSERT_EQ(setup.program.generated.size(), 6u);
    EXPECT_EQ(setup.program.generated[1].schedule, setup.program.generated[5].schedule);
    EXPECT_EQ(setup.program.generated[5].after, std::vector<uint32_t>{4});
    // Of 64 MiB each of 8 ranks keeps an eighth.
    const uint64_t messages = 8u * 7 * (8 << 20) / 128;
    EXPECT_EQ(setup.program.task_count(), 3 * (8 + 8 + messages));
    EXPECT_FALSE(setup.program.check(9));
    EXPECT_TRUE(setup.program.check(7));
}

TEST(jobs, what_is_wrong_with_a_job_or_with_storage_is_said) {
    EXPECT_EQ(said("job: {}"), "s.yaml:4: the steps are missing; write steps: [{compute: 1ms}]");
    EXPECT_EQ(said("job: {steps: []}"), "s.yaml:4: a job has at least one step");
    EXPECT_EQ(
        said("job: {steps: [{compute: 1ms, all_reduce: {bytes: 1}}]}"),
        "s.yaml:4: a step does one thing; write one of all_reduce, reduce_scatter, all_gather, "
        "all_to_all, broadcast, compute");
    EXPECT_EQ(said("job: {steps: [{name: nothing}]}").substr(0, 34),
              "s.yaml:4: a step does one thing; w");
    EXPECT_EQ(said("job: {steps: [{all_reduce: {bytes: 1, ranks: [0]}}]}"),
              "s.yaml:4: ranks belongs to the job, not to a step of it");
    EXPECT_EQ(said("job: {steps: [{compute: soon}]}").substr(0, 18), "s.yaml:4: compute:");
    EXPECT_EQ(said("job: {steps: [{storage: {bytes: 1}}]}").substr(0, 45),
              "s.yaml:4: unknown key 'storage' in a step; th");
    EXPECT_EQ(said("storage: {}"), "s.yaml:4: the size is missing; write bytes: 64MiB");
    EXPECT_EQ(said("storage: {bytes: 1, operation: send}"),
              "s.yaml:4: operation: 'send' is unknown here; write read or write");
    EXPECT_EQ(said("storage: {bytes: 1, targets: [s0r1]}"),
              "s.yaml:4: GPU 1 is an initiator and a target of storage");
    EXPECT_EQ(answer("topology: star:4\nwork: [{storage: {bytes: 1}}]"),
              "s.yaml:2: storage has no targets; write targets: [h7], or a topology with "
              "storage=1");
}

std::string experts_answer(const std::string& rest, const std::string& scale_up = "nvlink4") {
    return answer("topology: rail:servers=2,rails=4\ngpus: {scale_up: " + scale_up +
                  "}\nwork:\n  - experts: {" + rest + "}\n");
}

TEST(memory, is_refused_where_servers_have_none) {
    const auto says = [](const std::string& gpus, const std::string& work) {
        return answer("topology: rail:servers=2,rails=4\ngpus: {" + gpus +
                      "}\nwork:\n  - memory: {" + work + "}\n");
    };
    EXPECT_EQ(says("scale_up: nvlink4", "bytes: 1KiB"),
              "s.yaml:4: servers have no memory that GPUs share; write gpus: {memory: 2}");
    EXPECT_EQ(says("memory: 2", "bytes: 1KiB"),
              "s.yaml:2: memory: it is shared over the network inside servers; write scale_up: "
              "nvlink4");
    EXPECT_EQ(says("scale_up: nvlink4, memory: 1", ""),
              "s.yaml:4: the size is missing; write bytes: 1MiB");
    EXPECT_EQ(says("scale_up: nvlink4, memory: 1", "bytes: 1KiB, hardware: 1ns"),
              "s.yaml:4: hardware: it is at least 10ns");
}

TEST(experts, that_are_not_shared_out_evenly_are_refused) {
    EXPECT_EQ(experts_answer("experts: 12"),
              "s.yaml:4: 12 experts are not shared out evenly among 8 GPUs");
    EXPECT_EQ(experts_answer("mode: low_latency, chunk: 3"),
              "s.yaml:4: chunk has no effect here; it goes with mode: normal");
    EXPECT_EQ(experts_answer("", "none"),
              "s.yaml:4: tokens are handed on inside servers, which have no network; write gpus: "
              "{scale_up: nvlink4}, or mode: low_latency");
}

}  // namespace
}  // namespace tulle::scenario
