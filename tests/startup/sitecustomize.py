"""Every Python that the tests start runs this: TensorFlow is imported a hundred times, and needs a third less for it.

Keras and TensorFlow import scikit-learn, SciPy and pandas where these are installed, for wrappers that no test uses.
They are installed here because other tests need them.
"""

from __future__ import annotations

import sys
from importlib.abc import MetaPathFinder

_OPTIONAL = ("pandas", "scipy", "sklearn")
_IMPORTERS = ("keras.", "tensorflow.", "tf_keras.")


class _WithoutOptionalPackages(MetaPathFinder):
    """Says to Keras and TensorFlow, and to nobody else, that the packages are not installed."""

    def find_spec(self, name: str, _path: object = None, _target: object = None) -> None:
        """Raises ImportError if one of their modules imports one of the packages."""
        if name not in _OPTIONAL:
            return
        frame = sys._getframe(1)
        while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("importlib."):
            frame = frame.f_back
        importer = frame.f_globals.get("__name__", "")
        if importer.startswith(_IMPORTERS):
            raise ModuleNotFoundError(f"No module named {name!r}, for {importer} in tests", name=name)


sys.meta_path.insert(0, _WithoutOptionalPackages())
