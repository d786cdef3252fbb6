//! The table: every key with its type, range, default and help.

/// Each key is a variable too: this, and the key in capitals.
pub(super) const PREFIX: &str = "CMSHIM_";

/// What a key takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `true` or `false`.
    Bool,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// A whole number, both ends included. The unit is empty for a plain count.
    Int {
        min: u64,
        max: u64,
        unit: &'static str,
    },
    /// A file name; empty means none.
    Path,
    /// A directory, with its whole name; empty means none.
    Directory,
    /// A file of the host, with its whole name; empty means none.
    File,
    /// The name of a tenant; empty means none.
    Tenant,
    /// A pattern that finds a tenant in the path of a cgroup; empty means none.
    CgroupPattern,
    /// A list of program names.
    Names,
    /// CPU numbers and ranges, `device`, or empty for any.
    Cpus,
}

/// A default, in a form that a constant can hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Preset {
    Bool(bool),
    Int(u64),
    Text(&'static str),
    List(&'static [&'static str]),
}

/// One row of the table.
#[derive(Debug, Clone, Copy)]
pub struct Key {
    /// With its section: `listen.min_backlog`.
    pub name: &'static str,
    pub kind: Kind,
    pub default: Preset,
    /// Whether a `[program.NAME]` section may set it.
    pub per_program: bool,
    /// One line, without a full stop.
    pub help: &'static str,
    /// Whole sentences: what it is good for, what its extremes mean.
    pub more: &'static str,
}

