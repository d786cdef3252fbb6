//! The exported C symbols. An entry finds the real function, lets the feature have its say before
//! and after, and changes nothing else.
//!
//! All are `extern "C-unwind"`: a thread of the program may be cancelled while the real call blocks,
//! and that forced unwind passes through here. No entry holds a lock or a destructor meanwhile.

mod api;
mod descriptors;
mod rdmacm_connection;
mod rdmacm_setup;
mod verbs;

/// Defines one entry: an exported function with the name of a real one.
///
/// The short form says what features do around the real call: `@before`, with the shim and if need be the call;
/// `@again`, whether a call that failed with this errno is worth a second try; then one of the ends of `Call`.
/// The long form has a body that gets the call and the real function and has to give `Finished`, which only an end of the call
/// makes.
macro_rules! entry {
    (
        fn $name:ident($($arg:ident: $ty:ty),* $(,)?) $(-> $ret:ty)?, missing $failure:expr;
        $(@before |$before:ident $(, $of:ident)?| $first:expr;)?
        $(@again $room:path;)?
        $how:ident |$after:ident, $ended:ident, $rc:ident| $last:expr;
    ) => {
        entry! {
            fn $name($($arg: $ty),*) $(-> $ret)?, missing $failure;
            |call, real| {
                $(call.before(|$before| {
                    $(let $of = &call;)?
                    $first
                });)?
                // SAFETY: the program's own arguments, unchanged.
                let make = || unsafe { real($($arg),*) };
                let $rc = make();
                $(let $rc = call.retry_if($rc, $room, make);)?
                call.$how($rc, |$after, $ended| $last)
            }
        }
    };
    (
        $(#[$doc:meta])*
        fn $name:ident($($arg:ident: $ty:ty),* $(,)?) $(-> $ret:ty)?, missing $failure:expr;
        |$call:ident, $real:ident| $body:block
    ) => {
        $(#[$doc])*
        ///
        /// # Safety
        /// As the function of this name in the real library.
        #[cfg_attr(not(test), no_mangle)]
        pub unsafe extern "C-unwind" fn $name($($arg: $ty),*) $(-> $ret)? {
            let Some($real) = $crate::real::$name() else {
                return $crate::call::missing(stringify!($name), $failure);
            };
            let id = $crate::stats::first_id(&[$($crate::stats::id_of(&$arg)),*]);
            // SAFETY: the program's own id, if there is one.
            #[allow(unused_mut)]
            let mut $call = unsafe { $crate::call::enter($crate::stats::Entry::$name, id) };
            #[allow(clippy::redundant_closure_call)] // so that the body may return early
            (move || -> $crate::call::Finished<_> { $body })().value()
        }
    };
}
use entry;
