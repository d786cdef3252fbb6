//! What a policy of 10,000 prefixes costs: reading it, and deciding by it. Run with `cargo bench --bench policy`.

use cmshim_core::tenant::{tokens, ConnectionRequest, Policy, Rate};
use criterion::{criterion_group, Criterion};
use std::hint::black_box;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::atomic::AtomicU64;
use std::time::Instant;

const PREFIXES: u32 = 10_000;
/// The promises.
const LOAD_MS: f64 = 100.0;
const DECIDE_US: f64 = 2.0;

/// Numbers that look like none in particular, and are the same each time.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
}

/// Half of the prefixes are IPv4; they nest, and are spread over 500 tenants, some with further conditions.
fn file() -> String {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let mut lists: Vec<Vec<String>> = vec![Vec::new(); 500];
    let mut seen = std::collections::HashSet::new();
    while seen.len() < PREFIXES as usize {
        let prefix = prefix(&mut random);
        if seen.insert(prefix.clone()) {
            lists[seen.len() % 500].push(format!("\"{prefix}\""));
        }
    }
    let mut text = String::from("version = 1\ndefault = \"deny\"\n");
    for (number, list) in lists.iter().enumerate() {
        let ports = if number % 2 == 0 {
            ""
        } else {
            "ports = [7471, \"8000-8099\"]\n"
        };
        text += &format!(
            "\n[[tenant]]\nname = \"tenant {number}\"\npeers = [{}]\n{ports}max_connections = 64\nrate = 100\n",
            list.join(", ")
        );
    }
    text
}

fn prefix(random: &mut Random) -> String {
    let bits = random.next();
    match bits % 2 {
        0 => {
            let length = 8 + bits / 2 % 25;
            let address = (random.next() as u32) >> (32 - length) << (32 - length);
            format!("{}/{length}", Ipv4Addr::from(address))
        }
        _ => {
            let length = 20 + bits / 2 % 45;
            let tail = u128::from(random.next()) << 64 >> (128 - length) << (128 - length);
            // Below one /16, so that they nest.
            let address = (tail & !(0xffff << 112)) | 0xfd00 << 112;
            format!("{}/{length}", Ipv6Addr::from(address))
        }
    }
}

/// Peers anywhere, so that some match deep and some not at all.
fn asks() -> Vec<ConnectionRequest> {
    let mut random = Random(0xbf58_476d_1ce4_e5b9);
    let ask = |n: u64| {
        let peer: IpAddr = match n % 2 {
            0 => Ipv4Addr::from(random.next() as u32).into(),
            _ => Ipv6Addr::from(u128::from(random.next()) << 64 >> 16 | 0xfd00 << 112).into(),
        };
        ConnectionRequest {
            peer: Some(peer),
            local: Some(Ipv4Addr::LOCALHOST.into()),
            port: 7471,
            ..ConnectionRequest::default()
        }
    };
    (0..4096).map(ask).collect()
}

fn benches(c: &mut Criterion) {
    let text = file();
    let policy = Policy::parse(text.as_bytes()).expect("a policy");
    let asks = asks();
    c.bench_function("policy of 10,000 prefixes, read", |b| {
        b.iter(|| Policy::parse(black_box(text.as_bytes())))
    });
    let mut next = asks.iter().cycle();
    c.bench_function("policy of 10,000 prefixes, one decision", |b| {
        b.iter(|| policy.incoming(black_box(next.next().unwrap_or(&asks[0]))))
    });
    let (tat, mut now) = (AtomicU64::new(0), 0);
    let rate = Rate {
        per_s: 1e6,
        burst: 10,
    };
    c.bench_function("token bucket", |b| {
        b.iter(|| {
            now += 900;
            tokens::take(black_box(&tat), now, &rate)
        })
    });
}

/// The least of some rounds, in s: what it costs while nothing else has the processor.
fn least(rounds: u32, mut work: impl FnMut()) -> f64 {
    let round = || {
        let begin = Instant::now();
        work();
        begin.elapsed().as_secs_f64()
    };
    std::iter::repeat_with(round)
        .take(rounds as usize)
        .fold(f64::MAX, f64::min)
}

fn main() {
    all();
    Criterion::default().configure_from_args().final_summary();
    let text = file();
    let load = least(20, || {
        black_box(Policy::parse(text.as_bytes())).ok();
    });
    let policy = Policy::parse(text.as_bytes()).expect("a policy");
    let asks = asks();
    let decide = least(50, || {
        asks.iter().for_each(|ask| {
            black_box(policy.incoming(ask));
        });
    });
    let (load_ms, decide_us) = (load * 1e3, decide * 1e6 / asks.len() as f64);
    let matched = asks
        .iter()
        .filter(|ask| policy.incoming(ask).subject.is_some());
    println!(
        "least: read {load_ms:.1} ms, decide {decide_us:.3} us ({} of {} match a tenant)",
        matched.count(),
        asks.len()
    );
    assert!(load_ms < LOAD_MS, "{load_ms} ms to read it are too much");
    assert!(
        decide_us < DECIDE_US,
        "{decide_us} us for a decision are too much"
    );
}

criterion_group!(all, benches);
