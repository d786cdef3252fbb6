//! Tables: numbers, their names, and what they mean. No logic beyond look-up.

pub mod async_event;
pub mod errno;
pub mod event;
pub mod qp_state;
pub mod reject;
pub mod wc_status;
