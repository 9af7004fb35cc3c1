#include "scenario/reference.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "scenario/control.h"
#include "scenario/fabric_overrides.h"
#include "scenario/faults.h"
#include "scenario/gpus.h"
#include "scenario/host_overrides.h"
#include "scenario/hpcc.h"
#include "scenario/memory.h"
#include "scenario/models.h"
#include "scenario/packet_rules.h"
#include "scenario/profile.h"
#include "scenario/scenario.h"
#include "scenario/serving.h"
#include "scenario/settings.h"
#include "scenario/tenants.h"
#include "scenario/training.h"
#include "scenario/work.h"
#include "topology/spec.h"

namespace tulle::scenario {
namespace {

std::string row(std::string_view name, std::string_view type, std::string_view meaning) {
    std::string safe;
    for (const char c : meaning) {
        if (c == '|') safe += '\\';
        safe += c;
    }
    return fmt::format("| `{}` | {} | {} |\n", name, type, safe);
}

std::string table(std::span<const KnownKey> keys) {
    std::string text = "| key | value | meaning |\n|---|---|---|\n";
    for (const KnownKey& key : keys) text += row(key.name, key.type, key.meaning);
    return text;
}

// The algorithms that react to notifications, by name.
std::string heeding_text() {
    std::string text;
    transport::for_each_algorithm([&](std::string_view name, auto algorithm, auto, auto) {
        if (!transport::heeds_notifications(algorithm)) return;
        text += fmt::format("{}`{}`", text.empty() ? "" : ", ", name);
    });
    return text;
}

std::string use_text(const Setting& setting) {
    switch (setting.use) {
        case Use::always: return "";
        case Use::pfc: return "with `flow_control: pfc`";
        case Use::static_threshold: return "with `pfc.threshold: static`";
        case Use::credits: return "with `flow_control: credits`";
        case Use::link_retry: return "with `link.bit_errors: retransmitted`";
        case Use::shared_buffer: return "without `flow_control: credits`";
        case Use::alpha: return "with a dynamic threshold";
        case Use::watchdog: return "with `pfc.watchdog`";
        case Use::reduction: return "with `switch.reduction: yes`";
        case Use::ets: return "with `arbitration: ets`";
        case Use::vl_tables: return "with `arbitration: vl_tables`";
        case Use::ecn: return "with `marking: ecn`";
        case Use::fecn: return "with `marking: fecn`";
        case Use::trimming: return "with `overflow: trim`";
        case Use::dscp: return "with `qos.trust: dscp`";
        case Use::flowlets: return "with `route.choice: flowlet` or `ugal`";
        case Use::ugal: return "with `route.choice: ugal`";
        case Use::loads: return "with `route.choice: adaptive`, `flowlet` or `ugal`";
        case Use::back_pressure: return "with `back_pressure.above`";
        case Use::algorithm:
            return fmt::format("with `algorithm: {}`", transport::name_of(setting.algorithm));
        case Use::notifications: return "with an algorithm that reacts to them: " + heeding_text();
        case Use::notification_packets: return "with `notifications.way: packet`";
        case Use::staging: return "with `staging.on: yes`";
        case Use::spread: return "without `delivery: ordered`";
        case Use::telemetry: return "with an algorithm that asks for it: `hpcc`, or a file";
    }
    return "";
}

std::string settings_table(std::string_view section) {
    std::string text = "| setting | value | used | meaning |\n|---|---|---|---|\n";
    for (const Setting& setting : all_settings())
        if (setting.path.starts_with(section))
            text += fmt::format("| `{}` | {} | {} | {} |\n", setting.path, setting.field.type,
                                use_text(setting), setting.meaning);
    return text;
}

std::string host_overrides_text() {
    return fmt::format(
        "\nHosts may differ from the others: `hosts.overrides` is a list of\n\n{}"
        "\nIf two entries match a host, the later one counts.\n",
        table(host_override_keys()));
}

std::string gpus_text() {
    return fmt::format("{}\nA map of `scale_up`:\n\n{}\nAn entry of `slow`:\n\n{}",
                       table(gpu_keys()), table(scale_up_keys()), table(slow_keys()));
}

constexpr std::string_view kTrainingNotes =
    R"(A model that does not fit into the memory of its GPUs is refused. The computing time of a
layer is its operations divided by the rate of the GPU at its efficiency. Each rank computes in the
order of its schedule. It gathers parameters (`zero` 1 to 3) one bucket of layers ahead, and sums
gradients bucket by bucket during the backward pass: in each micro-batch with `zero: 3`, otherwise
once in a step. What is simplified:

- With `layers: once` collectives of tp, cp and ep meet no other traffic. If groups stay inside a
  server, one of them is simulated; otherwise all of them at once. Ranks of a tensor still wait for
  each other, once for each micro-batch and chunk.
- Embedding, loss and the norm of gradients cause no communication. With `experts: all_to_all`
  tokens are spread evenly over the experts. With `deepep` a gate draws experts as for the work
  `experts`. At most 256 ranks and 1024 tokens of a group are simulated; for more tokens, times are
  extrapolated from 256 and 1024. All wait for the GPU whose experts have most tokens.
- `overlap: [experts]` hides dispatch and combine behind the computing of their layer, as two
  micro-batches that take turns do.
- A ring of cp begins with the attention of its layer. The layer goes on when both have ended.
- With `overlap: [tensor]` a gather and its product together take as long as the longer of the two,
  and the gather takes at least one part in tp of its time.
- Replicas share a checkpoint evenly. `blocking` writes it from the memory of the GPUs when their
  step has ended. `asynchronous` blocks only for the copy to the host, in closed form at 55 GB/s;
  what the previous step left is written during this one.
- `failures` is a closed form (arXiv 2410.21680). The share (1 - N r (u + i/2)) / (1 + w/i) of the
  time is training, with N servers, r failures of each in a day, u `restart`, i `interval` and w the
  simulated time that a checkpoint blocks. The best interval is the root of 2 w / (N r).
- DualPipe runs a forward and a backward pass one after the other, and does not sum the two copies
  of its parameters.
)";

constexpr std::string_view kMemoryNotes =
    R"(Devices are `gpus: {memory: 2}` of each server, behind ports of their own on the scale_up
network: NVLink, UALink, or PCI Express with latencies of CXL. The lines of a GPU go to the devices
of its server in turn. A load is a request of 16 bytes and a line back; a store is a line and an
acknowledgement of 16 bytes. The rate of a GPU is therefore at most outstanding x line / round trip.
Sources for these latencies are weak, so all of them are settings. `optimizer_memory` of training
loads and stores 12 bytes for each parameter when the step has ended. `kv_memory` of serving is
simulated once, with all GPUs fetching at the same time; steps then read keys and values at that
rate, at the same time as their weights.
)";

