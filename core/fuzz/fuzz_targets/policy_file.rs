//! The reader of policy files on bytes that nobody vouches for, and decisions by what it let pass.
//! `cd core && cargo +nightly fuzz run policy_file` (seeds: tools/policy/example.toml, in core/fuzz/corpus/policy_file)
#![no_main]

use cmshim_core::tenant::{ConnectionRequest, Policy};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let policy = match Policy::parse(bytes) {
        Ok(policy) => policy,
        Err(problems) => {
            let lines = bytes.split(|b| *b == b'\n').count();
            assert!(!problems.is_empty());
            for problem in problems {
                assert!(problem.line <= lines && !problem.to_string().contains('\n'));
            }
            return;
        }
    };
    let gid = bytes.first_chunk::<16>().copied();
    let peers = gid.into_iter().flat_map(|a| [a.into(), [a[0], a[1], a[2], a[3]].into()]);
    for peer in peers.map(Some).chain([None]) {
        let ask = ConnectionRequest { peer, scope: 1, local: peer, port: 7471, pkey: Some(0xffff), gid };
        let verdict = policy.incoming(&ask);
        let trace = policy.trace_incoming(&ask);
        let decides = trace.last().filter(|step| step.fails.is_none());
        assert_eq!(decides.map(|step| step.subject), verdict.subject);
        for subject in policy.subjects() {
            let verdict = policy.outgoing(Some(&subject.name), &ask);
            assert!(verdict.subject.is_none_or(|n| policy.subjects()[n].egress));
        }
    }
});
