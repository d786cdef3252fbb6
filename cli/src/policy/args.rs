//! The arguments of `cmshim policy`.

use std::net::IpAddr;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};

/// Check, ask and watch tenant policies: who may connect
///
/// A policy is a TOML file that the key tenant.policy of the configuration names. The library refuses what it does not allow
/// before the program sees it. The most specific prefix of peers wins, then the order in the file; where another
/// condition of a tenant does not hold, the next one is asked, and in the end the default decides. Egress rules are
/// asked in their order.
#[derive(Debug, Args)]
#[command(subcommand_required = true, arg_required_else_help = true)]
pub struct PolicyArgs {
    #[command(subcommand)]
    pub command: PolicyCommand,
}

#[derive(Debug, Subcommand)]
pub enum PolicyCommand {
    Check(CheckArgs),
    Test(TestArgs),
    Show(ShowArgs),
    Qos(QosArgs),
}

/// Say all that is wrong in a policy file, or what it has
///
/// Each problem is one line of standard output, with file, line and column.
#[derive(Debug, Args)]
#[command(after_help = CHECK_AFTER)]
pub struct CheckArgs {
    /// The policy file
    #[arg(value_hint = ValueHint::FilePath)]
    pub file: PathBuf,
}

const CHECK_AFTER: &str = "\
Exit status:
  0    nothing is wrong
  1    the file has a problem or cannot be read, or output could not be written
  2    wrong arguments";

/// Say which rule decides about a connection, and why
///
/// Also names the rules that were asked before it, and the condition that they lack. What is not given is not known, and
/// a condition on it does not hold. Limits are named, not counted.
#[derive(Debug, Args)]
#[command(after_help = TEST_AFTER)]
pub struct TestArgs {
    /// The policy file
    #[arg(value_hint = ValueHint::FilePath)]
    pub file: PathBuf,
    /// The peer's address; a link-local one with its interface: fe80::1%eth0
    #[arg(long, value_name = "ADDRESS")]
    pub peer: String,
    /// The port that is connected to
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u16).range(1..))]
    pub port: Option<u16>,
    /// This host's address
    #[arg(long, value_name = "ADDRESS")]
    pub local: Option<IpAddr>,
    /// The partition key: 0xffff, or decimal
    #[arg(long, value_name = "NUMBER", value_parser = pkey)]
    pub pkey: Option<u16>,
    /// The peer's GID
    #[arg(long, value_name = "GID")]
    pub gid: Option<IpAddr>,
    /// Ask about an outgoing connection, to PEER
    #[arg(long)]
    pub egress: bool,
    /// The tenant that the connecting process belongs to
    #[arg(long, value_name = "NAME", requires = "egress")]
    pub tenant: Option<String>,
}

const TEST_AFTER: &str = "\
Exit status:
  0    the policy allows it
  1    the policy refuses it, or output could not be written
  2    the policy has a problem or cannot be read, or wrong arguments";

fn pkey(text: &str) -> Result<u16, String> {
    let number = match text.strip_prefix("0x") {
        Some(digits) => u16::from_str_radix(digits, 16),
        None => text.parse(),
    };
    number.map_err(|_| "not a number from 0 to 0xffff".to_owned())
}

/// Show the policy in effect in a process, and what its tenants use
///
/// Reads the file below tenant.dir in which the processes of the host count together. Live connections are those of this
/// process, and of all processes that use the same policy; the other counts are of all of them since the file was made. Rates
/// and types of service come from the policy file: they are shown as ? if its present text is not what is in effect.
#[derive(Debug, Args)]
#[command(after_help = SHOW_AFTER)]
pub struct ShowArgs {
    /// The process id, as the process itself sees it
    #[arg(value_name = "PID")]
    pub pid: u32,
    /// As one JSON object
    #[arg(long)]
    pub json: bool,
}

const SHOW_AFTER: &str = "\
The JSON object:
  pid       the process id
  program   the name of the program
  policy    the policy file
  share     the file in which the processes count together
  state     enforce, observe, closed (no policy could be read: all are refused) or open (the same: all are allowed)
  broken    whether a newer text of the policy is broken, and an older one stays in effect
  present   whether the file's present text is in effect; null if the file cannot be read
  known     whether rates, bursts and types of service in effect are known: only the file says them
  since     when the policy in effect was read
  reloads   how often it was read again since the process began
  tenants   a list of objects with the keys below
  name      the tenant, empty for connections that match none
  egress    the number of its egress rule, from 1; not for incoming connections
  live      live connections of this process
  host      live connections of all processes
  limit     the most that the host may have
  rate      connects per second; without the key there is no such limit, null if it is not known
  burst     connects at once, likewise
  tos       type of service, likewise
  allowed   connections that were allowed
  denied    refused by a rule, by a default or by the program's own check
  over      refused because of the limit
  fast      refused because of the rate
  observed  let through by a policy that only observes

Exit status:
  0    shown
  1    no live process with this id uses a policy, or output could not be written
  2    wrong arguments";

/// Print commands that give each type of service of a policy a queue
///
/// Nothing is run. The type of service is in the packets of a tenant's connections; which queue they take is decided by the
/// network card and the switches.
#[derive(Debug, Args)]
#[command(after_help = CHECK_AFTER)]
pub struct QosArgs {
    /// The policy file
    #[arg(value_hint = ValueHint::FilePath)]
    pub file: PathBuf,
    /// The network device
    #[arg(long, value_name = "NAME", value_parser = device)]
    pub dev: String,
}

/// As the kernel takes it, and harmless in a shell.
fn device(text: &str) -> Result<String, String> {
    let fine = |c: char| c.is_ascii_alphanumeric() || "._-@".contains(c);
    let good = !text.is_empty() && text.len() <= 15 && !text.starts_with('-');
    match good && text.chars().all(fine) {
        true => Ok(text.to_owned()),
        false => Err("not the name of a network device".to_owned()),
    }
}
