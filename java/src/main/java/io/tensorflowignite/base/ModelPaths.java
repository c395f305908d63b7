package io.tensorflowignite.base;

/** Paths of models in the cluster's storage, as the clients make them too. */
public final class ModelPaths {
  /** The name of the directory of all models, which is in the root. */
  public static final String ROOT = "models";

  /** The name of a model's directory of labels: files that contain the number of a version. */
  public static final String LABELS = ".labels";

  /** The label of the version that the name of a model alone means. */
  public static final String STABLE = "stable";

  private static final String METADATA = "model.json";

  private ModelPaths() {}

  /** The directory of a model: its versions are directories in it, named by their numbers. */
  public static String model(String name) {
    return "/" + ROOT + "/" + name;
  }

  /** The directory of a version. */
  public static String version(String name, long number) {
    return model(name) + "/" + number;
  }

  /** The file with the metadata of a version. */
  public static String metadata(String name, long number) {
    return version(name, number) + "/" + METADATA;
  }

  /** The file of a label. */
  public static String label(String name, String label) {
    return model(name) + "/" + LABELS + "/" + label;
  }

  /** The directory of a model that a job has exported, until it becomes a version. */
  public static String exported(String name, String jobId) {
    return model(name) + "/.exported-" + jobId;
  }

  /** The directory of files with the numbers of removed versions. */
  public static String removedVersions(String name) {
    return model(name) + "/.removed";
  }
}
