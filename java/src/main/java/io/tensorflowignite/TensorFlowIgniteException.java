package io.tensorflowignite;

import io.tensorflowignite.v1.ErrorCode;

/**
 * An error that a user can act on. Its text has three parts: what happened (with ids), the rule
 * (with its numbers), what to do next.
 */
public final class TensorFlowIgniteException extends RuntimeException {
  /** A status travels in one HTTP/2 header, of which clients take 8 KiB in all, percent-encoded. */
  private static final int MAX_ENCODED = 3_800;

  private final ErrorCode code;

  public TensorFlowIgniteException(ErrorCode code, String message) {
    super(message);
    this.code = code;
  }

  public TensorFlowIgniteException(ErrorCode code, String message, Throwable cause) {
    super(message, cause);
    this.code = code;
  }

  public ErrorCode code() {
    return code;
  }

  /**
   * The text as it travels in a gRPC status: with the suffix by which clients know the error. What
   * an error repeats of a request may be of any length: the middle of a long text is left out.
   */
  public String description() {
    return shortened(getMessage()) + " [code=" + code + "]";
  }

  /** A text of any origin, short enough for a status. */
  public static String shortened(String text) {
    int encoded = 0;
    for (int i = 0; i < text.length(); i++) {
      encoded += encoded(text.charAt(i));
    }
    if (encoded <= MAX_ENCODED) {
      return text;
    }
    int head = 0;
    for (int room = MAX_ENCODED / 2; room > 0; head++) {
      room -= encoded(text.charAt(head));
    }
    int tail = text.length();
    for (int room = MAX_ENCODED / 2; room > 0 && tail > head; tail--) {
      room -= encoded(text.charAt(tail - 1));
    }
    if (Character.isHighSurrogate(text.charAt(head - 1))) {
      head--;
    }
    if (tail < text.length() && Character.isLowSurrogate(text.charAt(tail))) {
      tail++;
    }
    return text.substring(0, head) + " … " + text.substring(Math.max(head, tail));
  }

  private static int encoded(char letter) {
    return letter >= ' ' && letter <= '~' && letter != '%' ? 1 : letter < 0x80 ? 3 : 9;
  }
}
