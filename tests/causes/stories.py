#!/usr/bin/env python3
"""stories.py TULLE: small clusters with a cause that is known beforehand, told as scenarios.

Each story has a name, the kind and (a part of) the place of its cause, and what `tulle why` has to
find when it takes that cause away: "cause" if it can, "untried" if it cannot be taken away alone.
The verdict has to name the cause first. Most of these were told wrongly once; unlike those of
causes_test they go through the language of scenarios, profiles and the program.
"""

import json
import subprocess
import sys

STORIES = [
    ("slow_pcie_recv", "host_bus", "h3", "cause", """
topology: star:8
profile: ib-ndr
hosts: {overrides: [{match: h3, receive_toll: {rate: 100Gbps}}]}
work: [{all_reduce: {bytes: 16MiB, algorithm: ring}}]
"""),
    ("slow_pcie_send", "host_bus", "h2", "cause", """
topology: star:8
profile: roce-v2-400g
hosts: {overrides: [{match: h2, send_toll: {rate: 80Gbps}}]}
work: [{shift: {by: 4, bytes: 4MB}}]
"""),
    ("pfc_threshold_one_switch", "small_buffer", "leaf1", "cause", """
topology: leaf-spine:leaves=2,spines=2,hosts=8
profile: roce-v2-400g-pfc-only
fabric:
  link: {delay: 1us}
  switches: [{match: leaf1, pfc: {threshold: static, xoff: 3KB, xon_offset: 3KB, reserve: 0}}]
work: [{flows: [{from: 0, to: 9, bytes: 8MB},{from: 10, to: 9, bytes: 8MB}]}]
"""),
    ("ecmp_collision_collectives", "uneven_paths", "leaf0", "cause", """
topology: leaf-spine:leaves=2,spines=4,hosts=4
profile: roce-v2-400g-pfc-only
seed: 2
work:
  - {name: A, all_reduce: {bytes: 32MiB, algorithm: ring, ranks: [0,4,1,5]}}
  - {name: B, all_reduce: {bytes: 32MiB, algorithm: ring, ranks: [2,6,3,7]}}
"""),
    ("bad_nvlink_cable", "slow_cable", "g1", "cause", """
topology: rail:servers=2,rails=4,group=2,spines=2
profile: ib-ndr
gpus: {scale_up: {profile: nvlink4, fabric: {cables: [{match: "g1-*", rate: 200Gbps}]}}}
work: [{all_reduce: {bytes: 64MiB, ranks: [0-3], algorithm: ring}}]
"""),
    ("dcbx_elsewhere", "buffer_overflow", "leaf0", "cause", """
topology: leaf-spine:leaves=2,spines=1,hosts=6
profile: roce-v2-400g-no-pfc
fabric: {switch: {buffer: 200KB}}
work: [{incast: {to: 0, from: [1,2,3,4], bytes: 2MB}}]
"""),
    ("dcbx_on_uplink", "settings_disagree", "spine0", "cause", """
topology: leaf-spine:leaves=2,spines=1,hosts=6
profile: roce-v2-400g-pfc-only
qos: [{node: spine0, pfc_priorities: [5], willing: no}]
fabric: {pfc: {threshold: static, xoff: 60KB}, switch: {buffer: 1MB}}
work: [{incast: {to: 0, from: [6,7,1,2], bytes: 4MB}}]
"""),
    ("tenant_astray", "no_route", "", "untried", """
topology: star:8
profile: ib-ndr
tenants: [{name: red, hosts: [0-3]},{name: blue, hosts: [4-7]}]
work: [{flows: [{from: 0, to: 5, bytes: 1MB},{from: 1, to: 2, bytes: 1MB}]}]
"""),
    ("straggler_react", "slow_rank", "rank 5", "part", """
topology: star:8
profile: ib-ndr
gpus: {slow: [{gpus: [5], reaction: 20}]}
work: [{all_reduce: {bytes: 8MiB, algorithm: ring, protocol: none}}]
"""),
    ("window", "window", "", "cause", """
topology: star:8
profile: ib-ndr
hosts: {window: 4}
work: [{all_reduce: {bytes: 16MiB, algorithm: ring}}]
"""),
    ("oversubscribed", "oversubscribed", "leaf", "cause", """
topology: leaf-spine:leaves=2,spines=1,hosts=8
profile: ib-ndr
work: [{all_to_all: {bytes: 16MiB}}]
"""),
    ("ack_timeout_ib", "early_timeout", "", "cause", """
topology: leaf-spine:leaves=2,spines=2,hosts=4
profile: ib-ndr
hosts: {ack_timeout: 1, window: 400}
fabric: {link: {delay: 4us}}
work: [{shift: {by: 4, bytes: 8MB}}]
"""),
    ("ack_timeout_uec", "early_timeout", "", "cause", """
topology: leaf-spine:leaves=2,spines=2,hosts=4
profile: uec-400g
hosts: {timeout: {high: 6us}}
fabric: {link: {delay: 4us}}
work: [{shift: {by: 4, bytes: 8MB}}]
"""),
    ("bgp_late", "link_down", "spine0", "cause", """
topology: leaf-spine:leaves=2,spines=2,hosts=4
profile: roce-v2-400g-pfc-only
control: {kind: distributed, light: off, bfd: 2ms}
hosts: {ack_timeout: 8}
faults: [{at: 50us, cable: leaf0-spine0, state: down}]
work: [{shift: {by: 4, bytes: 8MB}}]
"""),
    ("lossy_one_way", "lossy_cable", "spine0", "cause", """
topology: leaf-spine:leaves=2,spines=1,hosts=4
profile: roce-v2-400g-pfc-only
fabric: {cables: [{match: leaf1-spine0, loss: 5e-3, from: spine0}]}
hosts: {ack_timeout: 8}
work: [{shift: {by: 4, bytes: 8MB}}]
"""),
    ("lossy_uplink_beside_cuts", "lossy_cable", "leaf0", "cause", """
topology: leaf-spine:leaves=2,spines=2,hosts=4
profile: uec-400g
fabric: {cables: [{match: leaf0-spine1, loss: 1e-2}]}
work: [{shift: {by: 4, bytes: 4MB}}]
"""),
    ("cable_error_rate_llr", "link_retries", "spine0", "cause", """
topology: leaf-spine:leaves=2,spines=1,hosts=4
profile: ib-ndr
fabric: {link: {bit_errors: retransmitted}, cables: [{match: leaf0-spine0, error_rate: 3e-6}]}
work: [{flows: [{from: 0, to: 4, bytes: 8MB}]}]
"""),
    ("almost_slow_cable_incast", "incast", "h0", "cause", """
topology: star:9
profile: roce-v2-400g-pfc-only
hosts: {overrides: [{match: h0, rate: 390Gbps}]}
work: [{incast: {to: 0, bytes: 2MB}}]
"""),
    ("slow_nic", "slow_cable", "h3", "cause", """
topology: star:8
profile: roce-v2-400g
hosts: {overrides: [{match: h3, rate: 100Gbps}]}
work: [{all_reduce: {bytes: 32MiB, algorithm: ring}}]
"""),
    ("long_cable_ib", "long_cable", "spine0", "cause", """
topology: leaf-spine:leaves=2,spines=1,hosts=4
profile: ib-ndr
fabric: {cables: [{match: leaf0-spine0, delay: 15us}]}
work: [{shift: {by: 4, bytes: 4MB}}]
"""),
    ("small_msgs", "software", "", "cause", """
topology: star:8
profile: roce-v2-400g
work: [{all_reduce: {bytes: 64, repeat: 4}}]
"""),
    ("two_jobs_same_hosts", "other_work", "", "cause", """
topology: star:8
profile: ib-ndr
work:
  - {name: A, all_reduce: {bytes: 64MiB, algorithm: ring, ranks: [0-7]}}
  - {name: B, all_to_all: {bytes: 64MiB, repeat: 2}}
"""),
    ("slow_drives", "compute", "storage0", "untried", """
topology: rail:servers=2,rails=2,group=2,spines=1,storage=1
profile: ib-ndr
work: [{storage: {operation: read, bytes: 8MiB, drives: {count: 1, rate: 20Gbps}}}]
"""),
    ("dead_rail", "link_down", "", "cause", """
topology: leaf-spine:leaves=2,spines=4,hosts=4
profile: roce-v2-400g-pfc-only
faults: [{at: 0us, cable: leaf0-spine1, state: down},
         {at: 0us, cable: leaf0-spine2, state: down},
         {at: 0us, cable: leaf0-spine3, state: down}]
work: [{shift: {by: 4, bytes: 8MB}}]
"""),
    ("flapping", "link_down", "spine0", "cause", """
topology: leaf-spine:leaves=2,spines=1,hosts=2
profile: roce-v2-400g-pfc-only
hosts: {ack_timeout: 6}
faults: [{at: 20us, cable: leaf0-spine0, state: flapping, every: 200us, times: 3}]
work: [{flows: [{from: 0, to: 2, bytes: 8MB}]}]
"""),
    ("slow_spine_pipeline", "latency", "spine0", "cause", """
topology: leaf-spine:leaves=2,spines=1,hosts=4
profile: ib-ndr
fabric: {switches: [{match: spine0, switch: {latency: 30us}}]}
work: [{all_reduce: {bytes: 8KiB, algorithm: ring, protocol: none}}]
"""),
    ("small_buffer_one_switch", "buffer_overflow", "leaf1", "cause", """
topology: leaf-spine:leaves=2,spines=4,hosts=8
profile: roce-v2-lossy
fabric: {switches: [{match: leaf1, switch: {buffer: 100KB}}]}
work: [{incast: {to: 8, from: [0,1,2,3], bytes: 2MB}},
       {name: b, incast: {to: 1, from: [9,10,11,12], bytes: 1MB}}]
"""),
    ("ecn_one_switch", "congestion_control", "leaf1", "cause", """
topology: leaf-spine:leaves=2,spines=2,hosts=8
profile: roce-v2-400g
fabric: {switches: [{match: leaf1, ecn: {kmin: 1KB, kmax: 2KB, pmax: 1}}]}
work: [{flows: [{from: 0, to: 8, bytes: 8MB},{from: 9, to: 8, bytes: 8MB}]}]
"""),
    ("headroom_one_switch", "headroom_overflow", "switch0", "cause", """
topology: star:6
profile: roce-v2-400g-pfc-only
fabric:
  link: {delay: 2us}
  switches: [{match: "*", pfc: {headroom: 2KB, threshold: static, xoff: 60KB}}]
work: [{incast: {to: 0, bytes: 2MB}}]
"""),
    ("noisy_strict", "other_work", "", "cause", """
topology: star:4
profile: roce-v2-400g-pfc-only
fabric: {pfc: {priorities: [3,4]}, ets: {strict: [4], weights: {3: 1, 4: 1}}}
work:
  - {name: model, level: 3, flows: [{from: 0, to: 2, bytes: 4MB}]}
  - {name: logs, level: 4, flows: [{from: 1, to: 2, bytes: 4MB}]}
"""),
    ("slow_receiver", "slow_receiver", "h5", "cause", """
topology: leaf-spine:leaves=2,spines=2,hosts=4
profile: ib-ndr
faults: [{at: 0us, host: 5, slow_receiver: 40Gbps}]
work: [{all_reduce: {bytes: 8MiB, algorithm: ring}}]
"""),
    ("pause_storm_in_fattree", "pause_storm", "h12", "cause", """
topology: fat-tree:k=4
profile: roce-v2-400g-pfc-only
faults: [{at: 50us, host: 12, pause_storm: on},{at: 800us, host: 12, pause_storm: off}]
work: [{shift: {by: 4, bytes: 8MB}}]
"""),
    ("staging", "software", "", "cause", """
topology: star:4
profile: ib-ndr
hosts: {staging: {on: yes, rate: 60Gbps, latency: 8us}}
work: [{all_reduce: {bytes: 8MiB, algorithm: ring}}]
"""),
    ("slow_nic_firmware", "software", "h2", "cause", """
topology: star:8
profile: ib-ndr
hosts: {overrides: [{match: h2, send_latency: 60us}]}
work: [{all_reduce: {bytes: 1MiB, algorithm: ring, protocol: none}}]
"""),
    ("unrelated_fault", "lossy_cable", "h1", "cause", """
topology: star:6
profile: roce-v2-400g-pfc-only
hosts: {ack_timeout: 8}
fabric: {cables: [{match: h1-switch0, loss: 1e-2}]}
faults: [{at: 1us, cable: h5-switch0, state: down}]
work: [{flows: [{from: 0, to: 1, bytes: 4MB}]}]
"""),
    ("fixed_rate", "rate_limit", "", "cause", """
topology: star:4
profile: roce-v2-400g
hosts: {congestion: {algorithm: fixed_rate, fixed_rate: {rate: 50Gbps}}}
work: [{all_reduce: {bytes: 8MiB, algorithm: ring}}]
"""),
    ("spanning_tree", "uneven_paths", "", "cause", """
topology: leaf-spine:leaves=2,spines=4,hosts=4
profile: roce-v1
work: [{shift: {by: 4, bytes: 4MB}}]
"""),
    ("retransmit_uec_incast", "incast", "h0", "cause", """
topology: leaf-spine:leaves=2,spines=4,hosts=8
profile: uec-400g
work: [{incast: {to: 0, from: [8,9,10,11,12,13], bytes: 2MB}}]
"""),
    ("torus", "deadlock", "", "cause", """
topology: torus:4x4,hosts=1
profile: ib-ndr
work: [{shift: {by: 8, bytes: 4MB}}]
"""),
    ("late_start", "late_start", "", "untried", """
topology: star:4
profile: ib-ndr
work: [{flows: [{from: 0, to: 1, bytes: 1MB},{from: 2, to: 3, bytes: 1MB, start: 500us}]}]
"""),
    ("srd_lossy", "lossy_cable", "spine1", "cause", """
topology: leaf-spine:leaves=2,spines=4,hosts=4
profile: efa-srd-200g
fabric: {cables: [{match: leaf0-spine1, loss: 5e-2}]}
work: [{shift: {by: 4, bytes: 4MB}}]
"""),
    ("adaptive_slow_spine", "slow_cable", "spine2", "cause", """
topology: leaf-spine:leaves=2,spines=4,hosts=4
profile: ib-ndr-adaptive
fabric: {cables: [{match: leaf1-spine2, rate: 25Gbps}]}
work: [{shift: {by: 4, bytes: 4MB}}]
"""),
    ("oversub_all_reduce_jobs", "congestion_control", "", "cause", """
topology: leaf-spine:leaves=4,spines=1,hosts=4
profile: roce-v2-400g
work: [{all_reduce: {bytes: 32MiB, algorithm: halving_doubling}}]
"""),
    ("memory_latency_one_host", "software", "h2", "cause", """
topology: star:8
profile: ib-ndr
hosts: {overrides: [{match: h2, memory: {latency: 40us}}]}
work: [{flows: [{from: 2, to: 1, bytes: 64KB}]}]
"""),
    ("reads_shared", "incast", "", "cause", """
topology: star:8
profile: ib-ndr
work: [{operation: read, flows: [{from: 0, to: 1, bytes: 2MB},
       {from: 0, to: 2, bytes: 2MB},
       {from: 0, to: 3, bytes: 2MB}]}]
"""),
    ("storage_incast", "incast", "storage0", "untried", """
topology: rail:servers=4,rails=2,group=4,spines=2,storage=1
profile: roce-v2-400g-pfc-only
work: [{name: checkpoint, storage: {operation: write, bytes: 4MiB}}]
"""),
    ("head_of_queue", "head_of_queue", "", "cause", """
topology: leaf-spine:leaves=2,spines=1,hosts=4
profile: ib-ndr
fabric: {credits: {head_of_queue_lifetime: 150ns}}
hosts: {ack_timeout: 6}
work: [{incast: {to: 0, from: [4,5,6,1,2], bytes: 1MB}}]
"""),
    ("low_min_rate_dcqcn", "congestion_control", "", "cause", """
topology: star:4
profile: roce-v2-400g
fabric: {ecn: {kmin: 5KB, kmax: 20KB, pmax: 1}}
hosts: {congestion: {dcqcn: {additive: 10Mbps, increase_interval: 2ms, increase_bytes: 0}}}
work: [{incast: {to: 0, from: [1,2], bytes: 4MB}}]
"""),
    ("job_straggler", "slow_rank", "rank 5", "cause", """
topology: star:8
profile: ib-ndr
gpus: {slow: [{gpus: [5], compute: 2}]}
work: [{job: {steps: [{compute: 200us}, {all_reduce: {bytes: 4MiB}}]}}]
"""),
    ("step_of_equal_ranks", "software", "", "cause", """
topology: star:8
profile: ib-ndr
work: [{training: {model: llama3-8b, gpus: 8, tp: 2, pp: 2, micro_batches: 4}}]
"""),
    ("two_lossy_cables", "lossy_cable", "h1", "cause", """
topology: star:4
profile: roce-v2-400g-pfc-only
hosts: {ack_timeout: 6}
fabric: {cables: [{match: h1-switch0, loss: 1e-2},{match: h2-switch0, loss: 1e-3}]}
work: [{flows: [{from: 2, to: 1, bytes: 4MB}]}]
"""),
    ("two_faults", "link_down", "spine0", "cause", """
topology: leaf-spine:leaves=2,spines=2,hosts=4
profile: roce-v2-400g-pfc-only
hosts: {ack_timeout: 8}
fabric: {route: {reroute_delay: 2ms}}
faults: [{at: 1us, cable: h7-leaf1, state: down},{at: 30us, switch: spine0, state: down}]
work: [{flows: [{from: 0, to: 4, bytes: 8MB},
       {from: 1, to: 5, bytes: 8MB},
       {from: 2, to: 6, bytes: 8MB}]}]
"""),
    ("incast_many", "incast", "h0", "cause", """
topology: fat-tree:k=4
profile: ib-ndr
work: [{incast: {to: 0, bytes: 1MB}}]
"""),
    ("victim_ib", "victim", "h0", "cause", """
topology: leaf-spine:leaves=2,spines=1,hosts=8
profile: ib-ndr
work:
 - {flows: [{from: 8, to: 0, bytes: 4MB},
            {from: 1, to: 0, bytes: 1MB},
            {from: 2, to: 0, bytes: 1MB},
            {from: 3, to: 0, bytes: 1MB},
            {from: 9, to: 4, bytes: 4200KB}]}
"""),
    ("uec_llr_cable", "link_retries", "spine0", "cause", """
topology: leaf-spine:leaves=2,spines=1,hosts=4
profile: uec-400g-lossless
fabric: {cables: [{match: leaf0-spine0, error_rate: 4e-6}]}
work: [{flows: [{from: 0, to: 4, bytes: 16MB}]}]
"""),
    ("rail_misplaced", "oversubscribed", "", "cause", """
topology: leaf-spine:leaves=4,spines=2,hosts=4
profile: ib-ndr
work: [{all_to_all: {bytes: 8MiB}}]
"""),
    ("slow_leaf_uplinks", "slow_cable", "leaf2", "cause", """
topology: leaf-spine:leaves=4,spines=4,hosts=4
profile: ib-ndr-adaptive
fabric: {cables: [{match: "leaf2-spine*", rate: 100Gbps}]}
work: [{shift: {by: 4, bytes: 4MB}}]
"""),
    ("rank_software", "software", "", "cause", """
topology: star:8
profile: ib-ndr
hosts: {reaction: 60us}
work: [{all_reduce: {bytes: 1MiB, algorithm: ring, protocol: none}}]
"""),
    ("hpcc", "congestion_control", "", "cause", """
topology: star:4
profile: roce-v2-400g
fabric: {marking: none}
hosts: {congestion: {algorithm: swift, swift: {target: 1us}}}
work: [{incast: {to: 0, from: [1,2], bytes: 4MB}}]
"""),
    ("tenants_noisy", "other_work", "", "cause", """
topology: leaf-spine:leaves=2,spines=1,hosts=4
profile: roce-v2-400g-pfc-only
tenants: [{name: red, hosts: [0,4]},{name: blue, hosts: [1,2,5,6]}]
work:
 - {name: red, flows: [{from: 0, to: 4, bytes: 8MB}]}
 - {name: blue, flows: [{from: 1, to: 5, bytes: 7MB},{from: 2, to: 6, bytes: 7MB}]}
"""),
    ("sweep_control_ib", "link_down", "spine0", "cause", """
topology: leaf-spine:leaves=2,spines=2,hosts=4
profile: ib-ndr
control: sweep
hosts: {ack_timeout: 8}
faults: [{at: 30us, cable: leaf0-spine0, state: down}]
work: [{shift: {by: 4, bytes: 8MB}}]
"""),
    ("serving_storage", "incast", "storage0", "untried", """
topology: rail:servers=4,rails=2,group=4,spines=2,storage=1
profile: ib-ndr
work: [{storage: {operation: write, bytes: 4MiB, drives: {count: 4, rate: 400Gbps, latency: 1us}}}]
"""),
    ("rccc_incast", "incast", "h0", "cause", """
topology: star:8
profile: uec-400g-rccc
work: [{incast: {to: 0, bytes: 1MB}}]
"""),
    ("slingshot", "incast", "h0", "cause", """
topology: dragonfly:a=4,p=2,h=2
profile: slingshot-11
work: [{incast: {to: 0, senders: 12, bytes: 1MB}}]
"""),
    ("irn_loss", "lossy_cable", "spine0", "cause", """
topology: leaf-spine:leaves=2,spines=1,hosts=4
profile: irn
fabric: {cables: [{match: leaf0-spine0, loss: 2e-2}]}
work: [{flows: [{from: 0, to: 4, bytes: 4MB}]}]
"""),
    ("job_vs_flows", "other_work", "", "cause", """
topology: star:6
profile: ib-ndr
work:
 - {name: train, all_reduce: {bytes: 32MiB, algorithm: ring, ranks: [0-3]}}
 - {name: backup, flows: [{from: 0, to: 5, bytes: 40MB},{from: 4, to: 1, bytes: 40MB}]}
"""),
    ("wrong_dscp", "other_work", "", "cause", """
topology: star:4
profile: roce-v2-400g-pfc-only
work:
 - {name: model, flows: [{from: 0, to: 2, bytes: 4MB}]}
 - {name: logs, dscp: 0, flows: [{from: 1, to: 2, bytes: 3MB}]}
"""),
    ("dead_spine_from_start", "link_down", "spine1", "cause", """
topology: leaf-spine:leaves=2,spines=2,hosts=4
profile: ib-ndr-adaptive
faults: [{at: 0us, switch: spine1, state: down}]
work: [{shift: {by: 4, bytes: 8MB}}]
"""),
    ("pcie_gen_all", "host_bus", "", "cause", """
topology: star:4
profile: ib-ndr
hosts: {receive_toll: {rate: 100Gbps}}
work: [{all_to_all: {bytes: 4MiB}}]
"""),
    ("slow_storage_link", "slow_cable", "storage0", "cause", """
topology: rail:servers=4,rails=2,group=4,spines=2,storage=1
profile: ib-ndr
hosts: {overrides: [{match: storage0, rate: 100Gbps}]}
work: [{storage: {operation: read, bytes: 4MiB}}]
"""),
    ("pause_threshold_of_a_packet", "small_buffer", "leaf1", "cause", """
topology: leaf-spine:leaves=2,spines=2,hosts=4
profile: roce-v2-400g-pfc-only
fabric:
  link: {delay: 1500ns}
  pfc: {threshold: static, xoff: 3KB, xon_offset: 3KB, reserve: 0}
work: [{flows: [{from: 0, to: 4, bytes: 4MB},{from: 5, to: 4, bytes: 4MB}]}]
"""),
    ("losses_and_timeouts_of_tcp", "buffer_overflow", "h0", "cause", """
topology: star:9
profile: tcp-ethernet
fabric: {switch: {buffer: 150KB}}
work: [{incast: {to: 0, bytes: 512KiB}}]
"""),
    ("slow_switch_of_a_reduction_tree", "latency", "", "untried", """
topology: leaf-spine:leaves=2,spines=1,hosts=4
profile: ib-ndr-sharp
fabric: {switches: [{match: leaf1, switch: {latency: 25us}}]}
work: [{all_reduce: {bytes: 4KiB, algorithm: in_network, protocol: none}}]
"""),
    ("trims_on_thin_uplinks", "oversubscribed", "", "cause", """
topology: fat-tree:k=8,oversubscription=4
profile: uec-400g
work: [{permutation: {bytes: 1MB}}]
"""),
    ("nvlink_with_bit_errors", "link_retries", "g3", "cause", """
topology: rail:servers=1,rails=8,group=1,spines=1
profile: ib-ndr
gpus: {scale_up: {profile: nvlink4, fabric: {cables: [{match: "g3-*", error_rate: 2e-6}]}}}
work: [{all_to_all: {bytes: 64MiB}}]
"""),
    ("receiver_keeps_too_little", "window", "", "cause", """
topology: leaf-spine:leaves=2,spines=4,hosts=4
profile: uec-400g
fabric: {link: {delay: 3us}}
hosts: {reorder_packets: 32}
work: [{flows: [{from: 0, to: 4, bytes: 8MB}]}]
"""),
    ("incast_behind_shared_uplinks", "incast", "h0", "cause", """
topology: leaf-spine:leaves=2,spines=2,hosts=8
profile: roce-v2-400g-pfc-only
tenants: [{name: red, hosts: [0,8,9,10,11,12]},{name: blue, hosts: [1,2,3,13,14]}]
work:
 - {name: red, incast: {to: 0, from: [8,9,10,11,12], bytes: 2MB}}
 - {name: blue, flows: [{from: 13, to: 2, bytes: 1MB},{from: 14, to: 3, bytes: 1MB}]}
"""),
    ("half_of_the_spines_of_an_all_to_all", "link_down", "spine0", "cause", """
topology: leaf-spine:leaves=2,spines=4,hosts=4
profile: ib-ndr-adaptive
faults: [{at: 0us, switch: spine0, state: down},{at: 0us, switch: spine3, state: down}]
work: [{all_to_all: {bytes: 32MiB}}]
"""),
    ("bit_errors_everywhere", "lossy_cable", "", "cause", """
topology: star:6
profile: roce-v2-400g
fabric: {link: {bit_errors: dropped, error_rate: 2e-7}}
hosts: {ack_timeout: 8}
work: [{all_to_all: {bytes: 4MiB}}]
"""),
    ("slow_pcie_of_one_in_an_all_to_all", "host_bus", "h6", "cause", """
topology: star:8
profile: roce-v2-400g
hosts: {overrides: [{match: h6, send_toll: {rate: 60Gbps}}]}
work: [{all_to_all: {bytes: 16MiB}}]
"""),
    ("srd_without_a_fabric_for_20_ms", "link_down", "spine0", "cause", """
topology: leaf-spine:leaves=2,spines=2,hosts=4
profile: efa-srd-200g
fabric: {route: {reroute_delay: 1s}}
faults:
 - {at: 50us, switch: spine0, state: down}
 - {at: 50us, switch: spine1, state: down}
 - {at: 20ms, switch: spine0, state: up}
 - {at: 20ms, switch: spine1, state: up}
work: [{shift: {by: 4, bytes: 8MB}}]
"""),
    ("bad_cable_under_training", "lossy_cable", "s1r2", "cause", """
topology: rail:servers=2,rails=8
profile: roce-v2-400g-pfc-only
gpus: {scale_up: nvlink4}
fabric: {cables: [{match: "s1r2-*", loss: 3e-3}]}
hosts: {ack_timeout: 8}
work:
 - training: {tp: 2, zero: 1, micro_batches: 4,
              model: {layers: 4, hidden: 1024, heads: 16, vocabulary: 8192, sequence: 2048}}
"""),
    ("slow_pcie_where_adapters_lose", "host_bus", "h6", "cause", """
topology: leaf-spine:leaves=2,spines=4,hosts=4
profile: uec-400g
hosts: {overrides: [{match: h6, receive_toll: {rate: 60Gbps}}]}
work: [{all_to_all: {bytes: 16MiB}}]
"""),
    ("window_of_one_packet", "window", "", "cause", """
topology: leaf-spine:leaves=2,spines=2,hosts=4
profile: roce-v2-400g
hosts: {window: 1}
work: [{all_reduce: {bytes: 256KiB}}]
"""),
]


