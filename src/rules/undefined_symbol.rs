//! `undefined-symbol`: a reference to a symbol that no object of the process defines.

use super::near::NearMiss;
use super::words::typeable;
use super::{Query, Rule};
use crate::catalogue::SYMBOL;
use crate::finding::{CauseHint, Evidence, EvidenceKind, Findings, When};
use crate::text::show;
use crate::wants::Wants;
use rayon::prelude::*;

pub(super) static RULE: Rule = Rule::new(
    "undefined-symbol",
    SYMBOL,
    "a relocation needs a symbol that no loaded object defines",
    DOCS,
    check,
)
.keys(&["symbol", "version", "library"])
.of_all_loaded()
.wants(Wants::INSTALLED);

const DOCS: &str = "\
## What it does

Looks up every symbol of every relocation, in the scope and with the version rules of the loader. Reports
strong references that no object defines, and whether the lookup fails when the program is loaded or when
the function is first called.

## Why it matters

The program ends with `symbol lookup error: …: undefined symbol: …`, at the start or at the first call of
the function. Linkers accept undefined symbols in shared libraries unless `-z defs` is given.

## Example

```text
error[undefined-symbol] lib/libMIOpen.so.1.0: 5 undefined symbols
  at call    LLVMInitializeX86Target
  searched   12 files: libMIOpen.so.1.0, libamdhip64.so.6, librocblas.so.4, libm.so.6 and 8 more
```

## How to fix

- Link the object against the library that defines the symbol, or merge the archive that does. With
  `--lib-path DIR` the report names candidates. `linkaudit fix` repairs the list of a merged archive.
- A `near miss` is a similar definition in a searched file: the same name with another version, `[abi:…]`
  tag or parameter list, or another member of the class or namespace. The object was built for another
  release of that library: rebuild one of the two.
- A program may have a copy of a variable of a library (R_*_COPY). If a new release of the library lacks the variable,
  the program finds no definition: install the release that has it, or rebuild the program.
- An `installed` file is a system library that defines the symbol. It lies in a default directory of the loader, or
  `ld.so.cache` lists it. The report also names its Debian package. The process does not load this library: link the
  object with it.
- If a program provides the symbol to its plugins, name it with `--host` or in a `[[host]]` entry of a
  policy.
- If the referring code is not needed (for example, code for other processors), build without it. `used by` names the
  archive members that refer to the symbol. It names a member in three cases: the object exports a symbol that the
  member defines, a policy names the archive, or the archive is merged from others.

## Limits

Plugins: symbols of the host program are known only with `--host`. Otherwise the `[[host]]` entries of the policy
recognise plugins by path or by an exported symbol. References of these plugins to the symbols of their programs count
as assumed. The same holds for libraries of the prefix that only plugins load. A reference with a version is never
assumed, because the version belongs to a known library. For other plugins, linkaudit infers the audited program or
library that defines all their undefined symbols; `--no-inferred-hosts` reports these symbols instead. The summary names
all such programs. An inferred plugin may use symbols of other plugins of the same program. An undefined symbol that
only a plugin of another program defines is reported.

Missing libraries: a missing library explains a reference if one of its candidates, or a library that the candidate
needs, defines the symbol. Without a candidate, it explains all other undefined references of the objects that load it.
It does not explain symbols that a static archive defines or that a policy assigns to an archive.

linkaudit searches the libraries of the system only for symbols without a version. It does not search them if an
audited file or a file of `--lib-path` defines the symbol, or if a policy assigns it to an archive. Under a whitelist,
it never searches them. The report names a program of the system if it defines all of these symbols of an object: the
program may load the object as a plugin. These files are evidence only: they change neither the findings nor their
fingerprints.

Symbols that a program looks up with dlsym are not checked. Weak references may stay undefined.
";

fn check(query: &Query<'_>) -> Findings {
    let undefined = &query.undefined();
    let near = query.near_misses();
    undefined
        .par_iter()
        .map(|undefined| {
            let when = if undefined.at_load { When::Load } else { When::Call };
            let symbol = show(&undefined.symbol);
            let version = undefined.version.as_deref().map(show);
            let named = match &version {
                Some(version) => format!("{symbol}, version {version}"),
                None => symbol.clone(),
            };
            let fails = match when {
                When::Load => "fails at load",
                When::Call => "fails at the first call",
            };
            let message = format!("undefined symbol: {named} ({fails})");
            let mut finding = query.about(RULE.id, undefined.file, message);
            finding.cause = Some(CauseHint::UndefinedIn);
            finding.symbol = Some(undefined.symbol.clone());
            finding.version.clone_from(&undefined.version);
            finding.library.clone_from(&undefined.library);
            finding.root = query.first_root(&undefined.roots);
            finding.when = Some(when);
            finding.evidence.extend(query.roots(&undefined.roots, Some(undefined.site)));
            if let Some(library) = &undefined.library {
                finding.evidence.push(Evidence {
                    name: Some(library.clone()),
                    ..Evidence::new(EvidenceKind::Provider)
                });
            }
            finding.evidence.extend(query.traced(undefined.file, &undefined.symbol));
            let mut candidates = query.symbol_candidates(&undefined.symbol, undefined.file);
            query.unlisted(undefined.file, &undefined.symbol, &mut candidates);
            let root = undefined.roots.first();
            let near = root
                .map(|root| near.of(undefined.file, &undefined.symbol, *root))
                .unwrap_or_default();
            let near: Vec<Evidence> = near.into_iter().map(|miss| near_miss(query, miss)).collect();
            // The lookup rejected each near miss, so the same definition cannot also be a
            // candidate.
            let is_searched = |candidate: &Evidence| {
                near.iter()
                    .any(|near| near.path == candidate.path && near.symbol == candidate.symbol)
            };
            candidates.retain(|candidate| !is_searched(candidate));
            if let Some(root) = undefined.roots.first() {
                query.mark_shadowed(&mut candidates, *root);
            }
            let is_open = candidates.is_empty() && undefined.version.is_none();
            finding.evidence.extend(candidates);
            finding.evidence.extend(near);
            if let Some(root) = root.filter(|_| is_open) {
                let (file, symbol) = (undefined.file, &undefined.symbol);
                finding.evidence.extend(query.installed_definers(file, symbol, *root));
            }
            // Saves memory, because a run may have a hundred thousand findings.
            finding.evidence.shrink_to_fit();
            let words = query.quoted(undefined.file).zip(typeable(&undefined.symbol));
            finding.witness =
                words.map(|(file, name)| format!("readelf -W --dyn-syms {file} | grep -w {name}"));
            finding
        })
        .collect()
}

fn near_miss(query: &Query<'_>, miss: NearMiss<'_>) -> Evidence {
    Evidence {
        symbol: Some(miss.symbol.to_vec()),
        version: miss.version.map(<[u8]>::to_vec),
        reason: Some(miss.reason.to_owned()),
        minor: miss.is_minor,
        ..Evidence::at(EvidenceKind::NearMiss, query.shared_path(miss.file))
    }
}
