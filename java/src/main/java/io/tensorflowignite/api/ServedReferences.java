package io.tensorflowignite.api;

import static io.tensorflowignite.base.TensorFlowIgniteException.invalidRequest;
import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_FILE_NOT_FOUND;
import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_MODEL_NOT_FOUND;

import io.tensorflowignite.base.ModelPaths;
import io.tensorflowignite.base.TensorFlowIgniteException;
import io.tensorflowignite.predict.Predictor;
import io.tensorflowignite.serving.v1.ModelSpec;
import io.tensorflowignite.storage.Storage;
import io.tensorflowignite.storage.StorageInput;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;

/** The models that callers of TensorFlow Serving's API name, as NAME or NAME:NUMBER. */
public final class ServedReferences {
  private static final int LABEL_BYTES = 32;

  private final Storage storage;

  /**
   * @param storage has the labels of models
   */
  public ServedReferences(Storage storage) {
    this.storage = storage;
  }

  /**
   * The reference of a model; one of its versions if the caller names it by number or label.
   *
   * @throws TensorFlowIgniteException MODEL_NOT_FOUND: the model has no such label
   */
  String of(ModelSpec spec) {
    switch (spec.getVersionChoiceCase()) {
      case VERSION:
        return checked(named(spec) + ":" + spec.getVersion().getValue());
      case VERSION_LABEL:
        return checked(spec.getName() + ":" + labelled(named(spec), spec.getVersionLabel()));
      default:
        return named(spec);
    }
  }

  /**
   * NAME@LABEL as NAME:NUMBER; other texts are returned as they are.
   *
   * @throws TensorFlowIgniteException MODEL_NOT_FOUND: the model has no such label
   */
  public String of(String model) {
    int label = model == null ? -1 : model.indexOf('@');
    if (label < 0) {
      return model;
    }
    String name = checked(model.substring(0, label));
    return checked(name + ":" + labelled(name, model.substring(label + 1)));
  }

  /** The name, which names no version. */
  private static String named(ModelSpec spec) {
    String name = checked(spec.getName());
    if (name.contains(":")) {
      throw invalidRequest(
          "'%s' is no name of a model: the version stands apart. Send name and version", name);
    }
    return name;
  }

  private static String checked(String reference) {
    Predictor.requireReference(reference);
    return reference;
  }

  /** The number in the file of a label, which `tensorflow_ignite.models.registry` writes. */
  private String labelled(String name, String label) {
    if (label.matches("[A-Za-z0-9_.-]{1,64}")) {
      try (StorageInput file = new StorageInput(storage, ModelPaths.label(name, label))) {
        return new String(file.readNBytes(LABEL_BYTES), StandardCharsets.UTF_8).trim();
      } catch (TensorFlowIgniteException e) {
        if (e.code() != ERROR_CODE_FILE_NOT_FOUND) {
          throw e;
        }
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }
    throw TensorFlowIgniteException.of(
        ERROR_CODE_MODEL_NOT_FOUND,
        "Unrecognized servable version label: %.64s. A label is given to a version of the model."
            + " Give it: tensorflow-ignite model label %s:VERSION %1$.64s",
        label,
        name);
  }
}
