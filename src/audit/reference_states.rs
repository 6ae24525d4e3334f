//! The state of each undefined reference under each entry point. A reference has one of three
//! states. A finding reports it as undefined, a missing library explains it, or a host program or
//! system library is assumed to define it. The diagnosis summarises the states per object; a view
//! about one symbol needs them per entry point.

use super::binding::BoundClosures;
use super::{Audit, source};
use crate::diagnosis::{self, Claims, Explanations, HostLibraries, ReferenceUnderRoot, Undefined};
use crate::plan::Plan;

impl Audit {
    /// The states of all undefined references under all entry points, in the order of the entry
    /// points.
    pub fn reference_states(&self, plan: &Plan) -> Vec<ReferenceUnderRoot> {
        let Self { resolver, closures, bindings, providers, libraries, inferred, .. } = self;
        let bound = BoundClosures { resolver, closures, bindings };
        let source = source(plan, &self.prefixes, self.view(), bound);
        let claims = Claims { providers, policy: &plan.policy };
        let host_libraries = HostLibraries::find(source);
        let explanations =
            Explanations { claims, libraries, inferred, host_libraries: &host_libraries };
        diagnosis::reference_states(source, &Undefined::find(source), explanations)
    }
}
