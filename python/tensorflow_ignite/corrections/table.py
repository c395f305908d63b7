"""The corrections, in the order in which those of one module change it.

docs/corrections.md is made of this table: `python tests/unit/correction_table.py`, which also writes `tried.json`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

NONE_REPORTED = "none reported"

_DISTRIBUTE = "tensorflow.python.distribute.distribute_lib"
_DEVICES = "tensorflow.python.data.ops.multi_device_iterator_ops"
_TRAINER = "keras.src.backend.tensorflow.trainer"
_CORE = "keras.src.backend.tensorflow.core"
_EPOCHS = "keras.src.trainers.epoch_iterator"
_COMPILED = "keras.src.trainers.compile_utils"
_DATASETS = "keras.src.trainers.data_adapters.tf_dataset_adapter"
_FUNCTIONAL = "keras.src.models.functional"
_BATCH_NORMALIZATION = "keras.src.layers.normalization.batch_normalization"
_CALLBACKS = "keras.src.callbacks.callback_list"
_LAYERS = "keras.src.layers.preprocessing"
_TF_KERAS_TRAINING = "tf_keras.src.engine.training"
_TF_KERAS_DATA = "tf_keras.src.engine.data_adapter"
_TF_KERAS_COMPILED = "tf_keras.src.engine.compile_utils"
_TF_KERAS_CALLBACKS = "tf_keras.src.callbacks"
_TF_KERAS_LAYERS = "tf_keras.src.engine.base_preprocessing_layer"
_TF_KERAS_FEATURES = "tf_keras.src.utils.feature_space"


class Change(NamedTuple):
    """What a correction changes after the import of one module.

    Attributes:
        module: The module.
        function: The file and function below `tensorflow_ignite.train` that changes it.
        code: The functions and classes that it replaces or relies on, each as a name in the module, or as
            ``module:name`` in another one, which the module imports.
        arguments: Of the function, after the module.
    """

    module: str
    function: str
    code: tuple[str, ...]
    arguments: tuple[str, ...] = ()

    def by_module(self) -> Mapping[str, tuple[str, ...]]:
        """The names of the code by the module that has it."""
        found: dict[str, tuple[str, ...]] = {}
        for each in self.code:
            module, _, name = each.rpartition(":")
            found[module or self.module] = (*found.get(module or self.module, ()), name)
        return found


class Correction(NamedTuple):
    """A correction.

    Attributes:
        name: By which it is switched off.
        without: What happens without it: one sentence, without its first capital letter and its full stop.
        issue: The address of the report to the project whose code it changes, or `NONE_REPORTED`.
        changes: What it changes.
    """

    name: str
    without: str
    issue: str
    changes: tuple[Change, ...]


def _adapts(layer: str, module: str, relied: str) -> Change:
    code = tuple(f"{layer}.{name}" for name in ("adapt", "finalize_state", relied))
    return Change(f"{_LAYERS}.{module}", "adaptation.correct_layer", code, (layer,))


CORRECTIONS = (
    Correction(
        "strategy-check",
        "a strategy that is not the strategy of the job's kind, and options of `fit` that cannot work under it, are no "
        "error before the first step",
        NONE_REPORTED,
        (
            Change(_DISTRIBUTE, "strategy_check.watch", ("StrategyBase.__init__",)),
            Change(
                _TRAINER,
                "keras3.check_fit",
                ("TensorFlowTrainer.fit", "TensorFlowTrainer.distribute_strategy"),
            ),
            Change(_TF_KERAS_TRAINING, "strategy_check.watch_tf_keras", ("Model.fit", "Model.distribute_strategy")),
        ),
    ),
    Correction(
        "workers",
        "`fit`, `evaluate` and `predict` of Keras 3 fail under MultiWorkerMirroredStrategy",
        "https://github.com/keras-team/keras/issues/20585",
        (
            Change(
                _TRAINER,
                "keras3.correct_workers",
                (
                    "TensorFlowTrainer._maybe_symbolic_build",
                    "TensorFlowTrainer._make_function",
                    "TensorFlowTrainer.make_predict_function",
                    "reduce_per_replica",
                ),
            ),
        ),
    ),
    Correction(
        "loss-scale",
        "with `mixed_float16` of Keras 3 each replica decides alone whether it makes a step",
        NONE_REPORTED,
        (
            Change(
                _TRAINER,
                "keras3.correct_loss_scale",
                (
                    "keras.src.optimizers.loss_scale_optimizer:LossScaleOptimizer.check_finite",
                    "keras.src.optimizers.loss_scale_optimizer:LossScaleOptimizer._tf_apply",
                ),
            ),
        ),
    ),
    Correction(
        "whole-steps",
        "the optimizer counts a step without rows at the end of an epoch of unknown length, on some replicas only",
        NONE_REPORTED,
        (
            Change(_TRAINER, "whole_steps.correct_keras3", ("TensorFlowTrainer._make_function",)),
            Change(_TF_KERAS_TRAINING, "whole_steps.correct_tf_keras", ("Model.train_step",)),
        ),
    ),
    Correction(
        "padding",
        'no warning names the metrics that count the filled rows of `uneven="pad"`',
        NONE_REPORTED,
        (
            Change(
                _TRAINER,
                "padding.watch_keras3",
                (
                    "TensorFlowTrainer.fit",
                    "TensorFlowTrainer.evaluate",
                    f"{_COMPILED}:CompileMetrics.__init__",
                ),
            ),
            Change(
                _TF_KERAS_TRAINING,
                "padding.watch_tf_keras",
                ("Model.fit", "Model.evaluate", f"{_TF_KERAS_COMPILED}:MetricsContainer.__init__"),
            ),
        ),
    ),
    Correction(
        "epochs",
        "an epoch with more batches than the first one is cut, and an epoch with fewer batches ends the training",
        "https://github.com/keras-team/keras/issues/15708",
        (
            Change(
                _EPOCHS,
                "keras_epochs.correct_keras3",
                ("EpochIterator.catch_stop_iteration", "EpochIterator._enumerate_iterator"),
            ),
            Change(_TF_KERAS_DATA, "keras_epochs.correct_tf_keras", ("DataHandler.catch_stop_iteration",)),
        ),
    ),
    Correction(
        "class-weights",
        "`class_weight` together with weights of rows is an error, and has no effect under parameter servers",
        "https://github.com/keras-team/keras/issues/497",
        (
            Change(_DATASETS, "class_weights.correct_keras3", ("make_class_weight_map_fn",)),
            Change(
                _TF_KERAS_DATA,
                "class_weights.correct_tf_keras",
                (
                    "_make_class_weight_map_fn",
                    "_ClusterCoordinatorDataHandler._configure_dataset_and_inferred_steps",
                ),
            ),
        ),
    ),
    Correction(
        "fit-input",
        "after a restart within an epoch `fit` reads the epoch from its first row",
        NONE_REPORTED,
        (
            Change(
                _TRAINER,
                "fit_input.correct_keras3",
                (
                    "TensorFlowTrainer.fit",
                    "TFEpochIterator.__init__",
                    "TFEpochIterator._get_iterator",
                    f"{_EPOCHS}:EpochIterator._enumerate_iterator",
                ),
            ),
            Change(_TF_KERAS_TRAINING, "fit_input.correct_fit_of_tf_keras", ("Model.fit",)),
            Change(
                _TF_KERAS_DATA,
                "fit_input.correct_data_of_tf_keras",
                (
                    "DataHandler.__init__",
                    "DataHandler.enumerate_epochs",
                    "DataHandler._truncate_execution_to_epoch",
                ),
            ),
        ),
    ),
    Correction(
        "batch-normalization",
        "`BatchNormalization` of Keras 3 gets NaN from a replica without rows, and a moving mean of its own on each "
        "replica",
        NONE_REPORTED,
        (
            # The last change of the steps: it knows the step of a training by the method of the model.
            Change(_TRAINER, "batch_statistics.correct_steps", ("TensorFlowTrainer._make_function",)),
            Change(
                _BATCH_NORMALIZATION,
                "batch_statistics.correct_layer",
                ("BatchNormalization._moments", "BatchNormalization.call"),
            ),
        ),
    ),
    Correction(
        "variables",
        "a variable that a layer of Keras 3 makes after a restart begins with its initial value",
        NONE_REPORTED,
        (
            Change(
                _CORE,
                "keras_state.correct",
                (
                    "Variable._serialize_to_tensors",
                    "Variable._restore_from_tensors",
                    "Variable._deferred_initialize",
                ),
            ),
        ),
    ),
    Correction(
        "empty-batches",
        "a batch without values of a column of lists is an error in a model of Keras 3",
        NONE_REPORTED,
        (Change(_FUNCTIONAL, "empty_batches.correct", ("Functional._convert_inputs_to_tensors",)),),
    ),
    Correction(
        "callback-states",
        "callbacks, such as `EarlyStopping`, begin anew after a restart",
        "https://github.com/keras-team/keras/issues/14862",
        tuple(
            Change(module, "callback_states.watch", ("CallbackList.on_train_begin", "CallbackList.on_epoch_end"))
            for module in (_CALLBACKS, _TF_KERAS_CALLBACKS)
        ),
    ),
    Correction(
        "equal-state",
        "`fit` does not compare the models of the workers before the first step",
        NONE_REPORTED,
        # After callback-states: a checkpoint is restored then.
        tuple(
            Change(module, "equal_state.watch", ("CallbackList.on_train_begin", "CallbackList.set_model"))
            for module in (_CALLBACKS, _TF_KERAS_CALLBACKS)
        ),
    ),
    Correction(
        "adapt",
        "`adapt` of a preprocessing layer learns on each worker from the rows of that worker alone",
        "https://github.com/keras-team/keras/issues/16325",
        (
            _adapts("Normalization", "normalization", "build"),
            _adapts("Discretization", "discretization", "reset_state"),
            _adapts("IndexLookup", "index_lookup", "reset_state"),
            _adapts("TextVectorization", "text_vectorization", "reset_state"),
            Change(
                _TF_KERAS_LAYERS,
                "adaptation.correct_layer",
                ("PreprocessingLayer.adapt", "PreprocessingLayer._adapt_maybe_build"),
                ("PreprocessingLayer",),
            ),
            Change(f"{_LAYERS}.feature_space", "adaptation.correct_feature_space", ("FeatureSpace.adapt",)),
            Change(_TF_KERAS_FEATURES, "adaptation.correct_feature_space", ("FeatureSpace.adapt",)),
        ),
    ),
    Correction(
        "device-iterators",
        "the end of an iterator over several devices may stop the process for up to a minute",
        NONE_REPORTED,
        (Change(_DEVICES, "device_iterators.correct", ("_create_device_dataset",)),),
    ),
)
