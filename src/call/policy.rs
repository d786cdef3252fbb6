//! What the tenant policy says of a call before it is made.

use super::Call;
use crate::process::shim::Shim;
use crate::tenant;

impl Call {
    /// Does the policy keep this call from being made? The errno, if so.
    pub fn ask_policy(&mut self, work: impl FnOnce(&'static Shim) -> Option<i32>) -> Option<i32> {
        self.read_policy();
        if !tenant::on() {
            return None;
        }
        self.delayed = true;
        self.decide(None, work)
    }

    /// Reads the policy, if there is one and no call of the process has done that yet.
    pub fn read_policy(&self) {
        if !tenant::on() && self.shim().is_some_and(tenant::configured) {
            self.before(tenant::begin);
        }
    }
}
