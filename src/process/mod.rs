//! The life of the process, and what stands around our code in it: the first call, fork, exit and the end after a fault (`shim`,
//! `feature`, `per_process`), what a thread is in the middle of (`thread`, `inner`) and how a call ended (`ended`), our own thread
//! (`keeper`), and where lines go (`sink`).

pub mod ended;
pub mod feature;
pub mod inner;
pub mod keeper;
pub mod per_process;
pub mod shim;
pub mod sink;
pub mod thread;