constexpr std::string_view kExpertNotes =
    R"(A gate draws the experts of each token. It ranks servers by their best expert for the token,
and keeps `servers_of_token` of them. Normal mode sends a token once to each server, to the GPU in
the same place as the sender, in chunks, with 12 channels of 128 tokens in flight. That GPU forwards
it inside the server. Combine takes the same way back, and values are summed on the way. Low-latency
mode sends a message for each token and expert, and after those of each expert a flag of 8 bytes. A
token takes `hidden` bytes and 4 more for each 128 of them on its way out (16 more in low-latency
mode), and twice `hidden` on its way back. The size of a phase counts a token once for each of its
servers, including its own, as DeepEP's figures do. Micro-batches take turns at a GPU. What is
simplified: a chunk is acknowledged when it has arrived, not when it was forwarded, and there is no
exchange of token counts before a dispatch.
)";

constexpr std::string_view kServingNotes =
    R"(An instance is a copy of the model on tp GPUs, or on ep if that is more. Its first GPU is its
scheduler. At the end of each step the scheduler decides what the next step computes: one token of
each answer in progress, and with `together` also prompts, up to `step_tokens`; a prompt that does
not fit is divided. `prefill` takes whole prompts. A request first goes to the scheduler of
`decode`. When there is room for its KV cache, that scheduler asks `prefill`, whose GPUs write the
cache into the memory of `decode`. The last step of a prompt produces the first token. The time of a
step is the longer of its computing and its reading from memory (weights, KV cache), plus the
communication of its layers. The report has a column for an infinitely fast network, on which
messages and collectives take no time. What is simplified:

- Requests go to instances in turn. Memory for a whole request is reserved before its prompt is
  computed, so no request is evicted. Prefill has unlimited memory for KV caches.
- Collectives of tp, and those of ep as in DeepEP's low-latency mode (each token to each of its
  experts, FP8 out and BF16 back), are simulated alone for some numbers of tokens; for other numbers
  times are interpolated. They meet no other traffic. Tokens are spread evenly over the experts.
