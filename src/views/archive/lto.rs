//! The effect of objects in intermediate language whose symbols are known. Compilers translate them
//! after all symbols are resolved: code generation adds references, and optimisation removes some.

use crate::cover::{Coverage, CoverageQuestion, ReferredBy};
use crate::id::MemberId;

/// The function to which code generation refers most often. A link that lacks it probably lacks the
/// C library and the compiler's runtime.
pub const GENERATED: &[u8] = b"memcpy";

/// The effect of linked objects in intermediate language on an answer.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LtoEffect {
    /// Number of these objects.
    pub(super) objects: usize,
    /// True if the answer may differ from the link: only these objects refer to an undefined name,
    /// or no input of a link in a given order defines [`GENERATED`]. A question about archives alone
    /// is not about the C library.
    pub(super) is_uncertain: bool,
}

impl LtoEffect {
    /// The effect on `coverage`, the answer to `question`. Without a link there is none.
    pub(super) fn new(question: &CoverageQuestion<'_>, coverage: &Coverage) -> Self {
        if question.all_members {
            return Self::default();
        }
        let library = question.library;
        let is_lto = |member: &MemberId| {
            let member = library.member(*member);
            member.kind.is_lto() && !member.is_opaque()
        };
        let members = coverage.order.iter().filter(|member| is_lto(member)).count();
        let objects = members + question.roots.iter().filter(|root| root.lto).count();
        let by_lto = |by: &ReferredBy| match by {
            ReferredBy::Root(at) => question.roots[*at].lto,
            ReferredBy::Member(member) => is_lto(member),
            ReferredBy::Asked | ReferredBy::EntryPoint => false,
        };
        let mut undefined = coverage.undefined.iter();
        let is_uncertain = objects > 0
            && (question.link.is_some() && !defines(question, coverage)
                || undefined.any(|one| one.by.iter().all(by_lto)));
        Self { objects, is_uncertain }
    }
}

/// True if a file that is linked defines [`GENERATED`].
fn defines(question: &CoverageQuestion<'_>, coverage: &Coverage) -> bool {
    let library = question.library;
    let in_root = || {
        let symbols = question.roots.iter().flat_map(|root| &root.symbols);
        symbols.filter(|(_, kind)| kind.is_definition()).any(|(name, _)| **name == *GENERATED)
    };
    let in_member = || {
        let found = library.find(GENERATED).into_iter().flat_map(|name| library.definitions(name));
        found.map(|definition| definition.member).any(|member| coverage.order.contains(&member))
    };
    let in_shared = || question.objects.iter().flatten().any(|o| o.satisfies_link(GENERATED));
    (question.provided)(GENERATED) || in_shared() || in_root() || in_member()
}
