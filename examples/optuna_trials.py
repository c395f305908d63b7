"""A study of Optuna whose trials are jobs: the queue runs them beside the rows, and bad ones are stopped early.

    pip install optuna
    python optuna_trials.py              # calls localhost:10820; or TENSORFLOW_IGNITE_ADDRESS=HOST:PORT

Outside a job this script submits itself for each trial, with the parameters as arguments. The job trains on the cache
``digits``, and prints after each epoch which share of the rows that it holds out it knows. A trial that is not in the
better half after 2, 4, 8 or 16 epochs is stopped, and makes room for the next one. The best parameters are printed.
"""

import contextlib
import re
import sys

import tensorflow_ignite as tfi

TRIALS, AT_ONCE, EPOCHS, BATCH = 8, 4, 30, 32


def train(learning_rate: float, units: int) -> None:
    """The script of a job: one worker, which reads all rows."""
    import keras
    import tensorflow as tf

    def scaled(features: dict[str, tf.Tensor], label: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        return tf.ensure_shape(features["pixels"], [None, 64]) / 16.0, label

    def rows(side: str) -> tf.data.Dataset:
        options = {"label": "label", "shuffle": side == "training", "hold_out": tfi.HoldOut(0.2, side)}
        return tfi.dataset("digits", columns=["pixels", "label"], **options).batch(BATCH).map(scaled)

    model = keras.Sequential([keras.Input([64]), keras.layers.Dense(units, "relu"), keras.layers.Dense(10)])
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.Adam(learning_rate), loss, metrics=["accuracy"])
    for epoch in range(1, EPOCHS + 1):
        model.fit(rows("training"), verbose=0, shuffle=False)
        _, accuracy = model.evaluate(rows("validation"), verbose=0)
        tfi.train.report(epoch, EPOCHS, accuracy=accuracy)  # for people; the study reads the output
        print(f"epoch {epoch} accuracy={accuracy:.4f}", flush=True)


def main() -> None:
    """The study."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)

    def run(trial: optuna.Trial) -> float:
        rate = trial.suggest_float("learning_rate", 1e-5, 1e-1, log=True)
        units = trial.suggest_int("units", 8, 128, log=True)
        name = f"trial {trial.number}"
        job = client.submit(__file__, cache="digits", strategy="one", name=name, args=[str(rate), str(units)])
        accuracy = 0.0
        for line in job.logs(follow=True):
            if found := re.fullmatch(r"epoch (\d+) accuracy=(\S+)", line.text):
                epoch, accuracy = int(found[1]), float(found[2])
                trial.report(accuracy, epoch)
                if trial.should_prune():
                    with contextlib.suppress(tfi.errors.JobFinishedError):  # it has just ended
                        job.stop()
                    state = job.refresh().state
                    print(f"{name}: {state} after epoch {epoch}, accuracy={accuracy:.4f}", flush=True)
                    raise optuna.TrialPruned
        job.wait()  # raises an error if the job has failed
        print(f"{name}: {job.status.state}, accuracy={accuracy:.4f}", flush=True)
        return accuracy

    # Compares with trials that run, too. Jobs beyond the room of the nodes wait in the queue.
    pruner = optuna.pruners.SuccessiveHalvingPruner(min_resource=2, reduction_factor=2)
    study = optuna.create_study(direction="maximize", pruner=pruner)
    with tfi.connect() as client:
        study.optimize(run, n_trials=TRIALS, n_jobs=AT_ONCE)
    print(f"best: {study.best_params}, accuracy={study.best_value:.4f}")


if __name__ == "__main__":
    train(float(sys.argv[1]), int(sys.argv[2])) if tfi.train.context().in_job else main()