- The efficiency of products is that of training; that of memory is chosen. Neither is fitted to
  published figures of serving.
- The report does not follow the time of a run that serves message by message.
)";

constexpr std::string_view kTraceNotes =
    R"(Computing takes the time in the file; communication takes the time of the fabric. The report
says in which units times and sizes were read. What is simplified:

- A rank computes one thing after another, in the order in which each could begin on an infinitely
  fast network. Its processor and its GPU compute independently.
- Collectives of one process group run one after another; those of different groups may overlap.
- A message is one message, and costs one launch and one step of the library.
- A trace is a stored program: at most 16 million messages and stretches of computing.
)";

constexpr std::string_view kChakraNotes =
    R"(Files have the format of et_def.proto, not compressed. Both kinds of dependencies count. The
`comm_size` of an all-gather is what one rank contributes. A node computes for `duration_micros`;
with `system` and `roofline-enabled` for the longer of `num_ops` at `peak-perf` and `tensor_size` at
`local-mem-bw`. A barrier is simulated as an all-reduce of 8 bytes, and a reduce as a broadcast.
Memory nodes take no time. Gather and scatter are refused.

)";

constexpr std::string_view kSimaiNotes =
    R"(Ranks count tensors first (`model_parallel_NPU_group`), then replicas, of which `ep`
neighbours share the experts, then stages (`pp`). All forward passes come first. Then, from the last
layer on, come the gradients of inputs, each of which is waited for, and of weights, which are
waited for at the end. The size of an all-gather is that of the result; with `astra` it is what one
rank contributes. All stages of a pipeline run their rows at the same time; `pp_comm` is left out.
Chakra's converter reads the same times as microseconds, as `unit: us` does.
)";

constexpr std::string_view kKinetoNotes =
    R"(Kernels other than NCCL's count as computing, and so does time in which nothing ran.
Computing that began after a collective ended waits for it; computing that overlapped it does not.
The durations of NCCL's kernels are not used, because they include waiting for other ranks. A group
of more than 30 ranks is read from `Global rank start` and `Global rank stride`. `Src Rank` and `Dst
Rank` are taken as ranks of the whole job.
)";

constexpr std::string_view kControlNotes =
    R"(The fabric comes up before the run begins: time 0 is when every table serves every pair. Then
each switch writes its own table when its own agent or speaker has learned something. What is
simplified:

- Control messages take the delay of cables and time of processors, and never wait for data. What
  happens to tables does not depend on traffic. During the run they take their bytes from each line
  before any data: packets of a subnet manager 290, as lane 15 does; messages of BGP, BFD and RSTP
  and frames of LLDP with DCBX theirs, as a queue of their own does that goes first. UPDATEs that
  leave together take the line together, in segments of TCP with an MTU of 9100, and TCP's
  acknowledgements count. The hellos that switches send after the last repair are left out.
- A subnet manager sends directed SMPs, 64 at a time. Switches take 5 us to pass one on and 20 us to
  answer it. After a trap it looks at the whole fabric and writes only the blocks of tables that
  changed. A cable that came back carries data once its ports are active. Lanes that a routing
  engine asks for are those of the packets. With `fabric.route.choice: adaptive` (or flowlet, spray)
  switches also get the group of all ports that lead somewhere in as few hops, and leave out those
  without light by themselves; SMPs that carry groups are not counted.
- BGP is that of RFC 7938: external sessions over every cable between switches, a prefix for the
  hosts of each leaf, all equally short paths in one set. Timers are those of SONiC and FRR; of
  TCP there is the retransmission of what an outage lost, and no more. A switch that lost light
  takes the port out of its sets at once; others hear of it by withdrawals.
- RSTP is that of IEEE 802.1D-2004: the switch that is described first is the root, costs follow
  from rates, ports propose and agree, and a topology change makes switches forget what they have
  learned. Where a host is, the tree says; copies that flooding makes are left out.
- Times of processors are chosen: nobody publishes them for switches. They scale the time of a
  repair, and do not change the number of messages.
)";

