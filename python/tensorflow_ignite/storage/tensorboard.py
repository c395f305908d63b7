"""Makes an installed TensorBoard read ``ignite://``.

TensorBoard loads this module by the entry point `tensorboard_plugins`. With TensorFlow, TensorBoard imports TensorFlow,
which registers the scheme. Without TensorFlow, TensorBoard uses fsspec, which finds the scheme by an entry point.
`python -m tensorflow_ignite.storage.tensorboard` runs TensorBoard if this package has no entry points.
"""

from __future__ import annotations

from tensorboard.plugins import base_plugin


class SchemeLoader(base_plugin.TBLoader):  # type: ignore[misc]
    """Shows nothing; TensorBoard imports this module to get it."""


def main() -> None:
    """Runs TensorBoard with the arguments of this process."""
    import fsspec
    from tensorboard import main as tensorboard

    fsspec.register_implementation("ignite", "tensorflow_ignite.storage.filesystem.IgniteFileSystem", clobber=True)
    tensorboard.run_main()


if __name__ == "__main__":
    main()
