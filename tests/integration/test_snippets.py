"""The Python of docs/, as a reader pastes it: after what the text around it assumes."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tensorflow_ignite.testing import LocalCluster
from tensorflow_ignite.testing.patience import patiently

pytestmark = pytest.mark.full

DOCS = Path(__file__).parents[2] / "docs"
SECONDS = patiently(240)
PLACEHOLDER = re.compile(r"(?:localhost|node1):10820")
# release/follow_tutorial.py runs the tutorial. The Python of security.md names callers that this cluster does not know.
NOT_HERE = {"tutorial.md", "security.md"}

_MODEL = """
import keras, numpy as np, os, pyarrow as pa, pyarrow.parquet, tensorflow as tf, tensorflow_ignite as tfi

pixels, labels = np.random.default_rng(0).random((300, 64), "float32"), np.arange(300) % 10
inputs = keras.Input([64], name="pixels")
model = keras.Model(inputs, keras.layers.Dense(10, "softmax")(inputs))
model.compile("adam", "sparse_categorical_crossentropy")
"""
_DIGITS = _MODEL + 'tfi.load("digits", {"pixels": pixels, "label": labels}, if_exists="replace")\n'
#: What the text assumes before snippets of its page, by their index.
ASSUMED = {
    "data.md": {
        0: _MODEL,
        1: "images = np.zeros((20, 28, 28), np.uint8)\n"
        'tfi.load("photos", {"pixels": images, "price": [str(number) for number in range(20)]})\n',
        2: 'rows = {"label": labels, "name": ["a"] * 300, "price": np.arange(300.0)}\n'
        'tfi.load("digits", rows, if_exists="replace")\n',
        3: 'segments = {"segment": np.arange(4), "discount": np.zeros(4)}\n'
        'customers = {"customer": np.arange(9), "segment": np.arange(9) % 4}\n'
        'payments = {"id": np.arange(30), "customer": np.arange(30) % 9, "amount": np.ones(30)}\n',
        5: 'tfi.load("digits", {"pixels": pixels, "label": labels}, if_exists="replace")\n',
    },
    "changing-data.md": {0: _DIGITS},
    "jobs.md": {
        0: _DIGITS + 'tfi.load("images", {"pixels": pixels}, if_exists="replace")\n'
        "open('train.py', 'w').write('print(7)')\n",
        1: "step, total_steps, loss = 1, 2, 0.5\n",
        2: "client = tfi.connect(os.environ['TENSORFLOW_IGNITE_ADDRESS'])\n"
        "def train(epochs):\n    print(epochs, 'epochs')\n",
        3: "open('requirements.txt', 'w').close()\n",
    },
    "load.md": {
        0: _MODEL + "os.mkdir('trips')\n"
        "trips = pa.table({'id': range(9), 'driver': [1, 2, 3] * 3, 'fare': [1.0] * 9})\n"
        "pa.parquet.write_table(trips, 'trips/may.parquet')\n",
    },
    "models.md": {
        0: _DIGITS,
        1: 'from pathlib import Path\nmodel.save("digits.keras")\n'
        'client = tfi.connect(os.environ["TENSORFLOW_IGNITE_ADDRESS"])\n'
        'client.models.add("digits", "digits.keras", label="stable")\n',
    },
    "predict.md": {
        0: _MODEL + 'tfi.load("images", {"pixels": pixels, "label": labels}, if_exists="replace")\n'
        'model = keras.Model(inputs, keras.layers.Dense(10, name="digits")(inputs))\nmodel.save("digits.keras")\n'
        'client = tfi.connect(os.environ["TENSORFLOW_IGNITE_ADDRESS"])\n'
        'client.models.add("digits", "digits.keras", label="stable")\n',
        3: 'import grpc\nclient.models.deploy("digits")\nrows = pixels[:4]\n'
        'channel = grpc.insecure_channel(os.environ["TENSORFLOW_IGNITE_ADDRESS"])\n',
    },
    "storage.md": {
        0: _DIGITS + "open('trips.csv', 'w').write('fare\\n1.5\\n')\n",
    },
}


@pytest.fixture(scope="module")
def fresh() -> Iterator[LocalCluster]:
    """A cluster without the caches that the snippets make."""
    with LocalCluster(1) as cluster:
        yield cluster


def snippets(page: Path) -> list[str]:
    return re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL)


def test_every_page_with_python_is_run() -> None:
    assert {page.name for page in DOCS.glob("*.md") if snippets(page)} == ASSUMED.keys() | NOT_HERE


@pytest.mark.parametrize("page", ASSUMED)
def test_the_python_of_a_page_runs(page: str, fresh: LocalCluster, tmp_path: Path) -> None:
    found = snippets(DOCS / page)
    assert max(ASSUMED[page]) < len(found)
    script = "\n".join(ASSUMED[page].get(number, "") + text for number, text in enumerate(found))
    done = subprocess.run(
        [sys.executable, "-c", PLACEHOLDER.sub(fresh.address, script)],
        cwd=tmp_path,
        env={**os.environ, "TENSORFLOW_IGNITE_ADDRESS": fresh.address},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr
