package io.tensorflowignite.data;

/**
 * A value does not fit its column; the message continues the sentence "column NAME …". Whoever
 * knows the row tells it.
 */
final class MismatchException extends Exception {
  MismatchException(String message) {
    super(message, null, false, false);
  }
}
