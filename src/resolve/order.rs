//! The order of relocation: a topological sort, dependencies first (`elf/dl-sort-maps.c`). The
//! loader reports undefined symbols in this order. The order also decides which definition of a
//! unique symbol (STB_GNU_UNIQUE) comes first.

use super::{LinkMap, ROOT};
use crate::format::elf::GlibcVersion;
use crate::id::{Id as _, ModuleId};

/// The first glibc release in which the entry point always comes last (1e903124ce).
const ROOT_LAST: GlibcVersion = GlibcVersion::new(2, 37);

/// Modules in relocation order, without the modules of the host program.
pub(super) fn relocation_order(links: &LinkMap, release: GlibcVersion) -> Vec<ModuleId> {
    let mut seen = vec![false; links.module_count()];
    // The host program's objects are already relocated, and do not depend on new objects.
    seen[..links.base_count()].fill(true);
    let mut order = Vec::with_capacity(links.scope.len());
    let mut stack = Vec::new();
    for start in links.scope.iter().rev() {
        visit(links, *start, &mut seen, &mut stack, &mut order);
    }
    if release >= ROOT_LAST
        && let Some(place) = order.iter().position(|module| *module == links.start)
    {
        order.remove(place);
        order.push(links.start);
    }
    order
}

/// Depth-first search with an explicit stack, so that a chain of thousands of libraries does not
/// overflow the call stack.
fn visit(
    links: &LinkMap,
    start: ModuleId,
    seen: &mut [bool],
    stack: &mut Vec<(ModuleId, usize)>,
    order: &mut Vec<ModuleId>,
) {
    if std::mem::replace(&mut seen[start.index()], true) {
        return;
    }
    stack.push((start, 0));
    while let Some((module, next)) = stack.last_mut() {
        // When the loader sorts, it has not yet recorded the dependencies of the entry point.
        let needs = if *module == links.start { &[] } else { links.needs(*module) };
        let dep = needs.get(*next).map(|edge| edge.to);
        if let Some(dep) = dep {
            *next += 1;
            let skip = dep == ROOT || links.module(dep).is_stub();
            if !skip && !std::mem::replace(&mut seen[dep.index()], true) {
                stack.push((dep, 0));
            }
        } else {
            order.push(*module);
            stack.pop();
        }
    }
}
