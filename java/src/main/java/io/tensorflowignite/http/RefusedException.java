package io.tensorflowignite.http;

/** A request that is refused before its call is made. */
final class RefusedException extends RuntimeException {
  private static final long serialVersionUID = 1;

  final int status;

  RefusedException(int status, String text) {
    super(text, null, false, false);
    this.status = status;
  }
}
