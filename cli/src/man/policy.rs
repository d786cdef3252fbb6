//! What stands in a policy file and what comes of it, for the page of `cmshim policy`.

use clap_mangen::roff::{bold, roman, Roff};
use cmshim_core::tenant::reason::Code;
use cmshim_core::tenant::share::{ROWS, SLOTS};
use cmshim_core::tenant::{audit, FIELDS};

use super::sections::section;

/// The example that `make install` installs too.
const EXAMPLE: &str = include_str!("../../../tools/policy/example.toml");

pub fn sections() -> [Roff; 5] {
    [file(), limits(), example(), audit(), reject()]
}

fn file() -> Roff {
    let mut roff = section("POLICY FILE");
    roff.text([roman(
        "The file is TOML. It is read again when it changes, also where it is a link that is exchanged (Kubernetes). \
         Write a new file beside it and rename that over it: then it takes effect within a second. A file that is written in place is \
         left alone until nobody has changed it for a second, since half of it may be valid. A new file that is broken leaves the old policy in effect. An unknown key is an error, and so is a \
         tenant or egress rule that could never match. At most 20000 tenants and egress rules may stand in it, 1000 of them with limits, all lists together \
         100000 prefixes, and the file 16 MiB.",
    )]);
    roff.control("PP", []);
    roff.text([roman(
        "A peer that is refused gets an ordinary reject. If it runs under cmshim too, it says why: \"refused by policy \
         of the peer: tenant 'olap' has 64 of 64 connections\".",
    )]);
    roff.control("PP", []);
    roff.text([roman(
        "Who a peer is: its address stands in the connect request, which the peer's host has written; whoever is root on a host of the \
         fabric can write another one there. gids (where the fabric sets them) and pkeys, which the fabric's switches check, hold against \
         such a host. A request without an IP address (RDMA_PS_IB) for which no tenant stands (by gids, pkeys or local) is refused if one with \
         action = \"deny\" has peers, since it may come from one of them; so is one from a link-local address of which it is not known \
         behind which interface the peer is.",
    )]);
    for field in FIELDS {
        let name = match field.table {
            "" => field.name.to_owned(),
            table => format!("[[{table}]] {}", field.name),
        };
        roff.control("TP", []);
        roff.text([bold(name)]);
        roff.text([roman(
            format!("{} Allowed: {}.", field.help, field.allowed)
                .trim_start()
                .to_owned(),
        )]);
    }
    roff
}

fn limits() -> Roff {
    let mut roff = section("LIMITS");
    roff.text([roman(
        "max_connections and rate hold for all processes that use the same policy file and count in the same place. Without \
         tenant.dir the processes of each user count together, apart from those of all other users: in /run/cmshim if only they may \
         write there (root's processes), else in a directory of that user; a warning says so. Nobody counts in a directory that \
         everybody may write in (mode 1777): tenant.on_error decides where tenant.dir is one.",
    )]);
    roff.control("PP", []);
    roff.text([roman(
        "To count processes of several users together, give them a directory in a tmpfs that belongs to root and to a group of \
         these users, mode 3770: for example the line \"d /run/cmshim-limits 3770 root rdma\" in a file of /etc/tmpfiles.d, and \
         tenant.dir = \"/run/cmshim-limits\" in /etc/cmshim.toml. Each user writes a file of his own there, which the group may \
         read, and all are added up. The limits are never passed. A member of the group can claim connections that he does not \
         have, and so use a limit up; he can neither raise it nor end the processes of others. Who is not in the group cannot \
         count there, and tenant.on_error decides; so it does where a member has made so many files (16384) that they cannot be read.",
    )]);
    roff.control("PP", []);
    roff.text([roman(format!(
        "A file has room for {SLOTS} processes of one user; for more there are more files. It has {ROWS} rows for names of tenants \
         and numbers of egress rules, and none is ever freed: if so many names have come and gone, new tenants with limits are \
         refused as uncounted until the file is removed (cmshim policy show names it; all processes of its user have to begin anew then).",
    ))]);
    roff
}

fn example() -> Roff {
    let mut roff = section("EXAMPLE");
    roff.control("PP", []);
    roff.control("nf", []);
    for line in EXAMPLE.lines() {
        roff.text([roman(line)]);
    }
    roff.control("fi", []);
    roff
}

fn audit() -> Roff {
    let mut roff = section("AUDIT FILE");
    roff.text([roman(
        "With tenant.audit each refusal is one line with a JSON object, and with tenant.audit_allowed each allowed connection \
         too (not the outgoing ones of a process that is no tenant of the policy). A name whose value is not known is left out.",
    )]);
    for (name, value) in audit::FIELDS {
        roff.control("TP", []);
        roff.text([bold(*name)]);
        roff.text([roman(*value)]);
    }
    roff
}

fn reject() -> Roff {
    let mut roff = section("PRIVATE DATA OF THE REJECT");
    let codes: Vec<String> = Code::SENT
        .iter()
        .map(|code| format!("{} {}", *code as u8, code.name()))
        .collect();
    roff.text([roman(format!(
        "A refused peer can read why, also without cmshim. Numbers are big endian. Bytes 0 to 3: CMSR. 4: version, 1. 5: why: {}. \
         6 and 7: length of all. In any later version these mean the same. 8 to 11: milliseconds after which to try again, \
         0xffffffff if that is not known. 12 to 15: live connections of the tenant. 16 to 19: the limit that was met (0 for a rate below 1). 20: length \
         of the tenant's name, which follows in UTF-8. The rest is zero.",
        codes.join(", ")
    ))]);
    roff
}
