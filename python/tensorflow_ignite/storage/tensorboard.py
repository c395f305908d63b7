"""TensorBoard as installed reads ``ignite://``.

It loads this module by its entry point `tensorboard_plugins`. Where TensorFlow is installed, TensorBoard imports it,
and so makes it know the scheme; where it is not, TensorBoard reads through fsspec, which knows the scheme by an entry
point as well. `python -m tensorflow_ignite.storage.tensorboard` is TensorBoard where neither of them is installed.
"""

from __future__ import annotations

from tensorboard.plugins import base_plugin

__all__ = ["SchemeLoader", "main"]


class SchemeLoader(base_plugin.TBLoader):  # type: ignore[misc]
    """Has nothing to show: being imported is all that it is for."""


def main() -> None:
    """Runs TensorBoard with the arguments of this process."""
    import fsspec
    from tensorboard import main as tensorboard

    fsspec.register_implementation("ignite", "tensorflow_ignite.storage.filesystem.IgniteFileSystem", clobber=True)
    tensorboard.run_main()


if __name__ == "__main__":
    main()
