#!/bin/sh
# Removes 0.9 GB that no node and no task of ours uses: headers; symbols for debuggers; a library of a compiler that TensorFlow
# requires but does not load; the tests of packages; scikit-learn and what it alone needs. Its digits stay. Dynamic symbols stay
# too, by which libraries find each other.
#
#     shrink.sh ENVIRONMENT
set -eu
cd "$1"/lib/python3*/site-packages
mv sklearn/datasets/data/digits.csv.gz "$1"
"$1"/bin/pip uninstall --quiet --yes scikit-learn scipy joblib threadpoolctl narwhals
rm -rf tensorflow/include pyarrow/include clang/native
find numpy pyarrow h5py -type d -name tests -prune -exec rm -rf {} +
# Only libraries of these two packages: wheels of other packages have libraries that were changed after the link, and strip
# breaks them.
find tensorflow pyarrow -type f \( -name '*.so' -o -name '*.so.*' \) -exec strip --strip-unneeded {} +
