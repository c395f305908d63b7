"""Prints what an interpreter has installed, as one line of JSON; run by any interpreter, so without imports of ours.

The argument ``deep`` imports TensorFlow as well.
"""

import json
import sys
from typing import Any, Dict, Optional  # noqa: UP035 - older interpreters must report that they are older

_OLDEST = [3, 10]


def probe(deep: bool) -> Dict[str, Any]:  # noqa: UP006
    """Versions, and the error where packages do not fit together."""
    version = list(sys.version_info[:3])
    found: Dict[str, Any] = {"executable": sys.executable, "version": version}  # noqa: UP006
    if version < _OLDEST:
        return found
    from importlib import metadata

    names = metadata.packages_distributions().get("tensorflow", [])
    found["tensorflow"] = {name: _installed(name) for name in names}
    found["libraries"] = {name: _installed(name) for name in ("grpcio", "protobuf", "pyarrow", "numpy")}
    try:
        # What the node runs; the generated code in it refuses libraries that are too old for it.
        import tensorflow_ignite.agent.server

        found["package"] = _installed("tensorflow-ignite") or "from its sources"
        found["folder"] = next(iter(tensorflow_ignite.__path__))
    except Exception as error:
        found["error"] = f"{type(error).__name__}: {error}"
    if deep and names:
        try:
            import tensorflow

            found["imported"] = tensorflow.__version__
            found["gpus"] = len(tensorflow.config.list_physical_devices("GPU"))
        except Exception as error:
            found["import_error"] = f"{type(error).__name__}: {error}"
    return found


def _installed(name: str) -> Optional[str]:  # noqa: UP045
    from importlib import metadata

    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


if __name__ == "__main__":
    print(json.dumps(probe("deep" in sys.argv)))
