//! Reports: the findings of a run, rendered by format. An output is one file and one row in
//! [`OUTPUTS`]. It renders [`model`] and computes nothing, opens no file, and writes only to the
//! given writer.

mod entry;
mod human;
pub mod json;
mod layers;
pub(crate) mod layout;
mod ldd;
mod ldd_musl;
pub mod model;
mod platforms;
pub mod remedy;
mod style;
mod summary;
mod table;
mod waived;

pub(crate) use human::steps;
pub use model::Report;
pub use style::Style;
pub(crate) use summary::incomplete;

use crate::audit::Audit;
use model::{Facts, Parts};
use std::io::{self, Write};

/// A format, as options name it.
pub trait Named {
    /// Its name on the command line.
    fn name(&self) -> &'static str;
}

impl Named for Output {
    fn name(&self) -> &'static str {
        self.name
    }
}

/// One format.
pub struct Output {
    /// Its name on the command line.
    pub name: &'static str,
    /// It is read by people, and ends with what a baseline and waivers came to.
    pub for_people: bool,
    /// The data that it renders.
    pub made_of: MadeOf,
}

/// The data that an output renders.
pub enum MadeOf {
    /// The model.
    Report {
        /// The parts that it renders besides the findings.
        parts: fn(Style) -> Parts,
        /// Writes it. The facts are present with `--facts`.
        render: RenderReport,
    },
    /// The link maps of an audit in which every file is an entry point. They hold the loader's
    /// answers instead of findings.
    LinkMaps(fn(&Audit, &mut dyn Write) -> io::Result<()>),
}

/// Writes a report.
pub type RenderReport = fn(&Report, Option<&dyn Facts>, Style, &mut dyn Write) -> io::Result<()>;

impl Output {
    /// True if every file is an entry point of its own in this format.
    pub fn is_of_link_maps(&self) -> bool {
        matches!(self.made_of, MadeOf::LinkMaps(_))
    }

    /// The parts that it renders besides the findings.
    pub fn parts(&self, style: Style) -> Parts {
        match self.made_of {
            MadeOf::Report { parts, .. } => parts(style),
            MadeOf::LinkMaps(_) => Parts::default(),
        }
    }
}

/// All formats.
pub const OUTPUTS: &[Output] = &[
    Output {
        name: "human",
        for_people: true,
        made_of: MadeOf::Report {
            parts: |style| Parts { files: false, archives: style.verbose },
            render: human::render,
        },
    },
    Output {
        name: "table",
        for_people: true,
        made_of: MadeOf::Report {
            parts: |style| Parts { files: false, archives: style.verbose },
            render: table::render,
        },
    },
    Output {
        name: "json",
        for_people: false,
        made_of: MadeOf::Report {
            parts: |_| Parts { files: true, archives: true },
            render: json::render,
        },
    },
    Output { name: "ldd", for_people: false, made_of: MadeOf::LinkMaps(ldd::render) },
];