def check(tulle, story):
    """What is wrong with the answer to a story; nothing if it is right."""
    name, kind, place, proof, scenario = story
    done = subprocess.run([tulle, "why", "-", "--causes", "1", "--json", "-"], input=scenario,
                          capture_output=True, text=True)
    if not done.stdout:
        return f"{name}: {done.stderr.strip()}"
    answer = json.loads(done.stdout)
    first = answer["verdict"]["causes"][0]
    if first["kind"] != kind or place not in first["place"]:
        return (f"{name}: expected {kind} at '{place}', found {first['kind']} at "
                f"'{first['place']}': {answer['verdict']['sentence']}")
    judgement = answer["trials"][0]["judgement"]
    if judgement != proof:
        return f"{name}: without it is '{judgement}', not '{proof}': {answer['trials'][0]}"
    shares = sum(share["ps"] for share in answer["time"]["shares"])
    if shares != answer["time"]["end_ps"]:
        return f"{name}: shares add up to {shares} of {answer['time']['end_ps']} ps"
    return None


def main():
    tulle, *wanted = sys.argv[1:]
    stories = [s for s in STORIES if not wanted or s[0] in wanted]
    wrong = [fault for fault in (check(tulle, story) for story in stories) if fault]
    for fault in wrong:
        print(fault)
    print(f"{len(stories) - len(wrong)} of {len(stories)} stories")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