std::string work_text() {
    std::string text = table(work_keys());
    for (const WorkKind& kind : work_kinds()) {
        text +=
            fmt::format("\n### {}\n\nA {}: {}.\n", kind.key.name, kind.key.type, kind.key.meaning);
        if (!kind.keys.empty()) text += fmt::format("\n{}", table(kind.keys));
        if (kind.key.name == "training")
            text += fmt::format(
                "\nThe shape of a model:\n\n{}\nOf `checkpoint` and `data`:\n\n{}\nOf "
                "`failures`:\n\n{}\n{}",
                table(model_keys()), table(training_store_keys()), table(failure_keys()),
                kTrainingNotes);
        if (kind.key.name == "training" || kind.key.name == "serving")
            text += fmt::format("\nOf `{}`:\n\n{}",
                                kind.key.name == "training" ? "optimizer_memory" : "kv_memory",
                                table(memory_state_keys()));
        if (kind.key.name == "memory") text += fmt::format("\n{}", kMemoryNotes);
        if (kind.key.name == "experts") text += fmt::format("\n{}", kExpertNotes);
        if (kind.key.name == "serving")
            text += fmt::format(
                "\nOf `together`, `prefill` and `decode`:\n\n{}\nOf `limits`:\n\n{}"
                "\n{}",
                table(serving_group_keys()), table(serving_limit_keys()), kServingNotes);
        if (kind.key.name == "chakra") text += fmt::format("\n{}{}", kChakraNotes, kTraceNotes);
        if (kind.key.name == "kineto") text += fmt::format("\n{}", kKinetoNotes);
        if (kind.key.name == "simai") text += fmt::format("\n{}", kSimaiNotes);
        if (kind.key.name == "storage")
            text += fmt::format("\nOf `drives`:\n\n{}", table(drive_keys()));
        if (kind.key.name == "job") text += fmt::format("\nA step:\n\n{}", table(step_keys()));
    }
    return text;
}

constexpr std::string_view kQosNotes =
    R"(The ends of a cable compare their settings by DCBX when it comes up. A willing end adopts the
lossless priorities of an end that is not willing. If both are willing, the node that is described
first decides. A willing switch also adopts the weights that its neighbour recommends. Two ends that
are not willing keep their own priorities: one sends pauses that the other ignores, and packets that
should be lossless are lost. The report names the cable, and what it cost.
)";

constexpr std::string_view kTenantNotes =
    R"(Hosts of one tenant may talk to each other; a host may belong to several tenants. Hosts
without a tenant may talk among themselves. Work that crosses tenants is not refused when the
scenario is read. The fabric drops its packets during the run, as hardware does:

- On InfiniBand a tenant is a partition. A queue pair sends with the P_Key of a partition that both
  ends belong to, or with the first P_Key of its own host. The switch at the receiver drops packets
  whose P_Key does not match (`fabric.switch.partition_enforcement`, counted as
  PortXmitConstraintErrors); without it the receiving adapter does (P_KeyViolations).
- On Ethernet a tenant is a VLAN, or with IP a VRF. The first switch drops packets to a host that
  has no VLAN or VRF in common with the sender.

Nobody answers dropped packets, so the sender retries and gives up: retry_exceeded. Tenants do not
change lanes; give their work a `level` for that. Tenants that share no port do not change each
other's times. To compare two runs, list the work that both have first: with ECMP the number of a
flow decides its UDP port, and so its path.
)";

constexpr std::string_view kRulesHead = R"(
## Fault rules of `tulle run`

`tulle run --faults FILE` applies fault rules to the packets of real programs. The file has one key,
`faults`, a list of rules. Each rule has one of the kinds below, and conditions on packets:

```yaml
faults:
  - drop: {opcode: data, nth: 5}                  # the fifth packet with data
  - delay: {from: 1, share: 10%, by: 50us}
  - nak: {opcode: write, nth: 3, code: remote_access}
  - link_down: {program: client, after: 2s, nth: 1, for: 500ms}
```

Rules are tried in order. The first rule that acts on a packet ends the search, and later rules do
not count that packet. The options of the command line (`--loss` and others) come last.

)";

std::string rules_text() {
    std::string text(kRulesHead);
    text += "| kind | what happens | besides conditions |\n|---|---|---|\n";
    for (const WorkKind& kind : packet_rule_kinds()) {
        std::string own;
        for (const KnownKey& key : kind.keys)
            own += fmt::format("`{}`: {}, {}", key.name, key.type, key.meaning);
        text += fmt::format("| `{}` | {} | {} |\n", kind.key.name, kind.key.meaning, own);
    }
    return text + "\nConditions; a rule without any matches all packets:\n\n" +
           table(packet_match_keys());
}

