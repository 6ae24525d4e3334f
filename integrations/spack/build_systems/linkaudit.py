"""Mixin for packages of Spack: the installation fails if the prefix has findings.

In a package.py of the same repository:

    from spack_repo.NAMESPACE.build_systems.linkaudit import Linkaudit

    class Demo(CMakePackage, Linkaudit):
        linkaudit_flags = ["--policy", os.path.join(os.path.dirname(__file__), "linkaudit.toml")]

`linkaudit_flags` may name a policy, in which a [[waive]] entry allows one finding.
`linkaudit_enabled = False` turns the audit off.
"""

from spack.package import *


class Linkaudit(PackageBase):
    """Audits the prefix after the phase `install`."""

    linkaudit_enabled = True
    linkaudit_flags = []

    @run_after("install")
    def audit_linkage(self):
        """Fails unless linkaudit ends with status 0."""
        if self.linkaudit_enabled:
            which("linkaudit", required=True)("--isolated", *self.linkaudit_flags, self.prefix)
