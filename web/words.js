/* words.js - what verdict kinds, states, fates and counters mean. */
"use strict";
Hone.words = {
  kinds: {
    pass: "It agrees with the fp64 truth, the sanitizer found nothing, and it was timed.",
    unsafe: "Its results agree, but the sanitizer found an illegal or unordered access.",
    mismatch: "A result differs from the fp64 truth by more than the tolerance.",
    fault: "A call ended by an illegal access, a trap or an assertion.",
    hang: "A call did not end in time.",
    oom: "It asked for more memory than there is.",
    plan_error: "The launch plan does not fit the task or the kernel.",
    compile_error: "The compiler refused it.",
    cheat: "It tried to deceive the judge.",
    rejected: "The reply broke a rule of the run, so Hone did not evaluate it.",
    no_code: "The reply held no kernel.",
    unjudged: "Hone or the machine failed; this does not count against the candidate.",
  },
  groups: [
    { name: "pass", kinds: ["pass"], color: "good" },
    { name: "wrong or unsafe", kinds: ["mismatch", "unsafe"], color: "warn" },
    { name: "crashed", kinds: ["fault", "hang", "oom"], color: "bad" },
    { name: "not built", kinds: ["compile_error", "plan_error"], color: "accent" },
    { name: "refused", kinds: ["no_code", "rejected", "cheat", "unjudged"], color: "muted" },
  ],
  states: {
    running: "A process works on this run.",
    done: "The run reached its end.",
    stopped: "A budget, a limit or the user ended the run.",
    failed: "Hone or the machine failed.",
    killed: "No process works on this run; `hone resume` goes on with it.",
  },
  fates: {
    best: "the fastest candidate that passes",
    kept: "passes, but is not the best",
    regression: "passes, but is slower than the kernel it should improve",
    "on trial": "a slower structural step that may be a parent for a few steps",
    failed: "does not pass",
    pruned: "no longer selected, because all its children failed",
    unconfirmed: "passed, and then failed its confirmation",
  },
  counters: {
    warp_instructions: "instructions issued, one for each warp",
    thread_instructions: "instructions executed, one for each active thread",
    global_load_bytes: "bytes that threads asked for with global loads",
    global_store_bytes: "bytes that threads wrote with global stores",
    global_load_sectors: "32-byte sectors that global loads touched",
    global_store_sectors: "32-byte sectors that global stores touched",
    global_sectors: "32-byte sectors moved for global loads and stores",
    global_fresh_sectors: "sectors that no block had read before",
    global_efficiency: "share of the moved global bytes that threads asked for",
    global_waits: "times a warp waited for global memory",
    shared_waits: "times a warp waited for shared memory",
    shared_bytes: "bytes read from and written to shared memory",
    bank_conflicts: "extra passes through shared memory because lanes hit the same bank",
    active_lanes: "share of a warp's 32 lanes that were active, on average",
    divergent_branches: "branches at which lanes of one warp went different ways",
    barriers: "block-wide barriers that warps arrived at",
    launches: "how often the kernel was launched",
    time: "time of all launches of the kernel",
    dram_bytes: "bytes moved between DRAM and the L2",
    dram_pct: "share of peak DRAM throughput",
    l2_pct: "share of peak L2 throughput",
    shared_pct: "share of peak shared-memory throughput",
    issue_pct: "share of the issue slots that were busy",
    tensor_pct: "share of peak tensor throughput",
    latency_pct: "share of the time in which only latency counts",
    occupancy_pct: "share of the warps that an SM can hold",
    registers: "registers of each thread",
    smem_bytes: "shared memory of each block",
    static_smem: "shared memory that the source declares",
    spills: "bytes that did not fit into registers and go through memory",
    stack: "stack of each thread",
    blocks_per_sm: "blocks that one SM holds at a time",
    tensor_ops: "matrix products on tensor cores",
    sass_instructions: "machine instructions in the code",
    sass_wide_loads: "loads of 16 bytes in the code",
    "gpu__time_duration.sum": "time of all launches of the kernel, measured by Nsight Compute",
    "dram__bytes.sum": "bytes moved between DRAM and the L2",
    "dram__bytes_read.sum": "bytes read from DRAM",
    "dram__bytes_write.sum": "bytes written to DRAM",
    "lts__t_sector_hit_rate.pct": "share of the L2's sectors that were hits",
    launch__registers_per_thread: "registers of each thread",
    launch__shared_mem_per_block: "shared memory of each block",
    launch__grid_size: "blocks of a launch",
    launch__block_size: "threads of a block",
    launch__waves_per_multiprocessor: "rounds of blocks that each SM runs",
  },
  /* Returns the meaning of a word, or undefined. Words come from outside, and one may be "constructor".
   * So only the table's own keys count. */
  of(table, name) { return Object.hasOwn(this[table], name) ? this[table][name] : undefined; },
  /* Returns the meaning of a counter. Some counters come in families: inst_fp32, sass_global, ... */
  counter(name) {
    if (this.of("counters", name)) return this.of("counters", name);
    const rest = name.replace(/^(inst|sass)_/, "").replace(/_/g, " ");
    if (name.startsWith("inst_")) return "executed instructions of the kind " + rest;
    if (name.startsWith("sass_")) return "machine instructions in the code of the kind " + rest;
    if (name.includes("pct_of_peak")) return "share of this unit's peak";
    if (name.includes("issue_stalled")) return "warps that waited for this reason, per issued instruction";
    return "";
  },
};
