#!/bin/sh
# Removes 0.7 GB that no program runs or reads: headers, symbols for debuggers, a compiler's library that TensorFlow names among
# its dependencies and does not load. Dynamic symbols stay, by which libraries find each other.
#
#     shrink.sh ENVIRONMENT
set -eu
cd "$1"/lib/python3*/site-packages
rm -rf tensorflow/include pyarrow/include clang/native
# Others than these two were changed after they were linked, which strip does not understand.
find tensorflow pyarrow -name '*.so*' -type f -exec strip --strip-unneeded {} +
