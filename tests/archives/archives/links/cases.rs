//! Cases from the test suites of linkers, in this project's notation, and all pairs of kinds of
//! definitions in two archives.

use super::{Files, Link, compare};
use crate::archives::kit::archive;
use crate::support::Lab;
use crate::support::random::{is_sweep, step};

const CASES: &[(&str, &str)] = &[
    // Archives and order.
    ("m: !f | a: f", "m [a]"),
    ("m: !f | a: f", "[a] m"),
    ("m: !f | a: f", "[a] m [a]"),
    ("m: !f | a: f | b: f", "m [a] [b]"),
    ("m: !f | a: f | b: f", "m [b a]"),
    ("m: !f | a: f !g | b: g", "m [a] [b]"),
    ("m: !f | a: f !g | b: g", "m [b] [a]"),
    ("m: !f | a: f !g | b: g", "m [b a]"),
    ("m: !f | a: f !g | b: g", "m --start-group [b] [a] --end-group"),
    ("m: !f | a: f !g | b: g", "m --start-group [b] [a]"),
    ("m: !f | a: f !g | b: g !h | c: h", "m [c] [b] [a]"),
    ("m: !f | a: f !g | b: g !h | c: h", "m [c b a]"),
    ("m: !f | a: f !g | b: g !h | c: h", "m --start-group [c] [b] [a] --end-group"),
    ("m: !f | a: f !g | b: g !f", "m [a] [b]"),
    ("m: !f | a: f !g | b: g !h | c: h !f", "m [a] [b] [c]"),
    ("m: !f | a: f !g | b: g !h | c: h g2", "m [a c] [b]"),
    ("m: !f | a: f !g | b: g !h | c: h g2", "m [a c] [b] [a c]"),
    ("m: !f | a: f !g | b: g !h | c: h", "m --start-group [a c] [b] --end-group"),
    ("m: !f !g | a: f | b: g", "[a] m [b]"),
    ("m: f !g | n: g !f", "m n"),
    ("m: f | a: f", "m [a]"),
    ("m: !f | n: f | a: f", "m n [a]"),
    ("m: !f | n: f | a: f", "m [a] n"),
    ("m: !f | n: f | a: f", "[a] m n"),
    ("m: !f | n: f | a: f g | b: g !f", "m n [a]"),
    ("m: !f !g | n: f | a: f g", "m n [a]"),
    ("m: !f !g | n: f | a: f g", "m [a] n"),
    ("m: !f | a: g | b: f", "m [a b]"),
    ("m: !nosuch | a: f", "m [a]"),
    ("m: !f | a: f !nosuch", "m [a]"),
    ("m: !f | a: g !nosuch", "m [a]"),
    ("m: !f | a: f | b: f g !h | c: h", "m [a] [b] [c]"),
    ("m: !f !g | a: f | b: f g !h | c: h", "m [a] [b] [c]"),
    ("m: !a1 | a: a1 !b1 | b: b1 !a2 | c: a2 !b2 | d: b2", "m [a c] [b d]"),
    ("m: !a1 | a: a1 !b1 | b: b1 !a2 | c: a2 !b2 | d: b2", "m [c a] [d b] [c a] [d b]"),
    (
        "m: !a1 | a: a1 !b1 | b: b1 !a2 | c: a2 !b2 | d: b2",
        "m --start-group [c a] [d b] --end-group",
    ),
    ("m: !f | a: f ?g | b: g", "m [a b]"),
    ("m: !f | a: f ?g | b: g !g", "m [a b]"),
    ("m: !f | a: f ?g | b: g | c: !g h", "m [a b c]"),
    // Objects between archives.
    ("m: x | n: !f | a: f", "m [a] n"),
    ("m: x | n: !f | a: f | b: f", "m [a] n [b]"),
    ("m: x | n: !f | a: f g | b: f", "m [a] n [b]"),
    ("m: !g | n: !f | a: f | b: g", "[a] m [b] n"),
    ("m: x | n: f | o: !f | a: f", "m [a] n o"),
    ("m: x | n: f~ | o: !f | a: f", "m [a] n o"),
    ("m: x | n: !f | o: f~ | a: f", "m n [a] o"),
    ("m: x | n: !f | o: f~ | a: f", "m n o [a]"),
    // Weak references.
    ("m: ?f | a: f", "m [a]"),
    ("m: ?f | a: f", "[a] m"),
    ("m: ?f !f | a: g", "m"),
    ("m: ?f | n: !f | a: f", "m n [a]"),
    ("m: ?f | n: !f | a: f", "m [a] n"),
    ("m: ?f | n: !f | a: f", "[a] m n"),
    ("m: !f | n: ?f | a: f", "[a] m n"),
    ("m: !f | n: ?f", "m n"),
    ("m: ?f | n: ?f", "m n"),
    ("m: ?f | a: f g | n: !g", "m [a] n"),
    ("m: ?f !g | a: f g", "m [a]"),
    // Hidden and protected.
    ("m: !f.h | a: f", "m [a]"),
    ("m: !f.h", "m"),
    ("m: ?f.h | a: f", "m [a]"),
    ("m: !f.h | d: f", "m (d)"),
    ("m: !f.h | d: f | a: f", "m (d) [a]"),
    ("m: !f.h | d: f | a: f", "(d) m [a]"),
    ("m: !f.h | d: f | a: f", "m [a] (d)"),
    ("m: !f | n: !f.h | d: f", "m (d) n"),
    ("m: !f | n: !f.h | d: f | a: f", "m (d) n [a]"),
    ("m: !f | a: f.h", "m [a]"),
    ("m: !f | a: f.p", "m [a]"),
    ("m: !f | a: f.h | d: !f", "m (d) [a]"),
    ("m: !f.p | d: f | a: f", "m (d) [a]"),
    ("m: !f | a: f !g.h | d: g", "m [a] (d)"),
    ("m: !f | a: f !g.h | b: g | d: g", "m (d) [a] [b]"),
    // Shared objects.
    ("m: !f | d: f", "m (d)"),
    ("m: !f | d: f", "(d) m"),
    ("m: !f | d: f | a: f", "m (d) [a]"),
    ("m: !f | d: f | a: f", "m [a] (d)"),
    ("m: !f | d: f | a: f", "[a] (d) m"),
    ("m: !f | d: f | a: f", "(d) [a] m"),
    ("m: !f | d: f | a: f", "[a] m (d)"),
    ("m: x | d: !f | a: f", "m (d) [a]"),
    ("m: x | d: !f | a: f", "m [a] (d)"),
    ("m: x | d: !f", "m (d)"),
    ("m: x | d: ?f | a: f", "m (d) [a]"),
    ("m: !f | d: f~ | a: f", "m (d) [a]"),
    ("m: !f | d: f~ | a: f", "m [a] (d)"),
    ("m: !f | d: f= | a: f=", "m (d) [a]"),
    ("m: !f | d: f g | a: f h | n: !h", "m (d) n [a]"),
    ("m: !f !h | d: f | a: f h", "m (d) [a]"),
    ("m: f !g | d: !f g", "m (d)"),
    ("m: ?f | d: f | a: f", "m (d) [a]"),
    ("m: !f | a: f !g | d: g | b: g", "m [a] (d) [b]"),
    ("m: !f | a: f !g | d: g | b: g", "m (d) [a] [b]"),
    ("m: !f | a: f !g | d: g | b: g", "m [a] [b] (d)"),
    ("m: x | d: !f | e: f | a: f", "m (d) (e) [a]"),
    ("m: x | d: !f | e: f | a: f", "m (d) [a] (e)"),
    // mold follows the references of a library only if it is needed.
    ("m: x | d: !g | a: g !nosuch", "m --as-needed (d) --no-as-needed [a]"),
    ("m: !f | d: f !g | a: g", "m --as-needed (d) --no-as-needed [a]"),
    ("m: ?f | d: f !g | a: g", "m --as-needed (d) --no-as-needed [a]"),
    ("m: !f | d: f !g | e: g !h | a: h", "m --as-needed (d) (e) --no-as-needed [a]"),
    ("m: !f | d: f !g | e: g !h | a: h", "[a] --as-needed (e) (d) m"),
    ("m: f% | d: f= !g | a: g", "m --as-needed (d) --no-as-needed [a]"),
    ("m: x | d: f !g | a: g", "m -u f --as-needed (d) --no-as-needed [a]"),
    // No shared object has the library in DT_NEEDED.
    ("m: !f | n: !g | d: f !g | e: g", "exe m (d) --as-needed (e) --no-as-needed n"),
    ("m: !f | n: !g | d: f ?g | e: g", "exe m (d) --as-needed (e) --no-as-needed n"),
    ("m: ?f | d: !f | a: f", "m (d) [a]"),
    // Versions.
    ("m: !f | d: f@V0", "m (d)"),
    ("m: !f | d: f@@V1", "m (d)"),
    ("m: !f@V0 | d: f@V0", "m (d)"),
    ("m: !f@V1 | d: f@@V1", "m (d)"),
    ("m: !f | d: f@V0 | a: f", "m (d) [a]"),
    ("m: !f | d: f@@V1 | a: f", "m (d) [a]"),
    ("m: !f | a: f@@V1", "m [a]"),
    ("m: !f | a: f@V0", "m [a]"),
    ("m: !f | a: f@V0 | b: f", "m [a] [b]"),
    ("m: !f@V0 | a: f@V0", "m [a]"),
    ("m: !f@V0 | a: f", "m [a]"),
    ("m: !f@V1 | a: f@@V1", "m [a]"),
    ("m: !f@V1 | a: f@@V1", "exe m [a]"),
    ("m: !f@V1 | n: f@@V1", "m n"),
    ("m: !f@V1 | a: f@@V1", "m --whole-archive [a] --no-whole-archive"),
    ("m: !f@V1 | n: f | a: f@@V1", "exe m n [a]"),
    ("m: !f | n: !f@V1 | a: f@@V1", "m [a] n"),
    ("m: !f@V0 | a: f@@V1 | b: f@V0", "m [a] [b]"),
    // A version of a shared object satisfies a reference before an archive.
    ("m: !f@V0 | d: f@V0 | a: f@V0", "m (d) [a]"),
    ("m: !f@V0 | d: f@V0 | a: f@V0", "m [a] (d)"),
    ("m: !f@V0 | d: f@V0 | a: f@V0", "(d) [a] m"),
    ("m: !f@V1 | d: f@@V1 | a: f@V1", "m (d) [a]"),
    ("m: !f | d: f@@V1", "m --as-needed (d)"),
    ("m: !f | d: f@V0", "m --as-needed (d)"),
    ("m: !f@V0 | d: f@V0", "m --as-needed (d)"),
    ("m: !f@V1 | d: f@@V1", "m --as-needed (d)"),
    ("m: f | n: !f@V1 | d: f@@V1", "m n --as-needed (d)"),
    ("m: f | n: !f@V1 | d: f@@V1", "m n (d)"),
    ("m: !f@V1 | n: f | d: f@@V1", "m (d) n"),
    // Common symbols.
    ("m: f% | a: f=", "m [a]"),
    ("m: f% | a: f", "m [a]"),
    ("m: f% | a: f~", "m [a]"),
    ("m: f% | a: f%", "m [a]"),
    ("m: f% | a: f*", "m [a]"),
    ("m: f% | a: f^", "m [a]"),
    ("m: f% | a: f% | b: f=", "m [a] [b]"),
    ("m: f% | a: f=", "[a] m"),
    ("m: f% !f | a: f=", "m [a]"),
    ("m: !f | a: f% | b: f=", "m [a] [b]"),
    ("m: !f | a: f% | b: f=", "m [b] [a]"),
    ("m: !f | a: f%", "m [a]"),
    ("m: !f | a: f% | b: f= g", "m [a b]"),
    ("m: f% | d: f=", "m (d)"),
    ("m: f% | d: f=", "(d) m"),
    ("m: f% | d: f", "m (d)"),
    ("m: f% | d: f | a: f=", "m (d) [a]"),
    ("m: f% | d: f | a: f=", "(d) m [a]"),
    ("m: f% | n: f= | a: f=", "m n [a]"),
    ("m: f% | n: f~ | a: f=", "m n [a]"),
    ("m: f~ | n: f% | a: f=", "m n [a]"),
    ("m: f% !g | a: g f=", "m [a]"),
    ("m: f% | n: f% | a: f=", "m n [a]"),
    ("m: !g | a: g f% | b: f=", "m [a] [b]"),
    ("m: !g | a: g f% | b: f=", "m [b] [a]"),
    ("m: f% | a: f= !g | b: g", "m [a b]"),
    ("m: f% | a: f=", "m --whole-archive [a] --no-whole-archive"),
    ("m: f%.h | a: f=", "m [a]"),
    ("m: f%.h | d: f=", "m (d)"),
    ("m: f%.h !f | d: f=", "m (d)"),
    ("m: f%.h !f | d: f=", "exe (d) m"),
    ("m: f%.h | n: !f | d: f=", "m n (d)"),
    ("m: f% !f | n: ?f.h | d: f=", "m n (d)"),
    ("m: !g | a: g f%.h !f | d: f=", "m [a] (d)"),
    ("m: f%.h | d: f= | a: f=", "m (d) [a]"),
    ("m: f%.h | d: f= | a: f=", "(d) m [a]"),
    ("m: f%% | a: f=", "m [a]"),
    ("m: f%% | a: f", "m [a]"),
    ("m: f%% | a: f%", "m [a]"),
    ("m: f%% | n: f%", "m n"),
    ("m: f% | a: f%%", "m [a]"),
    ("m: !f | a: f%% | b: f=", "m [a] [b]"),
    ("m: f%% | d: f= | a: f=", "m (d) [a]"),
    ("m: f%% | n: f= | a: f=", "m n [a]"),
    // Weak definitions.
    ("m: f~ | a: f", "m [a]"),
    ("m: f~ !f | a: f", "m [a]"),
    ("m: f~ | n: !f | a: f", "m n [a]"),
    ("m: f~ | n: !f | a: f", "n m [a]"),
    ("m: f~ | n: !f | a: f", "n [a] m"),
    ("m: !f | a: f~ | b: f", "m [a] [b]"),
    ("m: !f | a: f~ | b: f", "m [b] [a]"),
    ("m: !f | a: f~ | b: f", "m [a b]"),
    ("m: !f !g | a: f~ | b: f g", "m [a] [b]"),
    ("m: !f !g | a: f~ g | b: f", "m [a] [b]"),
    ("m: !f | a: f~ !g | b: f g", "m [a] [b]"),
    ("m: f~ | d: f", "m (d)"),
    // COMDAT.
    ("m: f^ | a: f^", "m [a]"),
    ("m: f^ | a: f", "m [a]"),
    ("m: !f | a: f^ | b: f^", "m [a] [b]"),
    ("m: !f !g | a: f^ | b: f^ g", "m [a] [b]"),
    ("m: !f | a: f^^ | b: f", "m [a] [b]"),
    // lld reports weak references to a name that has a default version in an unused member.
    ("m: ?f !g | a: f@@V1 | b: g", "m [a] [b]"),
    ("m: ?f !g | a: f@@V1 | b: g", "[a] m [b]"),
    // lld reports weak references to a version.
    ("m: ?f@V1", "m"),
    ("m: ?f@V1 | d: f", "m (d)"),
    ("m: ?f@V1 | d: f@@V1", "m (d)"),
    ("m: ?f@V1 | a: f@@V1", "m [a]"),
    // mold compares the version of the definition that it chose only.
    ("m: !f@V1 | d: f | e: f@@V1", "m (d) (e)"),
    ("m: !f@V1 | d: f | e: f@@V1", "m (e) (d)"),
    ("m: !f@V1 | d: f~ | e: f@@V1", "m (d) (e)"),
    ("m: ?f !g | a: f@@V1 | b: g f~", "m [a] [b]"),
    ("m: !g | a: f@@V1 | b: g | s: ?f", "m [a] [b] (s)"),
    ("m: ?f | s: f~", "--wrap=f m (s)"),
    ("m: ?f | s: f~", "--wrap=f (s) m"),
    ("m: ?f | a: f | s: f", "--wrap=f m [a] (s)"),
    ("m: x !f | a: f~ !g | s: f~ g", "--wrap=f --wrap=g m (s) [a]"),
    ("m: !f | s: f~", "--wrap=f (s) m"),
    // GNU ld: a strong definition replaces a weak one and is not replaced by a common symbol.
    ("m: !f | a: f~ | n: f= !g | b: f% g | c: f=", "m [a] n [b] [c]"),
    ("m: !f | a: f~ | n: !g | b: f% g | c: f=", "m [a] n [b] [c]"),
    // GNU ld: a common symbol replaces a symbol of --defsym, and then extracts a member.
    ("m: !g | a: f% g | b: f=", "--defsym=f=0 m [a] [b]"),
    ("m: !g | a: f% g | b: f=", "m [a] --defsym=f=0 [b]"),
    ("m: !g !f | a: f~ g | b: f=", "--defsym=f=0 m [a] [b]"),
    // lld selects the strong definition and then discards its copy of the group.
    ("m: !f !g | a: f^ | b: g f^^", "m a [b]"),
    ("m: !f !g | a: f^ | b: g f^^ | s: f", "m a [b] (s)"),
    ("m: !f !g | a: f^ | b: g f^^ | s: f", "(s) m a [b]"),
    ("m: !f !g | a: f% f2^ | b: g f^^", "m a [b]"),
    ("m: !f | a: f^ | b: f", "m [a] [b]"),
    ("m: !f | a: f* | b: f", "m [a] [b]"),
    ("m: f* | a: f* !nosuch", "m [a]"),
    ("m: f^ !g | a: f^ g !nosuch", "m [a]"),
    // The first copy of a COMDAT group is kept.
    ("m: f^ | n: f^>nosuch", "m n"),
    ("m: f^>nosuch | n: f^", "m n"),
    ("m: !g | n: f^ | a: g f^>nosuch", "m [a] n"),
    ("m: !g | n: f^ | a: g f^>nosuch", "m n [a]"),
    ("m: !g | n: f^>nosuch | a: g f^", "m [a] n"),
    ("m: !g | n: f^>nosuch | a: g f^", "m n [a]"),
    ("m: x | n: !g f^>nosuch | a: g f^", "m [a] n"),
    ("m: x | n: !g f^>nosuch | a: g f^", "m [a] n [a]"),
    ("m: x | n: !g f^>nosuch | a: g f^", "m --start-group [a] n --end-group"),
    ("m: !g | n: f^>nosuch | a: g f^", "m n --whole-archive [a] --no-whole-archive"),
    ("m: !g | n: f^>nosuch | a: g f^", "--whole-archive [a] --no-whole-archive m n"),
    ("m: x | n: f^>nosuch | a: _start f^", "pie m [a] n"),
    ("m: !_start | n: f^>nosuch | a: _start f^", "pie m [a] n"),
    // No member refers to the names in these groups.
    ("m: !g !h | a: g f^ | b: h f^>nosuch", "m [a] [b]"),
    ("m: !g !h | a: g f^>nosuch | b: h f^", "m [a] [b]"),
    ("m: !h !g | a: g f^ | b: h f^>nosuch", "m [b a]"),
    ("m: !g !h | a: g f$ | b: h f$>nosuch", "m [a] [b]"),
    ("m: !g !h | a: g f$>nosuch | b: h f$", "m [a] [b]"),
    ("m: !g !h | a: g f& | b: h k&>nosuch", "m [a] [b]"),
    ("m: !g !h | a: g f&>nosuch | b: h k&", "m [a] [b]"),
    ("m: !h !g | a: g f& | b: h k&>nosuch", "m [b a]"),
    // Only a discarded copy has the name. lld accepts a reference to it if it is weak.
    ("m: !g !h !k | a: g f& | b: h f& k&", "m [a] [b]"),
    ("m: !g !h !k | a: g f& k& | b: h f& k&", "m [a] [b]"),
    ("m: !h !k !g | a: g f& | b: h f& k&", "m [b] [a]"),
    ("m: !g !h ?k | a: g f& | b: h f& k&", "m [a] [b]"),
    ("m: !g !h !k | a: g f& | b: h f& k& | d: k", "m [a] [b] (d)"),
    ("m: !h !k | n: f& | b: h k&", "m n [b]"),
    ("m: !k | n: f& | o: f& k&", "m n o"),
    // Thread-local.
    ("m: !t | a: t", "m [a]"),
    ("m: !t | a: t~ | b: t", "m [a] [b]"),
    ("m: ?t | a: t", "m [a]"),
    ("m: !t.h | a: t", "m [a]"),
    ("m: !t | d: t", "m (d)"),
    ("m: !t | d: t | a: t", "m [a] (d)"),
    // Programs do not call the function that finds thread-local data.
    ("m: !t | a: t", "exe m [a]"),
    ("m: !t | a: t", "pie m [a]"),
    ("m: !t t", "exe m"),
    ("m: !t !u | a: t", "exe m [a]"),
    ("m: ?t", "exe m"),
    ("m: ?t", "pie m"),
    ("m: !t | d: t", "exe m (d)"),
    ("m: !t | d: t", "pie m (d)"),
    ("m: !t t !__tls_get_addr", "exe m"),
    ("m: !t t !__tls_get_addr", "pie m"),
    // Start-lib.
    ("m: !f | a: f", "m --start-lib a --end-lib"),
    ("m: !f | a: f", "--start-lib a --end-lib m"),
    ("m: x | a: f", "m --start-lib a --end-lib"),
    ("m: !f | a: f !g | b: g", "m --start-lib a b --end-lib"),
    ("m: !f | a: f !g | b: g", "m --start-lib b a --end-lib"),
    ("m: !f | a: f | b: f", "m --start-lib a b --end-lib"),
    ("m: !f | a: f~ | b: f", "m --start-lib a b --end-lib"),
    ("m: !f | a: f | b: f", "m [a] --start-lib b --end-lib"),
    ("m: !f | a: f | b: f", "m --start-lib b --end-lib [a]"),
    ("m: !f !g | a: f | b: g", "m --start-lib a --end-lib [b]"),
    ("m: !f | a: f | b: f", "m --start-lib [a] b --end-lib"),
    ("m: ?f | a: f", "m --start-lib a --end-lib"),
    ("m: f% | a: f=", "m --start-lib a --end-lib"),
    ("m: !f | a: f | d: f", "m (d) --start-lib a --end-lib"),
    ("m: !f | a: f | d: f", "m --start-lib a --end-lib (d)"),
    ("m: !f | a: f | n: !g | b: g", "m --start-lib a --end-lib n --start-lib b --end-lib"),
    ("m: !f | a: f !nosuch", "m --start-lib a --end-lib"),
    ("m: x | a: f !nosuch", "m --start-lib a --end-lib"),
    // Whole-archive.
    ("m: x | a: f", "m --whole-archive [a] --no-whole-archive"),
    ("m: x | a: f | b: g", "m --whole-archive [a] --no-whole-archive [b]"),
    ("m: x | a: f !g | b: g", "m --whole-archive [a] --no-whole-archive [b]"),
    ("m: x | a: f !g | b: g", "m [b] --whole-archive [a] --no-whole-archive"),
    ("m: x | a: f !nosuch", "m --whole-archive [a]"),
    ("m: x | a: f | b: g !f", "m --whole-archive [a b]"),
    ("m: !f | a: f | b: f~", "m [a] --whole-archive [b] --no-whole-archive"),
    ("m: !f | a: f~ | b: f", "m --whole-archive [a] --no-whole-archive [b]"),
    ("m: !f | a: f~ | b: f", "[b] --whole-archive [a] --no-whole-archive m"),
    ("m: x | a: f% | b: f=", "m --whole-archive [a] --no-whole-archive [b]"),
    ("m: !f | a: f | d: f", "m (d) --whole-archive [a] --no-whole-archive"),
    ("m: x | a: f^ | b: f^ g !h", "m --whole-archive [a b] --no-whole-archive"),
    ("m: x | n: !g | a: f g", "m --whole-archive n --no-whole-archive [a]"),
    ("m: x | a: f !nosuch", "m --start-lib --whole-archive [a] --no-whole-archive --end-lib"),
    ("m: x | a: f !nosuch", "m --whole-archive --start-lib [a] --end-lib --no-whole-archive"),
    // -u.
    ("m: x | a: f", "m -e f [a]"),
    ("m: x | a: f", "exe m --entry=f [a]"),
    ("m: x | a: f !g | b: g", "pie m -e f [a] [b]"),
    ("m: x | a: f !nosuch | b: _start", "exe m [a] [b] -e f"),
    ("m: x | a: f | b: g", "m -e f -e g [a] [b]"),
    ("m: x | a: f", "m -e nosuch [a]"),
    ("m: x | a: f", "m -u f [a]"),
    ("m: x | a: f", "[a] m -u f"),
    ("m: x | a: f !g | b: g", "m -u f [a] [b]"),
    ("m: x | a: f !g | b: g", "m -u f [b] [a]"),
    ("m: x | a: f", "m -u nosuch [a]"),
    ("m: ?f | a: f", "m -u f [a]"),
    ("m: x | a: f | d: f", "m -u f (d) [a]"),
    ("m: x | a: f | d: f", "m -u f [a] (d)"),
    ("m: x | a: f~ | b: f", "m -u f [a] [b]"),
    ("m: f | a: f", "m -u f [a]"),
    ("m: f~ | a: f", "m -u f [a]"),
    ("m: f% | a: f=", "m -u f [a]"),
    ("m: x | a: f", "m -u f --start-lib a --end-lib"),
    ("m: x | a: f | b: g", "m -u f -u g [a b]"),
    // The entry point.
    ("m: x | a: _start", "m [a]"),
    ("m: x | a: _start", "exe m [a]"),
    ("m: x | a: _start", "pie m [a]"),
    ("m: x | a: _start", "pie [a] m"),
    ("m: _start | a: _start", "exe m [a]"),
    ("m: x | a: _start !f | b: f", "pie m [a] [b]"),
    ("m: _start !f | a: f", "exe m [a]"),
    ("m: _start !f | a: f", "pie m [a]"),
    ("m: _start !f | d: f | a: f", "pie m (d) [a]"),
    ("m: _start !f | d: !f | a: f", "pie m (d) [a]"),
    ("m: _start !nosuch", "pie m"),
    // Defsym.
    ("m: !f | a: f", "m --defsym=f=0 [a]"),
    ("m: !f | a: f", "m [a] --defsym=f=0"),
    ("m: !f | a: g", "--defsym=f=g m [a]"),
    ("m: x | a: g", "m --defsym=f=g [a]"),
    ("m: x | a: g", "m [a] --defsym=f=g"),
    ("m: !f | a: f | b: g", "--defsym=f=g m [a] [b]"),
    ("m: !f | a: f | b: g", "m [a] [b] --defsym=f=g"),
    ("m: !f x", "m --defsym=f=x"),
    ("m: !f x", "m --defsym=f=x+4"),
    ("m: f x", "m --defsym=f=x"),
    ("m: !f x | d: f", "m (d) --defsym=f=x"),
    ("m: ?f | a: f", "m --defsym=f=0 [a]"),
    ("m: !f | a: f h !g | b: g !h", "--defsym=f=0 m [b] [a]"),
    ("m: x | a: f", "m [a] --defsym=y=SIZEOF_HEADERS"),
    ("m: x | a: f", "m [a] --defsym=y=nosuch"),
    ("m: !f | a: f !nosuch", "m --defsym=f=f [a]"),
    ("m: x | a: f !nosuch", "--defsym=f=f m [a]"),
    ("m: !f | a: f !nosuch", "m [a] --defsym=f=f"),
    ("m: !f | a: f !nosuch", "m --defsym=f=0 --defsym=f=f [a]"),
    ("m: !f | a: f !nosuch", "m --defsym=f=f --defsym=f=0 [a]"),
    ("m: ?f | a: f", "m --defsym=y=f [a]"),
    ("m: ?f | a: f", "m [a] --defsym=y=f"),
    ("m: ?f | a: f", "--defsym=y=f m [a]"),
    ("m: ?f | n: !f | a: f", "m --defsym=y=f n [a]"),
    // Wrap.
    ("m: !f | a: f | b: __wrap_f", "--wrap=f m [a] [b]"),
    ("m: !f | a: f | b: __wrap_f", "--wrap=f m [b] [a]"),
    ("m: !f | a: f", "--wrap=f m [a]"),
    ("m: !__real_f | a: f", "--wrap=f m [a]"),
    ("m: !__real_f | a: f | b: __wrap_f", "--wrap=f m [a] [b]"),
    ("m: !f | a: f | b: __wrap_f !__real_f", "--wrap=f m [a] [b]"),
    ("m: !f | a: f | b: __wrap_f !__real_f", "--wrap=f m [b] [a]"),
    ("m: !f !__real_f | a: f", "--wrap=f m [a]"),
    ("m: f !f", "--wrap=f m"),
    ("m: f | n: !f | b: __wrap_f", "--wrap=f m n [b]"),
    ("m: ?f | a: f | b: __wrap_f", "--wrap=f m [a] [b]"),
    ("m: ?f | n: !f | b: __wrap_f", "--wrap=f m n [b]"),
    ("m: x | a: f | b: __wrap_f", "--wrap=f m [a] [b]"),
    ("m: !__wrap_f | b: __wrap_f", "--wrap=f m [b]"),
    ("m: !f | d: f", "--wrap=f m (d)"),
    ("m: !f | d: __wrap_f", "--wrap=f m (d)"),
    ("m: !f | d: f | b: __wrap_f !__real_f", "--wrap=f m (d) [b]"),
    ("m: !f !g | a: f g | b: __wrap_f", "--wrap=f m [a] [b]"),
    ("m: !f !g | b: __wrap_f __wrap_g", "--wrap=f --wrap=g m [b]"),
    ("m: !f | b: __wrap_f | a: f", "-u f --wrap=f m [b] [a]"),
    ("m: !__real_f", "--wrap=f m"),
    ("m: !f __wrap_f ?__real_f", "--wrap=f m"),
    ("m: !f | b: __wrap_f ?__real_f", "--wrap=f m [b]"),
    ("m: !f | b: __wrap_f ?__real_f", "--wrap=f [b] m"),
    ("m: !f | n: __wrap_f ?__real_f | a: f", "--wrap=f m n [a]"),
    ("m: ?f | n: __wrap_f !__real_f", "--wrap=f m n"),
    ("m: !f ?__real_f | n: __wrap_f !__real_f", "--wrap=f m n"),
    ("m: ?f | d: !f", "--wrap=f m (d)"),
    ("m: x | d: !f | a: f", "--wrap=f m (d) [a]"),
    ("m: f* | n: ?f", "--wrap=f m n"),
    ("m: f% | n: !f | b: __wrap_f", "--wrap=f m n [b]"),
    // lld leads references of an object to its own common symbol to the wrapper too.
    ("m: f% !f", "--wrap=f m"),
    ("m: f%", "--wrap=f m"),
    // Strong and weak references to one name.
    ("m: ?f", "m -u f"),
    ("m: ?f.h", "m"),
    ("m: ?f | n: !f", "m n"),
    ("m: ?f | n: !f", "n m"),
    ("m: ?f | n: !f", "exe m n"),
    ("m: ?f | n: !f", "exe n m"),
    ("m: ?f | n: !f", "pie m n"),
    ("m: ?f | n: !f | d: g", "pie m n (d)"),
    ("m: ?f !g | a: g !f", "exe m [a]"),
    ("m: ?f | n: !f.h", "m n"),
    ("m: ?f | n: !f | o: ?f.h", "m n o"),
    ("m: !f | n: ?f | o: ?f.h", "m n o"),
    ("m: !f.h !g | a: f% g | d: f", "m (d) [a]"),
    // Names that linkers define.
    ("m: !_end !edata !_etext", "m"),
    ("m: !__start_sec", "m"),
    ("m: !__bss_start !_GLOBAL_OFFSET_TABLE_", "m"),
    ("m: !__init_array_start | a: __init_array_start", "exe m [a]"),
    ("m: !_DYNAMIC", "exe m"),
    ("m: !_DYNAMIC", "pie m"),
    ("m: !_DYNAMIC | d: f", "exe m (d)"),
    ("m: !__tdata_start", "m"),
    ("m: !__tdata_start", "exe m"),
    ("m: !__tdata_start", "pie m"),
];

