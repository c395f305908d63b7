"""``ignite://`` inside TensorFlow: its C++ asks an extension module, and that asks `tensorflow_ignite.storage.files`.

`hook` waits until TensorFlow is imported; `scheme` then makes it know the scheme; `answers` is what its calls come to.
"""
