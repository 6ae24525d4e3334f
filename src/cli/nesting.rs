//! The modes of a link line, such as `--as-needed`, and its open groups. Refuses options where the
//! linker would refuse them. `cli::archive` calls this module.

use super::ArchiveOptions;
use super::link_line::Typed;
use crate::cover;
use crate::views::archive::PositionalOption;
use anyhow::{Context as _, Result, bail};

/// Maximum nesting depth of groups.
const DEEPEST: usize = 64;

/// The options that `--push-state` saves.
#[derive(Clone, Copy, Default)]
pub(super) struct Modes {
    whole: bool,
    pub(super) as_needed: bool,
    pub(super) is_static: bool,
    /// The link refuses all shared objects, also after `-Bdynamic`.
    refuses_shared: bool,
}

impl Modes {
    /// The positional options that set this state.
    fn options(self) -> Vec<PositionalOption> {
        let of = |is_set: bool, set: PositionalOption, unset: PositionalOption| {
            if is_set { set } else { unset }
        };
        vec![
            of(self.whole, PositionalOption::WholeArchive, PositionalOption::NoWholeArchive),
            of(self.as_needed, PositionalOption::AsNeeded, PositionalOption::NoAsNeeded),
            of(
                self.is_static || self.refuses_shared,
                PositionalOption::Static,
                PositionalOption::Dynamic,
            ),
        ]
    }
}

/// The open groups and `--start-lib` options at a position of the link line, and the modes for the
/// next inputs.
#[derive(Default)]
pub(super) struct Nesting {
    pub(super) groups: usize,
    in_lib: bool,
    pub(super) modes: Modes,
    saved: Vec<Modes>,
}

impl Nesting {
    /// The state before the first input. mold 1.10 starts with the last `-Bstatic` or `-Bdynamic`.
    /// With `-Bstatic` before the first file, GNU ld makes a program without shared objects.
    pub(super) fn new(options: &ArchiveOptions, linker: cover::Linker) -> Self {
        let is_static = |typed: &Typed| match typed {
            Typed::Static(is_static) => Some(*is_static),
            _ => None,
        };
        let last = options.typed.iter().rev().find_map(is_static);
        let is_static_last = last == Some(true);
        let is_file =
            |typed: &&Typed| matches!(typed, Typed::File(_) | Typed::Order(_) | Typed::Library(_));
        let mut first = options.typed.iter().take_while(|typed| !is_file(typed));
        let is_static_first = first.any(|typed| is_static(typed) == Some(true));
        let modes = Modes {
            is_static: is_static_last && linker == cover::Linker::Mold,
            refuses_shared: is_static_first && linker == cover::Linker::Gnu && !options.shared,
            ..Modes::default()
        };
        Self { modes, ..Self::default() }
    }

    /// Applies one option. Fails if the linker would refuse the option here: lld allows no nesting,
    /// GNU ld allows groups in groups, and mold ignores groups.
    pub(super) fn enter(
        &mut self,
        position: PositionalOption,
        linker: cover::Linker,
    ) -> Result<()> {
        let is_lld = linker == cover::Linker::Lld;
        let is_mold = linker == cover::Linker::Mold;
        match position {
            PositionalOption::StartGroup if is_lld && (self.groups > 0 || self.in_lib) => {
                bail!("nested --start-group: lld refuses it")
            }
            PositionalOption::StartGroup if self.groups == DEEPEST => {
                bail!("--start-group: more than {DEEPEST} nested groups")
            }
            PositionalOption::StartGroup => self.groups += 1,
            PositionalOption::EndGroup if self.groups == 0 && !is_mold && !self.in_lib => {
                bail!("--end-group without --start-group")
            }
            PositionalOption::EndGroup => self.groups = self.groups.saturating_sub(1),
            PositionalOption::StartLib if is_lld && self.in_lib => {
                bail!("nested --start-lib: lld refuses it")
            }
            PositionalOption::StartLib if is_lld && self.groups > 0 => {
                bail!("--start-lib in --start-group: lld refuses it")
            }
            PositionalOption::StartLib => self.in_lib = true,
            PositionalOption::EndLib if is_lld && !self.in_lib => {
                bail!("--end-lib without --start-lib")
            }
            PositionalOption::EndLib => self.in_lib = false,
            PositionalOption::WholeArchive => self.modes.whole = true,
            PositionalOption::NoWholeArchive => self.modes.whole = false,
            PositionalOption::AsNeeded => self.modes.as_needed = true,
            PositionalOption::NoAsNeeded => self.modes.as_needed = false,
            PositionalOption::Static
            | PositionalOption::Dynamic
            | PositionalOption::Define(_)
            | PositionalOption::Request(_) => {}
        }
        Ok(())
    }

    /// Applies `-Bstatic`, `--push-state` or `--pop-state`. Returns the positional options that set
    /// the new state. In mold 1.10, `--push-state` does not save `-Bstatic`.
    pub(super) fn apply(
        &mut self,
        typed: &Typed,
        linker: cover::Linker,
    ) -> Result<Vec<PositionalOption>> {
        match typed {
            Typed::Static(is_static) => self.modes.is_static = *is_static,
            Typed::PushState => self.saved.push(self.modes),
            Typed::PopState => {
                let saved = self.saved.pop().context("--pop-state without --push-state")?;
                let is_mold = linker == cover::Linker::Mold;
                let is_static = if is_mold { self.modes.is_static } else { saved.is_static };
                self.modes = Modes { is_static, ..saved };
            }
            Typed::File(_) | Typed::Order(_) | Typed::Library(_) | Typed::Position(_) => {}
        }
        Ok(self.modes.options())
    }
}