/// Cases in which linkaudit does not follow a linker, each with the reason: the objects, the line,
/// the linker.
const EXCEPT: &[(&str, &str, &str)] = &[
    // lld redirects an object's references to its own definition. The symbol table does not show
    // these references.
    ("m: f !f", "--wrap=f m", "lld"),
    // With a version script that has V1, as in these links, lld takes a plain definition for a
    // reference to that version. The command does not read version scripts.
    ("m: !f@V1 | n: f@@V1", "m n", "lld"),
    ("m: !f@V1 | a: f@@V1", "m --whole-archive [a] --no-whole-archive", "lld"),
    ("m: !f@V1 | n: f | a: f@@V1", "exe m n [a]", "lld"),
    ("m: !f | n: !f@V1 | a: f@@V1", "m [a] n", "lld"),
];

/// All pairs of kinds of definitions of one name, in two archives and in two members of one.
fn pairs() -> Vec<Link> {
    const KINDS: &[&str] = &["", "=", "~", "%", "^", "*", ".h"];
    const ROOTS: &[&str] = &["!f", "?f", "f%", "f~", "?f f2"];
    let mut out = Vec::new();
    for root in ROOTS {
        for (first, second) in KINDS.iter().flat_map(|a| KINDS.iter().map(move |b| (a, b))) {
            let objects = format!("m: {root} | a: f{first} | b: f{second} g | n: !g");
            for line in ["m [a] [b]", "[a b] m", "m [a] n [b]"] {
                out.push(Link::new(&objects, line, &[]));
            }
        }
    }
    out
}

