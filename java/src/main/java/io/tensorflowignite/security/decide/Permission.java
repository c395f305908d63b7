package io.tensorflowignite.security.decide;

import java.util.Optional;

/** The permissions that a rule can grant. */
public enum Permission {
  SUBMIT("submit", Applies.NOTHING),
  /** To read jobs, their output, and the list of nodes. */
  WATCH("watch", Applies.NOTHING),
  /** To stop and remove jobs. */
  STOP("stop", Applies.NOTHING),
  READ("read", Applies.CACHES),
  WRITE("write", Applies.CACHES),
  FILES("files", Applies.PATHS),
  FILES_READ("files-read", Applies.PATHS),
  /** To call models that are served. */
  PREDICT("predict", Applies.MODELS),
  /** To decide which version of a model is served, and where. */
  DEPLOY("deploy", Applies.MODELS),
  ALL("all", Applies.NOTHING);

  /** The objects to which the pattern of a rule applies. */
  public enum Applies {
    NOTHING,
    CACHES,
    PATHS,
    MODELS
  }

  private final String word;
  private final Applies applies;

  Permission(String word, Applies applies) {
    this.word = word;
    this.applies = applies;
  }

  static Optional<Permission> of(String word) {
    for (Permission permission : values()) {
      if (permission.word.equals(word)) {
        return Optional.of(permission);
      }
    }
    return Optional.empty();
  }

  public Applies applies() {
    return applies;
  }

  /** Whether this permission includes another permission. */
  boolean includes(Permission other) {
    return this == other
        || this == ALL
        || (this == FILES && other == FILES_READ)
        || (this == DEPLOY && other == PREDICT);
  }

  @Override
  public String toString() {
    return word;
  }
}
