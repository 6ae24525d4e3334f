//! The linker options that `archive` accepts in addition to its own options, and the effect of each
//! one on the answer. The tables have all ELF options of lld 19, GNU ld 2.40 and mold 1.10, except
//! for `--format`: linkaudit has an option with this name. `link_line` rewrites or removes these
//! options.

use super::LinkerOption;

/// An option that names directories in which GNU ld searches for libraries that shared objects
/// need. GNU ld searches the directories in the order of these variants.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum NeededSearch {
    /// `-rpath-link`
    Link,
    /// `-rpath`
    Run,
}

/// The effect of an option on the answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Effect {
    /// No effect: the extracted members and the undefined names stay the same.
    None,
    /// The effect of this option of `archive`.
    Means(&'static str),
    /// Ends the effect of this option of `archive`.
    Ends(&'static str),
    /// Hides symbols of the output. `--gc-sections` may keep fewer sections, and linkers report
    /// references of shared objects to hidden symbols.
    Hides,
    /// `--version-script`: hides symbols, and lld needs a definition of each name in it.
    Versions,
    /// `--undefined-version` if true, else its opposite: lld then needs no definition of the names
    /// in version scripts.
    UndefinedVersions(bool),
    /// Changes the sections that `--gc-sections` keeps.
    Keeps,
    /// `-z`: [`Effect::with`] decides by the value.
    Keyword,
    /// `-R`: like `-rpath` if the value is a directory.
    Directory,
    /// `-rpath-link` and `-rpath`: directories in which GNU ld searches for libraries that shared
    /// objects need.
    Search(NeededSearch),
    /// `--sysroot`: no effect for `/`.
    Sysroot,
    /// `--unresolved-symbols`: [`Effect::with`] decides by the value.
    Unresolved,
    /// `--rsp-quoting`: no effect for `posix`.
    Quoting,
    /// `-m`: linkers refuse objects for another machine.
    Emulation,
    /// `--relax` and `--no-relax`: without relaxation, mold keeps calls that find thread-local data.
    Relaxes(bool),
    /// `--dependent-libraries` and its opposite: lld adds the libraries that objects ask for.
    Dependents(bool),
    /// Makes undefined symbols warnings.
    Warns,
    /// Makes undefined symbols errors.
    Errors,
    /// An effect that `archive` does not follow: the reason and the next step.
    Refused(&'static str),
}

/// Options without effect whose value, if any, follows `=` in the same word.
const FLAGS: &str = "EB EL M Qy S V X accept-unknown-input-arch allow-multiple-definition \
    android-memtag-heap android-memtag-stack apply-dynamic-relocs be8 Bgroup Bno-symbolic \
    Bsymbolic Bsymbolic-functions Bsymbolic-non-weak Bsymbolic-non-weak-functions build-id \
    call-graph-profile-sort check-sections cmse-implib color-diagnostics cref ctf-share-types \
    ctf-variables d dc debug-names default-imported-symver default-symver demangle \
    disable-multiple-abs-defs disable-new-dtags discard-all discard-locals \
    discard-none dp eh-frame-hdr embedded-relocs emit-relocs enable-new-dtags \
    enable-non-contiguous-regions enable-non-contiguous-regions-warnings execute-only \
    fat-lto-objects fatal-warnings fix-cortex-a53-843419 fix-cortex-a8 flto flto-partition \
    force-exe-suffix force-group-allocation fork fuse-ld g gdb-index gnu-unique \
    ignore-data-address-equality ignore-function-address-equality ld-generated-unwind-info \
    map-whole-files merge-exidx-entries mmap-output-file no-accept-unknown-input-arch \
    no-add-needed no-allow-multiple-definition no-apply-dynamic-relocs no-build-id \
    no-call-graph-profile-sort no-check-sections no-color-diagnostics no-copy-dt-needed-entries \
    no-ctf-variables no-debug-names no-demangle no-dynamic-linker \
    no-eh-frame-hdr no-execute-only no-fat-lto-objects no-fatal-warnings no-fork no-fortran-common \
    no-gdb-index no-gnu-unique no-icf no-keep-memory no-ld-generated-unwind-info no-map-whole-files \
    no-merge-exidx-entries no-mmap-output-file no-nmagic no-omagic no-optimize-bb-jumps \
    no-pcrel-optimize no-power10-stubs no-print-gc-sections no-print-icf-sections \
    no-print-map-discarded no-quick-exit no-relax-gp no-rosegment no-strip-discarded \
    no-threads no-toc-optimize no-undefined no-use-android-relr-tags \
    no-warn-backrefs no-warn-common no-warn-execstack no-warn-ifunc-textrel no-warn-mismatch \
    no-warn-rwx-segments no-warn-search-mismatch no-warn-symbol-ordering no-warnings nostdlib \
    optimize-bb-jumps pcrel-optimize perf pic-veneer power10-stubs print-gc-sections \
    print-icf-sections print-map print-map-discarded print-memory-usage qmagic quick-exit \
    reduce-memory-overheads relax-gp repro reverse-sections rosegment s save-temps \
    sort-common split-by-file split-by-reloc stats strip-all strip-debug strip-discarded t \
    target1-abs target1-rel time-trace toc-optimize trace traditional-format \
    use-android-relr-tags vs-diagnostics w warn-alternate-em warn-backrefs warn-common \
    warn-constructors warn-execstack warn-ifunc-textrel warn-multiple-gp warn-once \
    warn-rwx-segments warn-section-align warn-shared-textrel warn-symbol-ordering warn-textrel x";

/// Options without effect whose value follows `=` or is the next word.
const VALUES: &str = "android-memtag-mode architecture assert audit auxiliary \
    call-graph-ordering-file compress-debug-sections compress-sections depaudit dependency-file \
    dynamic-linker error-handling-script error-limit filter gpsize hash-size hash-style image-base \
    in-implib keep-unique load-pass-plugin Map max-cache-size mllvm oformat opt-remarks-filename \
    opt-remarks-format opt-remarks-hotness-threshold opt-remarks-passes orphan-handling out-implib \
    pack-dyn-relocs plugin plugin-opt print-archive-stats print-symbol-order reproduce \
    section-start soname sort-section spare-dynamic-tags split-stack-adjust-size \
    symbol-ordering-file target2 Tbss Tdata Tldata-segment Trodata-segment Ttext Ttext-segment \
    thread-count time-trace-granularity trace-symbol version-exports-section warn-backrefs-exclude";

/// Options without effect whose value follows `=`. The named linker also accepts the value as the
/// next word.
const VALUES_OF: &[(&str, LinkerOption)] = &[
    ("icf", LinkerOption::Mold),
    ("package-metadata", LinkerOption::Mold),
    ("shuffle-sections", LinkerOption::Lld),
    ("threads", LinkerOption::Lld),
    ("unique", LinkerOption::Mold),
];

/// Prefixes of LTO options, which have no effect. The first two match only after two dashes,
/// because `-lto-x` means `-l to-x`.
const LTO: &[&str] = &["lto-", "lto=", "no-lto-", "opt-remarks-with-hotness", "thinlto-"];

/// Options that `archive` and linkers share and that take no value.
const OWN_FLAGS: &str = "allow-shlib-undefined as-needed Bdynamic Bstatic end-group end-lib \
    export-dynamic gc-sections no-as-needed no-whole-archive pie pop-state push-state shared \
    start-group start-lib whole-archive";

/// Options that `archive` and linkers share and that take a value.
const OWN_VALUES: &str = "defsym entry library library-path undefined why-extract wrap";

/// Other options: the name, true if the value may be the next word, and the effect.
const OTHERS: &[(&str, bool, Effect)] = &[
    ("(", false, Effect::Means("start-group")),
    (")", false, Effect::Means("end-group")),
    ("Bshareable", false, Effect::Means("shared")),
    ("E", false, Effect::Means("export-dynamic")),
    ("N", false, Effect::Means("Bstatic")),
    ("call_shared", false, Effect::Means("Bdynamic")),
    ("dn", false, Effect::Means("Bstatic")),
    ("dy", false, Effect::Means("Bdynamic")),
    ("n", false, Effect::Means("Bstatic")),
    ("nmagic", false, Effect::Means("Bstatic")),
    ("non_shared", false, Effect::Means("Bstatic")),
    ("omagic", false, Effect::Means("Bstatic")),
    ("pic-executable", false, Effect::Means("pie")),
    ("require-defined", true, Effect::Means("root-symbol")),
    ("static", false, Effect::Means("Bstatic")),
    ("no-allow-shlib-undefined", false, Effect::Ends("allow-shlib-undefined")),
    ("no-export-dynamic", false, Effect::Ends("export-dynamic")),
    ("no-gc-sections", false, Effect::Ends("gc-sections")),
    ("no-pic-executable", false, Effect::Ends("pie")),
    ("no-pie", false, Effect::Ends("pie")),
    ("exclude-libs", true, Effect::Hides),
    ("retain-symbols-file", true, Effect::Hides),
    ("undefined-version", false, Effect::UndefinedVersions(true)),
    ("no-undefined-version", false, Effect::UndefinedVersions(false)),
    ("version-script", true, Effect::Versions),
    ("dynamic-list", true, Effect::Keeps),
    ("dynamic-list-cpp-new", false, Effect::Keeps),
    ("dynamic-list-cpp-typeinfo", false, Effect::Keeps),
    ("dynamic-list-data", false, Effect::Keeps),
    ("export-dynamic-symbol", true, Effect::Keeps),
    ("export-dynamic-symbol-list", true, Effect::Keeps),
    ("fini", true, Effect::Keeps),
    ("gc-keep-exported", false, Effect::Keeps),
    ("init", true, Effect::Keeps),
    ("rpath", true, Effect::Search(NeededSearch::Run)),
    ("rpath-link", true, Effect::Search(NeededSearch::Link)),
    ("sysroot", true, Effect::Sysroot),
    ("unresolved-symbols", true, Effect::Unresolved),
    ("rsp-quoting", true, Effect::Quoting),
    ("dependent-libraries", false, Effect::Dependents(true)),
    ("no-dependent-libraries", false, Effect::Dependents(false)),
    ("no-relax", false, Effect::Relaxes(false)),
    ("relax", false, Effect::Relaxes(true)),
    ("warn-unresolved-symbols", false, Effect::Warns),
    ("error-unresolved-symbols", false, Effect::Errors),
    ("add-needed", false, Effect::Refused(NEEDED)),
    ("chroot", true, Effect::Refused(ELSEWHERE)),
    ("copy-dt-needed-entries", false, Effect::Refused(NEEDED)),
    ("default-script", true, Effect::Refused(SCRIPT)),
    ("directory", true, Effect::Refused(ELSEWHERE)),
    ("dT", true, Effect::Refused(SCRIPT)),
    ("fortran-common", false, Effect::Refused(COMMON)),
    ("i", false, Effect::Refused(RELOCATABLE)),
    ("ignore-unresolved-symbol", true, Effect::Refused(REPORTED)),
    ("just-symbols", true, Effect::Refused(SYMBOLS)),
    ("mri-script", true, Effect::Refused(SCRIPT)),
    ("no-define-common", false, Effect::Refused(COMMON)),
    ("noinhibit-exec", false, Effect::Refused(REPORTED)),
    ("r", false, Effect::Refused(RELOCATABLE)),
    ("relocatable", false, Effect::Refused(RELOCATABLE)),
    ("remap-inputs", true, Effect::Refused(REMAPPED)),
    ("remap-inputs-file", true, Effect::Refused(REMAPPED)),
    ("script", true, Effect::Refused(SCRIPT)),
    ("task-link", true, Effect::Refused(RELOCATABLE)),
    ("undefined-glob", true, Effect::Refused(GLOB)),
    ("Ur", false, Effect::Refused(RELOCATABLE)),
];

/// Options of one letter whose value follows in the same word or is the next word.
const LETTERS: &[(char, Effect)] = &[
    ('F', Effect::None),
    ('G', Effect::None),
    ('I', Effect::None),
    ('O', Effect::None),
    ('P', Effect::None),
    ('f', Effect::None),
    ('y', Effect::None),
    ('m', Effect::Emulation),
    ('R', Effect::Directory),
    ('z', Effect::Keyword),
    ('C', Effect::Refused(ELSEWHERE)),
    ('T', Effect::Refused(SCRIPT)),
    ('Y', Effect::Refused(DIRECTORIES)),
    ('b', Effect::Refused(FORMAT)),
    ('c', Effect::Refused(SCRIPT)),
];

/// Options without effect whose names are also options of linkaudit. They count in the commands of
/// compilers.
const SHARED_FLAGS: &[&str] = &["-q", "-v", "--verbose", "-verbose"];

/// Options whose value is in the same word or the next one, and whose names are also options of
/// linkaudit.
const SHARED_VALUES: &[(&str, Effect)] = &[
    ("--format", Effect::Refused(FORMAT)),
    ("-format", Effect::Refused(FORMAT)),
    ("--output", Effect::None),
    ("-A", Effect::None),
    ("-h", Effect::None),
    ("-j", Effect::None),
    ("-o", Effect::None),
];

/// Beginnings of the options of linkers that linkaudit has with the same effect.
const SHARED: &[&str] = &["-L", "-e", "-l", "-u"];

const UNKNOWN: &str = "this option of the linker is not known\nhelp: leave it out";
const COMMON: &str = "this treatment of common symbols is not followed\nhelp: leave it out";
const DIRECTORIES: &str = "these directories are not searched\nhelp: name them with -L DIR";
pub(super) const ELSEWHERE: &str =
    "the linker reads its files below another directory\nhelp: start linkaudit there";
const FORMAT: &str = "the format of the next inputs is not followed\nhelp: name ELF files";
const GLOB: &str =
    "patterns of undefined symbols are not followed\nhelp: name each symbol with -u NAME";
const NEEDED: &str = "libraries that inputs need define no names here\n\
    help: leave it out, and name these libraries";
const RELOCATABLE: &str =
    "the output is an object, whose symbols may stay undefined\nhelp: leave it out";
const REMAPPED: &str = "other inputs replace these\nhelp: name the files that the linker reads";
const QUOTING: &str =
    "other rules of quoting are not followed\nhelp: quote the words as in a shell";
pub(super) const REPORTED: &str = "undefined symbols are always reported\nhelp: leave it out";
const SCRIPT: &str = "this linker script is not read\n\
    help: leave it out, and define its symbols with --defsym NAME=0";
pub(super) const SYMBOLS: &str = "the symbols of this file are not read\n\
    help: leave it out, and define its symbols with --defsym NAME=0";
const SYSROOT: &str = "a sysroot changes where the linker finds files\nhelp: use --root DIR";

/// A word of the command line that is a linker option.
#[derive(Debug)]
pub(super) struct LinkerWord<'t> {
    /// The value in the same word; `None` if there is none.
    pub(super) attached: Option<&'t str>,
    /// True if the next word is the value.
    pub(super) takes_next: bool,
    pub(super) effect: Effect,
}

impl<'t> LinkerWord<'t> {
    /// Finds the linker option in a word; `None` for other words. Linkers accept a long option
    /// after one dash, unless its name begins with `o`: `-omagic` is `-o magic`. A long option of
    /// the tables takes precedence over an option of one letter, as in `getopt_long_only`:
    /// `-export-dynamic` is not `-e xport-dynamic`.
    pub(super) fn find(text: &'t str, linker: LinkerOption) -> Option<Self> {
        let (body, has_two) = match text.strip_prefix("--") {
            Some(body) => (body, true),
            None => (text.strip_prefix('-')?, false),
        };
        let (name, value) = body.split_once('=').map_or((body, None), |(n, v)| (n, Some(v)));
        let may_be_long = has_two || !name.starts_with('o');
        let long = may_be_long.then(|| named(name, (body, has_two), linker)).flatten();
        if let Some((has_value, effect)) = long {
            let takes_next = has_value && value.is_none();
            return Some(Self { attached: value, takes_next, effect });
        }
        let letter = body.chars().next().filter(|_| !has_two)?;
        let rest = body.get(letter.len_utf8()..).filter(|rest| !rest.is_empty());
        let (_, effect) = LETTERS.iter().find(|(known, _)| *known == letter)?;
        Some(Self { attached: rest, takes_next: rest.is_none(), effect: *effect })
    }

    /// Finds the option in a word that a compiler passes to the linker, after [`Self::find`] found
    /// none: linkaudit has options with the same names and other effects.
    pub(super) fn of_compiler(text: &'t str) -> Option<Self> {
        let is_shared = SHARED.iter().any(|begin| text.starts_with(begin));
        if !text.starts_with('-') || text.len() == 1 || is_shared {
            return None;
        }
        if SHARED_FLAGS.contains(&text) {
            return Some(Self { attached: None, takes_next: false, effect: Effect::None });
        }
        let mut of_value = SHARED_VALUES.iter().filter_map(|(name, effect)| {
            let rest = text.strip_prefix(name)?;
            let value = if name.len() > 2 { rest.strip_prefix('=') } else { Some(rest) };
            let attached = value.filter(|value| !value.is_empty());
            (rest.is_empty() || attached.is_some()).then_some((attached, *effect))
        });
        let unknown = (Some(text), Effect::Refused(UNKNOWN));
        let (attached, effect) = of_value.next().unwrap_or(unknown);
        Some(Self { attached, takes_next: attached.is_none(), effect })
    }
}

/// Looks up a long option by its name. Returns the effect of the option, and true if its value may
/// be the next word; `None` for an unknown option. `body` is the word without its dashes. `has_two`
/// is true if the word had two dashes.
fn named(
    name: &str,
    (body, has_two): (&str, bool),
    linker: LinkerOption,
) -> Option<(bool, Effect)> {
    let of = |list: &'static str| list.split_ascii_whitespace().find(|known| *known == name);
    if let Some((_, has_value, effect)) = OTHERS.iter().find(|(known, ..)| *known == name) {
        return Some((*has_value, *effect));
    }
    if let Some(own) = of(OWN_FLAGS) {
        return Some((false, Effect::Means(own)));
    }
    if let Some(own) = of(OWN_VALUES) {
        return Some((true, Effect::Means(own)));
    }
    if let Some((_, of)) = VALUES_OF.iter().find(|(known, _)| *known == name) {
        return Some((*of == linker, Effect::None));
    }
    let of_lto = |start: &&str| body.starts_with(*start) && (has_two || !start.starts_with('l'));
    if of(FLAGS).is_some() || LTO.iter().any(of_lto) {
        return Some((false, Effect::None));
    }
    of(VALUES).map(|_| (true, Effect::None))
}

impl Effect {
    /// The effect of an option with this value. The result is never `Keyword`, `Sysroot`,
    /// `Unresolved` or `Quoting`.
    pub(super) fn with(self, value: &str) -> Self {
        match (self, value) {
            (Self::Keyword, "undefs" | "nodefs") => Self::Refused(REPORTED),
            (Self::Keyword, "start-stop-gc" | "nostart-stop-gc") => Self::Keeps,
            (Self::Sysroot, "" | "/") | (Self::Quoting, "posix") => Self::None,
            (Self::Quoting, _) => Self::Refused(QUOTING),
            (Self::Sysroot, _) => Self::Refused(SYSROOT),
            (Self::Unresolved, "ignore-in-shared-libs") => Self::Means("allow-shlib-undefined"),
            (Self::Unresolved, "report-all") => Self::Ends("allow-shlib-undefined"),
            (Self::Unresolved, _) => Self::Refused(REPORTED),
            (Self::Keyword, _) => Self::None,
            (effect, _) => effect,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{FLAGS, LETTERS, OTHERS, VALUES, VALUES_OF};
    use crate::cli::Cli;
    use clap::CommandFactory as _;

    /// Linker options do not have the names of linkaudit's options.
    #[test]
    fn no_option_of_linkaudit_is_replaced() {
        let command = Cli::command();
        let archive = command.find_subcommand("archive").expect("a command");
        for option in archive.get_opts().chain(command.get_opts()) {
            let is_known = |name: &str| {
                let lists = FLAGS.split_whitespace().chain(VALUES.split_whitespace());
                let others = OTHERS.iter().map(|(known, ..)| *known);
                let others = others.chain(VALUES_OF.iter().map(|(known, _)| *known));
                lists.chain(others).any(|known| known == name)
            };
            assert!(option.get_long().is_none_or(|name| !is_known(name)), "{option}");
            let letter = option.get_short();
            let is_letter = letter.is_some_and(|of| LETTERS.iter().any(|(known, _)| *known == of));
            let is_flag = letter.is_some_and(|of| is_known(&of.to_string()));
            assert!(!is_letter && !is_flag, "{option}");
        }
    }
}
