//! Writes the report of a run in several formats. An output is a module and a row in [`OUTPUTS`].
//! The output `ldd` renders link maps, and all others render [`model`]. An output adds no facts,
//! opens no file, and writes only to the given writer.

mod alerts;
mod dot;
mod entry;
pub mod fix_plan;
mod gcc;
mod github;
mod gitlab;
mod human;
pub mod json;
mod junit;
mod layers;
pub(crate) mod layout;
mod ldd;
mod ldd_musl;
pub(crate) mod markdown;
pub mod model;
mod paths;
mod platforms;
mod referring;
pub(crate) mod repair;
mod sarif;
mod style;
mod summary;
mod table;
mod unread;
mod waived;

pub(crate) use dot::quoted;
pub(crate) use human::{render_with, steps};
pub(crate) use layout::count;
pub use model::Report;
pub use paths::Paths;
pub use style::Style;
pub(crate) use summary::{incomplete, is_empty, nothing_audited};

use crate::audit::Audit;
use model::{Parts, StreamedFacts};
use std::io::{self, Write};

/// A format that options select by name.
pub trait NamedFormat {
    /// The name of the format on the command line.
    fn name(&self) -> &'static str;
}

impl NamedFormat for Output {
    fn name(&self) -> &'static str {
        self.name
    }
}

/// One output format of `check`.
pub struct Output {
    /// The name in `--format` and `-o NAME=FILE`, such as `json`.
    pub name: &'static str,
    /// True if people read the output. Its summary then lists the stale lines of the baseline. If
    /// false, a message on stderr lists them.
    pub for_people: bool,
    /// The data that the output renders, and the function that renders it.
    pub made_of: MadeOf,
}

/// The data that an output renders, and the function that renders it.
pub enum MadeOf {
    /// The output renders the report model.
    Report {
        /// Returns the parts that the output renders in addition to the findings.
        parts: fn(Style) -> Parts,
        /// Writes the report. `Rendering::facts` is `Some` with `--facts`.
        render: RenderReport,
    },
    /// The function writes the link maps of an audit in which every file is an entry point. It does
    /// not write findings.
    LinkMaps(fn(&Audit, &mut dyn Write) -> io::Result<()>),
}

/// A function that writes a report in one format.
pub type RenderReport = fn(&Report, &Rendering<'_>, &mut dyn Write) -> io::Result<()>;

/// The settings with which an output is written, and the data that it streams.
#[derive(Clone, Copy)]
pub struct Rendering<'a> {
    /// Style of human-readable output: colours, line width and level of detail.
    pub style: Style,
    /// Translates paths of the audited system to paths that other programs can open.
    pub paths: &'a Paths,
    /// Exports, imports and bindings; `None` without `--facts`.
    pub facts: Option<&'a dyn StreamedFacts>,
}

impl Output {
    /// True if the format shows link maps, for which the audit treats every file as an entry point.
    pub fn is_of_link_maps(&self) -> bool {
        matches!(self.made_of, MadeOf::LinkMaps(_))
    }

    /// The parts of the report that this output renders in addition to the findings.
    pub fn parts(&self, style: Style) -> Parts {
        match self.made_of {
            MadeOf::Report { parts, .. } => parts(style),
            MadeOf::LinkMaps(_) => Parts::default(),
        }
    }
}

/// Writes a report in the format `name`. Writes nothing in a format of link maps, such as `ldd`.
pub fn render(
    name: &str,
    report: &Report,
    how: &Rendering<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    match OUTPUTS.iter().find(|output| output.name == name).map(|output| &output.made_of) {
        Some(MadeOf::Report { render, .. }) => render(report, how, out),
        _ => Ok(()),
    }
}

/// All outputs of `check`, in the order in which error messages list them.
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
    Output {
        name: "sarif",
        for_people: false,
        made_of: MadeOf::Report {
            parts: |_| Parts { files: false, archives: false },
            render: sarif::render,
        },
    },
    Output {
        name: "junit",
        for_people: false,
        made_of: MadeOf::Report {
            parts: |_| Parts { files: false, archives: false },
            render: junit::render,
        },
    },
    Output {
        name: "github",
        for_people: false,
        made_of: MadeOf::Report {
            parts: |_| Parts { files: false, archives: false },
            render: github::render,
        },
    },
    Output {
        name: "gitlab",
        for_people: false,
        made_of: MadeOf::Report {
            parts: |_| Parts { files: false, archives: false },
            render: gitlab::render,
        },
    },
    Output {
        name: "gcc",
        for_people: false,
        made_of: MadeOf::Report {
            parts: |_| Parts { files: false, archives: false },
            render: gcc::render,
        },
    },
    Output {
        name: "markdown",
        for_people: false,
        made_of: MadeOf::Report {
            parts: |_| Parts { files: false, archives: false },
            render: markdown::render,
        },
    },
    Output {
        name: "dot",
        for_people: false,
        made_of: MadeOf::Report {
            parts: |_| Parts { files: true, archives: false },
            render: dot::render,
        },
    },
    Output { name: "ldd", for_people: false, made_of: MadeOf::LinkMaps(ldd::render) },
];
