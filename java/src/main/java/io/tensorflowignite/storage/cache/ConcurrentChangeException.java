package io.tensorflowignite.storage.cache;

/** The records that were read do not fit together: another change takes effect at this moment. */
public final class ConcurrentChangeException extends RuntimeException {
  public ConcurrentChangeException(String message) {
    super(message);
  }
}
