#!/bin/sh
# Removes 0.7 GB that no program uses: headers, symbols for debuggers, and a library of a compiler that TensorFlow requires but
# does not load. Dynamic symbols stay, by which libraries find each other.
#
#     shrink.sh ENVIRONMENT
set -eu
cd "$1"/lib/python3*/site-packages
rm -rf tensorflow/include pyarrow/include clang/native
# Others than these two were changed after they were linked, which strip does not understand.
find tensorflow pyarrow -type f \( -name '*.so' -o -name '*.so.*' \) -exec strip --strip-unneeded {} +
