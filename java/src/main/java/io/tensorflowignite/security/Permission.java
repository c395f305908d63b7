package io.tensorflowignite.security;

import java.util.Optional;

/** What a rule can give. */
public enum Permission {
  SUBMIT("submit", Applies.NOTHING),
  /** Jobs, their output, and the nodes. */
  WATCH("watch", Applies.NOTHING),
  /** And remove. */
  STOP("stop", Applies.NOTHING),
  READ("read", Applies.CACHES),
  WRITE("write", Applies.CACHES),
  FILES("files", Applies.PATHS),
  FILES_READ("files-read", Applies.PATHS),
  ALL("all", Applies.NOTHING);

  /** What the pattern of a rule is of. */
  enum Applies {
    NOTHING,
    CACHES,
    PATHS
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

  Applies applies() {
    return applies;
  }

  /** Whether who has this one has the other as well. */
  boolean includes(Permission other) {
    return this == other || this == ALL || (this == FILES && other == FILES_READ);
  }

  @Override
  public String toString() {
    return word;
  }
}
