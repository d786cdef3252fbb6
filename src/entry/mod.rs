//! The exported C symbols. An entry finds the real function, lets the feature have its say before
//! and after, and changes nothing else.
//!
//! All are `extern "C-unwind"`: a thread of the program may be cancelled while the real call blocks,
//! and that forced unwind passes through here. No entry holds a lock or a destructor meanwhile.

mod channel;
mod completion;
mod connect;
mod descriptors;
mod events;
mod ids;
mod mlx5;
mod multicast;
mod objects;
mod own;
mod own_checks;
mod own_events;
mod queue_pairs;
mod requests;
mod rsocket;
mod teardown;
mod verbs;

/// Defines one entry: `before` and `after` see the shim, `before` also the call and `after` how it ended; `failed` is
/// an `after` that a call which went well does not pay for; `again` says whether a call that failed with
/// this errno is worth a second try.
macro_rules! entry {
    (
        fn $name:ident($($arg:ident: $ty:ty),* $(,)?) $(-> $ret:ty)?, missing $failure:expr;
        $(@before |$before:ident $(, $call:ident)?| $first:expr;)?
        $(@again $room:path;)?
        $how:ident |$after:ident, $ended:ident, $rc:ident| $last:expr;
    ) => {
        /// # Safety
        /// As the function of this name in the real library.
        #[cfg_attr(not(test), no_mangle)]
        pub unsafe extern "C-unwind" fn $name($($arg: $ty),*) $(-> $ret)? {
            let Some(real) = $crate::real::$name() else {
                return $crate::boundary::missing(stringify!($name), $failure);
            };
            let id = $crate::stats::first_id(&[$($crate::stats::id_of(&$arg)),*]);
            // SAFETY: the program's own id, if there is one.
            let call = unsafe { $crate::boundary::enter_on($crate::stats::Entry::$name, id) };
            $(call.before(|$before| {
                $(let $call = &call;)?
                $first
            });)?
            // SAFETY: the program's own arguments, unchanged.
            let make = || unsafe { real($($arg),*) };
            let $rc = make();
            $(let $rc = call.again($rc, $room, make);)?
            call.$how($rc, |$after, $ended| $last);
            $rc
        }
    };
}
use entry;
