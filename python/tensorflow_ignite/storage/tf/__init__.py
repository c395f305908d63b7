"""``ignite://`` in TensorFlow: its C++ calls an extension module, which calls `tensorflow_ignite.storage.files`.

`hook` waits until TensorFlow is imported. `scheme` then registers the scheme. `answers` answers TensorFlow's calls.
"""