std::string hpcc_text() {
    std::string text = "| key | |\n|---|---|\n";
    for (const HpccKey& key : hpcc_keys())
        text += fmt::format("| `{}` | {}{} |\n", key.name,
                            key.is_of_hpcc ? "used with `CC_MODE 3`; otherwise no effect: "
                            : key.why_ignored.empty() ? "used"
                                                      : "no effect: ",
                            key.why_ignored);
    return text;
}

std::string profiles_text() {
    std::string text = "| profile | |\n|---|---|\n";
    const FileReader no_files = [](const std::string& path) {
        return base::Result<std::string>(base::Error{path});
    };
    for (const BuiltInProfile& built_in : built_in_profiles()) {
        const auto profile = read_profile(built_in.name, no_files);
        text += fmt::format("| [`{0}`](../profiles/{0}.yaml) | {1} |\n", built_in.name,
                            profile ? profile->description : profile.error().message);
    }
    return text;
}

constexpr std::string_view kHead = R"(# The language of scenarios

A scenario is a YAML file: a topology, a profile, changes to the profile, work and faults. This page
is generated from the tables of the reader (`src/scenario/reference.cc`); a test compares the two.

```yaml
name: an incast
topology: leaf-spine:leaves=2,spines=2,hosts=8
profile: roce-v2-400g
fabric:
  ecn: {kmin: 200KB, kmax: 800KB}
work:
  - incast: {to: 0, senders: 8, bytes: 1MB}
```

Durations (`1.5us`), sizes (`64KiB`, `2MB`, `4096`) and rates (`400Gbps`, `12.5GB/s`) have units.
A host is a number from 0, or a name; a cable is named by its ends, as in `leaf0-spine1`. Paths of
files are relative to the folder of the file that names them. These are errors, reported with file
and line: an unknown key, a setting without effect, and settings that do not work together.

A scenario that is `like` another one is that scenario with changes: settings of `fabric` and
`hosts` are added to those of the other, and every other key replaces the one of that name.

The option `--set KEY=VALUE` changes a scenario for one run: a setting (`fabric.ecn.kmin=200KB`), a
value of one entry of work (`work.0.incast.bytes=1MB`, counted from 0), the size of all work
(`bytes=1MB`), a parameter of a topology by name (`topology.spines=4`), or the number of hosts
(`hosts=32`). `tulle compare --sweep KEY=A,B,C` takes several values of such a key; two of these
options make a grid. `--seed N` replaces the seed, and `--seeds N` repeats all runs with N seeds.

)";

}  // namespace

std::string reference() {
    return fmt::format(
        "{}## A scenario\n\n{}"
        "\n## topology\n\nOne word that names a builder:\n\n```\n{}```\n\nOr a map:\n\n{}"
        "\n## profile\n\nA built-in one, or a file with these keys:\n\n{}\n{}"
        "\n## fabrics\n\nA list of names of profiles, or of maps:\n\n{}"
        "\n## fabric\n\n{}"
        "\n### Switches and cables that differ\n\n`fabric` of a scenario may also have "
        "two lists. `switches`:\n\n{}\n`cables`:\n\n{}"
        "\n## hosts\n\n{}"
        "\n## gpus\n\nRanks of collectives, jobs and storage are GPUs, counted in the order of the "
        "hosts that have one.\n\n{}"
        "\n## work\n\nA list; each entry has one of the kinds below, and may have:\n\n{}"
        "\n## control\n\nOne word, as `kind` below, or a map:\n\n{}\n{}"
        "\n## faults\n\nA list; each entry has one of cable, switch, host and manager.\n\n{}"
        "\n## qos\n\nA list of nodes whose settings differ from `fabric`.\n\n{}\n{}"
        "\n## tenants\n\nA list:\n\n{}\n{}"
        "\n## Configurations of the HPCC simulator\n\nThey run as they are, on the profile "
        "`peer-ns3-hpcc`. An unknown key is an error.\n\n{}{}",
        kHead, table(scenario_keys()), topology::spec_help(), table(topology_keys()),
        table(profile_keys()), profiles_text(), table(fabric_choice_keys()),
        settings_table("fabric."), table(switch_override_keys()), table(cable_override_keys()),
        settings_table("hosts.") + host_overrides_text(), gpus_text(), work_text(),
        table(control_keys()), kControlNotes, table(fault_keys()), table(qos_keys()), kQosNotes,
        table(tenant_keys()), kTenantNotes, hpcc_text(), rules_text());
}

}  // namespace tulle::scenario