#[test]
fn linkers_extract_the_same_members() {
    let by_hand = CASES.iter().step_by(step(4)).map(|(o, line)| Link::new(o, line, &[]));
    let mut links: Vec<Link> = by_hand.collect();
    let by_hand = links.len();
    // Each run makes a part of the pairs; LINKAUDIT_LINKS makes all.
    let all = std::env::var_os("LINKAUDIT_LINKS").is_some();
    links.extend(pairs().into_iter().step_by(if all { 1 } else { 5 * step(5) }));
    for (objects, line, linker) in EXCEPT {
        let mut found = links.iter_mut().filter(|l| l.objects == *objects && l.line == *line);
        let found = found.next();
        assert!(found.is_some() || !is_sweep(), "{objects} {line} is no case");
        if let Some(link) = found {
            link.except.push(linker);
        }
    }
    let (cases, wrong) = compare(&links);
    let pairs = links.len() - by_hand;
    println!(
        "linkers' rules: {by_hand} links by hand, {pairs} pairs, {cases} cases, {} listed, {} differences",
        EXCEPT.len(),
        wrong.len()
    );
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Response files hold files and options of a link, with quotes. A linker script stands for the
/// files that it names. `--why-extract` takes one archive and no `--order`.
#[test]
fn response_files_and_scripts_are_inputs() {
    let links = [Link::new("m: !f !g | a: f !h | b: g | d: h", "m [a] [b] (d)", &[])];
    let lab = Lab::new();
    let mut files = Files::default();
    let line = files.line(&links[0]);
    files.build(&lab);
    let [object, a, b, shared] = &line[..] else { panic!("{line:?}") };
    lab.write("script.a", format!("GROUP ( {b} AS_NEEDED ( {shared} ) )\n"));
    lab.write("inner", format!("'{a}'\n"));
    lab.write("outer", format!("{object} @inner\t\"script.a\" -u x\n"));
    let (answer, status) =
        archive(&lab.root(), &["--linker", "gnu", "--shared", "@outer", "--why-extract", "why"]);
    assert_eq!(status, Some(0), "{answer}");
    assert_eq!(crate::archives::kit::members(&answer).len(), 2, "{answer}");
    let why = std::fs::read_to_string(lab.path("why")).expect("a table");
    assert_eq!(why.lines().count(), 3, "{why}");
    let (answer, _) = archive(&lab.root(), &[a, "--root-object", object, "--why-extract", "why"]);
    assert_eq!(answer["order"], "given", "{answer}");
    let output = lab.linkaudit(&["archive", "--linker", "gnu", object, "--start-lib", a]);
    assert_eq!(output.status.code(), Some(2));
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(error.contains("GNU ld has no --start-lib"), "{error}");
}

/// lld refuses groups in groups, and GNU ld searches the inner one again with the outer one.
#[test]
fn groups_in_groups() {
    const OBJECTS: &str = "m: !f | a: f !g | b: g !h | c: h !i | d: i";
    let except = &["lld"];
    let links = [
        Link::new(
            OBJECTS,
            "m --start-group --start-group [b] --end-group [a] [d c] --end-group",
            except,
        ),
        Link::new(
            OBJECTS,
            "m --start-group [c d] --start-group [b] [a] --end-group --end-group",
            except,
        ),
        Link::new(OBJECTS, "m --start-group [d] --start-group [b] [a] --end-group [c]", except),
    ];
    let (cases, wrong) = compare(&links);
    assert!(cases > 0 && wrong.is_empty(), "{}", wrong.join("\n"));
    let lab = Lab::new();
    crate::archives::kit::object(&lab, "m.o", "nop\n");
    for (linker, line, expected) in [
        ("lld", "--start-group --start-group m.o --end-group", "nested --start-group"),
        ("lld", "m.o --end-group", "--end-group without --start-group"),
        ("gnu", "m.o --end-group", "--end-group without --start-group"),
        ("lld", "m.o --end-lib", "--end-lib without --start-lib"),
        ("lld", "--start-lib --start-lib m.o", "nested --start-lib"),
        ("lld", "--start-group --start-lib m.o", "--start-lib in --start-group"),
    ] {
        let words = ["archive", "--linker", linker].into_iter().chain(line.split(' '));
        let output = lab.linkaudit(&words.collect::<Vec<_>>());
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(2) && error.contains(expected), "{line}: {error}");
    }
}
