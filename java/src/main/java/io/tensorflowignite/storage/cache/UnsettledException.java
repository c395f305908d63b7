package io.tensorflowignite.storage.cache;

/** Records that do not fit together: a change is taking effect at this moment. Look again. */
public final class UnsettledException extends RuntimeException {
  public UnsettledException(String message) {
    super(message);
  }
}
