//! What may stand in a policy file, for manual pages. A test compares it with what the reader takes.

/// A key of a policy file.
#[derive(Debug, Clone, Copy)]
pub struct Field {
    /// Empty for the top of the file, else `tenant` or `tenant.egress`.
    pub table: &'static str,
    pub name: &'static str,
    pub allowed: &'static str,
    /// Whole sentences.
    pub help: &'static str,
}

const fn field(
    table: &'static str,
    name: &'static str,
    allowed: &'static str,
    help: &'static str,
) -> Field {
    Field {
        table,
        name,
        allowed,
        help,
    }
}

/// All keys but those of the tables themselves (`tenant`, `egress`), in the order in which they are best written.
pub const FIELDS: &[Field] = &[
    field("", "version", "1", "Required."),
    field("", "default", "\"allow\" or \"deny\"", "Required. What happens to incoming connections that match no tenant."),
    field("", "mode", "\"enforce\" or \"observe\"", "With \"observe\" nothing is refused, but everything is logged and counted as it would have been. Default: enforce."),
    field("", "egress_default", "\"allow\" or \"deny\"", "What happens to outgoing connections of a process that is no tenant of the policy, or that match no egress rule of its tenant. Default: allow."),
    field("tenant", "name", "a text of 1 to 64 bytes", "Required, and different for each tenant."),
    field("tenant", "action", "\"allow\" or \"deny\"", "Default: allow. With \"deny\", limits and marks (max_connections, rate, burst, tos, dscp) are an error: they would have no effect."),
    field("tenant", "peers", "a list of addresses and prefixes", "Whom the tenant's connections come from: \"10.1.0.0/16\", \"fd00:1::/64\", \"fe80::/10%eth0\" (link-local, with the name or number of the interface: of a request, the one interface that has the local address). Without it, from anywhere. An IPv4-mapped IPv6 address is the IPv4 address."),
    field("tenant", "local", "a list of addresses and prefixes", "This host's address, which the peer connects to."),
    field("tenant", "ports", "a list of ports and ranges", "The port that the peer connects to: 7471, \"8000-8099\"."),
    field("tenant", "pkeys", "a list of numbers from 0x0001 to 0xffff", "The partition. The top bit (full or limited membership) does not count."),
    field("tenant", "gids", "a list of addresses and prefixes", "The peer's GID. On RoCE v2 that of an IPv4 address is the IPv4-mapped IPv6 address, and may be written as IPv4."),
    field("tenant", "max_connections", "a number from 1 to 2147483647", "Live connections, in all processes of the host that use the policy and count in the same place (LIMITS below). Without it, any number."),
    field("tenant", "rate", "a number from 0.000001 to 1000000000", "Connects per second, in the same processes."),
    field("tenant", "burst", "a number from 1 to 2147483647", "Connects that may come at once. Default: rate, rounded up."),
    field("tenant", "tos", "a number from 0 to 255", "Type of service that is set on the tenant's connections, so that NIC and switch queues can tell tenants apart. See cmshim policy qos."),
    field("tenant", "dscp", "a number from 0 to 63", "The same as the upper six bits of the type of service. Only one of the two may be given."),
    field("tenant.egress", "to", "a list of addresses and prefixes", "Where to. Without it, to anywhere."),
    field("tenant.egress", "ports", "a list of ports and ranges", "The destination's port."),
    field("tenant.egress", "action", "\"allow\" or \"deny\"", "As above."),
    field("tenant.egress", "max_connections", "as above", "Live outgoing connections by this rule."),
    field("tenant.egress", "rate", "as above", "Outgoing connects per second by this rule."),
    field("tenant.egress", "burst", "as above", ""),
    field("tenant.egress", "tos", "as above", ""),
    field("tenant.egress", "dscp", "as above", ""),
];