/// All keys. Keys of one section stand together; keys without a section come first.
pub const KEYS: &[Key] = &[
    Key {
        name: "disable",
        kind: Kind::Bool,
        default: Preset::Bool(false),
        per_program: true,
        help: "Pass every call through and say nothing",
        more: "The library stays loaded, but does nothing: no thread, no line, no changed argument.",
    },
    Key {
        name: "skip",
        kind: Kind::Names,
        default: Preset::List(&[]),
        per_program: false,
        help: "Programs in which the library does nothing",
        more: "Names as in /proc/PID/comm or the file name of the executable, without a directory. \
               In the variable, names are separated by commas.",
    },
    Key {
        name: "threads",
        kind: Kind::Choice(&["on", "off"]),
        default: Preset::Text("on"),
        per_program: true,
        help: "Whether the library may start a thread of its own",
        more: "The thread runs the timers. Without it, early warning and watchdog are off, and the count of \
               repeated lines comes with the next line or at the end of the process. Use \"off\" for a program that must stay single-threaded, for example because it \
               calls unshare or setns.",
    },
    Key {
        name: "log.file",
        kind: Kind::Path,
        default: Preset::Text(""),
        per_program: true,
        help: "Where the lines go; empty is standard error",
        more: "Lines are appended. %p in the name becomes the process id. A name that does not start with / \
               counts from the directory in which the program starts. While the file cannot be written, lines \
               go to standard error.",
    },
    Key {
        name: "log.level",
        kind: Kind::Choice(&["off", "error", "warn", "info", "debug"]),
        default: Preset::Text("warn"),
        per_program: true,
        help: "The least important line that is still written",
        more: "\"error\" is failures only, \"warn\" adds early warnings, refusals by this program and suspicious \
               states, \"info\" adds changed backlogs and clients that leave early, \"debug\" adds every event.",
    },
    Key {
        name: "log.format",
        kind: Kind::Choice(&["text", "json"]),
        default: Preset::Text("text"),
        per_program: true,
        help: "One line of text, or one JSON object on a line, for each incident",
        more: "",
    },
    Key {
        name: "reasons.enable",
        kind: Kind::Bool,
        default: Preset::Bool(true),
        per_program: true,
        help: "Say who, why and what to do for each connection that fails",
        more: "With false the other keys of this section have no effect.",
    },
    Key {
        name: "reasons.early_warning_ms",
        kind: Kind::Int { min: 0, max: 600_000, unit: "ms" },
        default: Preset::Int(5_000),
        per_program: true,
        help: "Warn when a connect has no answer for this long",
        more: "The kernel itself gives up much later, and says nothing before. 0 is off.",
    },
    Key {
        name: "reasons.watchdog_ms",
        kind: Kind::Int { min: 0, max: 600_000, unit: "ms" },
        default: Preset::Int(1_000),
        per_program: true,
        help: "Warn when a call that waits for acknowledged events blocks for this long",
        more: "rdma_destroy_id, rdma_destroy_qp, rdma_destroy_ep, rdma_migrate_id, rdma_leave_multicast and \
               ibv_destroy_qp wait until the program has acknowledged every event of the id or queue pair; the \
               line names the events that it has not. 0 is off.",
    },
    Key {
        name: "reasons.short_lived_ms",
        kind: Kind::Int { min: 0, max: 600_000, unit: "ms" },
        default: Preset::Int(1_000),
        per_program: true,
        help: "A connection that ends sooner than this after it was established is named",
        more: "A later disconnect counts as a clean end. 0 is off.",
    },
    Key {
        name: "reasons.slow_connect_ms",
        kind: Kind::Int { min: 0, max: 600_000, unit: "ms" },
        default: Preset::Int(4_000),
        per_program: true,
        help: "A connect that succeeded but took longer than this is named",
        more: "Requests that a full backlog dropped are sent again after seconds, without an error at either \
               end. 0 is off.",
    },
    Key {
        name: "reasons.repeat_s",
        kind: Kind::Int { min: 0, max: 3_600, unit: "s" },
        default: Preset::Int(10),
        per_program: true,
        help: "Count the same reason from the same listener within this time instead of writing it again",
        more: "One summary line follows. 0 writes every line.",
    },
    Key {
        name: "reasons.private_data_max",
        kind: Kind::Int { min: 0, max: 196, unit: "bytes" },
        default: Preset::Int(64),
        per_program: true,
        help: "How much of the private data of a reject is shown",
        more: "0 shows none.",
    },
    Key {
        name: "listen.min_backlog",
        kind: Kind::Int { min: 0, max: 65_535, unit: "" },
        default: Preset::Int(128),
        per_program: true,
        help: "Raise a smaller backlog of rdma_listen to this",
        more: "Never above the kernel's limit, /proc/sys/net/rdma_ucm/max_backlog, and not on iWARP. \
               0 leaves the backlog alone.",
    },
    Key {
        name: "stats.enable",
        kind: Kind::Bool,
        default: Preset::Bool(true),
        per_program: true,
        help: "Count calls and events, measure phases and keep a flight recorder, in one file for each process",
        more: "The file is made at the first RDMA call. Where none can be made, one line says so and nothing is counted.",
    },
    Key {
        name: "stats.dir",
        kind: Kind::Directory,
        default: Preset::Text(""),
        per_program: true,
        help: "Where the statistics files are; empty is the first of these that can be used: /run/cmshim, \
               /run/user/UID/cmshim, /dev/shm/cmshim-UID",
        more: "It has to be a tmpfs: in another file system, writing back to a disk could stop the program. It is \
               made if only its last part is missing.",
    },
    Key {
        name: "stats.readers",
        kind: Kind::Choice(&["user", "group", "all"]),
        default: Preset::Text("user"),
        per_program: true,
        help: "Who may read the statistics of a process",
        more: "\"user\" is the same user and root, \"group\" adds the process's group, \"all\" everybody. The directory \
               has to let them in too.",
    },
    Key {
        name: "pool.enable",
        kind: Kind::Bool,
        default: Preset::Bool(true),
        per_program: true,
        help: "Keep queue pairs ready that were never used, for programs that create the same kind again",
        more: "From the second creation of one kind on, our thread makes queue pairs ahead, and ibv_create_qp takes \
               one. With \"threads\" off there is no pool.",
    },
    Key {
        name: "pool.min",
        kind: Kind::Int { min: 0, max: 4_096, unit: "" },
        default: Preset::Int(4),
        per_program: true,
        help: "Queue pairs to have ready of a kind that is in use, at least",
        more: "Kinds differ in protection domain, completion queues, type and sizes. Never more than pool.max.",
    },
    Key {
        name: "pool.max",
        kind: Kind::Int { min: 0, max: 4_096, unit: "" },
        default: Preset::Int(32),
        per_program: true,
        help: "Queue pairs to have ready of one kind, at most",
        more: "In between, the number follows how many are created in a tenth of a second.",
    },
    Key {
        name: "pool.warm",
        kind: Kind::Int { min: 0, max: 4_096, unit: "" },
        default: Preset::Int(0),
        per_program: true,
        help: "Queue pairs to have ready as soon as a kind is first seen",
        more: "Never more than pool.max. 0 waits for the second creation.",
    },
    Key {
        name: "pool.idle_s",
        kind: Kind::Int { min: 1, max: 3_600, unit: "s" },
        default: Preset::Int(10),
        per_program: true,
        help: "Give back the queue pairs that nobody needed for this long",
        more: "For as long the pool also stays empty after memory or a limit of the device was met.",
    },
    Key {
        name: "pool.device_share",
        kind: Kind::Int { min: 0, max: 100, unit: "%" },
        default: Preset::Int(5),
        per_program: true,
        help: "Share of the queue pairs of a device that may lie ready in one process",
        more: "Counted from the device's max_qp and max_cq, over all the times that the process has it open. Each process has a \
               share of its own: with many of them on one device, make it smaller. 0 keeps none.",
    },
    Key {
        name: "pool.recycle",
        kind: Kind::Bool,
        default: Preset::Bool(false),
        per_program: true,
        help: "Keep queue pairs that the program destroys, and give them out again",
        more: "Only those whose connection ended with DISCONNECTED or REJECTED, or that never asked for one; only on a device that \
               passed a trial in this process: after RESET no completion of the old connection is left, and data goes over a new one. \
               The verdict is a line at level info.",
    },
    Key {
        name: "pool.quarantine_ms",
        kind: Kind::Int { min: 0, max: 600_000, unit: "ms" },
        default: Preset::Int(3_000),
        per_program: true,
        help: "How long a queue pair rests before it is given out again, unless TIMEWAIT_EXIT was seen",
        more: "The kernel's own time after a connection on Ethernet is about 2.1 s: twice the packet life time of \
               4.096 us * 2^18.",
    },
    Key {
        name: "events.mode",
        kind: Kind::Choice(&["auto", "off", "inline", "thread"]),
        default: Preset::Text("auto"),
        per_program: true,
        help: "How CM events are taken from the kernel",
        more: "\"inline\" takes up to events.batch events with one system call, in the program's own call, on each \
               event channel that the program makes non-blocking; blocking channels stay as they are. \"thread\" \
               has a thread of the library read all channels that the program creates. \"auto\" is \"inline\", or \
               \"thread\" where events.cpus, events.busy_poll_us or tenant.policy is set. \"off\" leaves all channels alone.",
    },
    Key {
        name: "events.batch",
        kind: Kind::Int { min: 1, max: 16, unit: "events" },
        default: Preset::Int(16),
        per_program: true,
        help: "The most events taken with one system call",
        more: "Connection requests among them never exceed the listen backlog.",
    },
    Key {
        name: "events.cpus",
        kind: Kind::Cpus,
        default: Preset::Text(""),
        per_program: true,
        help: "The CPUs on which the thread that reads events may run",
        more: "\"device\" is those of the NUMA node of the first RDMA device that tells one.",
    },
    Key {
        name: "events.busy_poll_us",
        kind: Kind::Int { min: 0, max: 1_000_000, unit: "us" },
        default: Preset::Int(0),
        per_program: true,
        help: "How long the thread that reads events looks for more without sleeping after each one",
        more: "It keeps a CPU busy for that time. 0 is off.",
    },
    Key {
        name: "tenant.policy",
        kind: Kind::File,
        default: Preset::Text(""),
        per_program: true,
        help: "Refuse connections that this policy file does not allow, before the program sees them; empty is off",
        more: "See cmshim-policy(5) for what stands in it. It is read again when it changes; a new file that is broken \
               leaves the old policy in effect. With it, events.mode \"auto\" is \"thread\".",
    },
    Key {
        name: "tenant.on_error",
        kind: Kind::Choice(&["deny", "allow"]),
        default: Preset::Text("deny"),
        per_program: true,
        help: "What happens to all connections when the policy cannot be read at the start, or limits cannot be shared",
        more: "And to outgoing ones of a process whose tenant.name the policy does not have: \"deny\" refuses them, with \"allow\" \
               egress_default decides.",
    },
    Key {
        name: "tenant.name",
        kind: Kind::Tenant,
        default: Preset::Text(""),
        per_program: true,
        help: "The tenant that this process belongs to: its [[tenant.egress]] rules hold for outgoing connections",
        more: "A name that the policy does not have is a mistake: a warning says so, and tenant.on_error decides about outgoing \
               connections (where the policy only observes, none is refused).",
    },
    Key {
        name: "tenant.cgroup",
        kind: Kind::CgroupPattern,
        default: Preset::Text(""),
        per_program: true,
        help: "Find the tenant that this process belongs to in the path of its cgroup",
        more: "Used where tenant.name is empty. For a tenant that the policy does not have, egress_default decides, and a warning \
               says so. {tenant} in the pattern is one or more characters other than /, * any \
               number of them, ** any number of any characters; the whole path of cgroup v2 (/proc/self/cgroup) has \
               to match. Example: \"/tenants.slice/{tenant}.slice/**\".",
    },
    Key {
        name: "tenant.dir",
        kind: Kind::Directory,
        default: Preset::Text(""),
        per_program: true,
        help: "Where the processes of this host count connections together; empty is the first of these that can be \
               used: /run/cmshim, /run/user/UID/cmshim, /dev/shm/cmshim-UID",
        more: "Limits hold for all processes that use the same policy and the same directory. By default each user's processes \
               count apart from those of other users; LIMITS in cmshim-policy(5) says how they count together.",
    },
    Key {
        name: "tenant.audit",
        kind: Kind::Path,
        default: Preset::Text(""),
        per_program: true,
        help: "Write each refusal as one line of JSON to this file; empty is off",
        more: "Lines are appended. %p in the name becomes the process id.",
    },
    Key {
        name: "tenant.audit_allowed",
        kind: Kind::Bool,
        default: Preset::Bool(false),
        per_program: true,
        help: "Write a line for each connection that is allowed, too",
        more: "Not for outgoing connections of a process that is no tenant of the policy (tenant.name, tenant.cgroup).",
    },
    Key {
        name: "tenant.audit_per_s",
        kind: Kind::Int { min: 1, max: 100_000, unit: "lines per second" },
        default: Preset::Int(100),
        per_program: true,
        help: "The most lines of the audit file in a second",
        more: "More are counted, and the next line says how many were left out.",
    },
    Key {
        name: "tenant.check_ms",
        kind: Kind::Int { min: 0, max: 60_000, unit: "ms" },
        default: Preset::Int(1_000),
        per_program: true,
        help: "How long a check that the program set (cmshim_set_access_check) may take before the connection is refused",
        more: "0 waits for as long as it takes.",
    },
];
