package io.tensorflowignite.base;

import io.tensorflowignite.v1.ErrorCode;

/**
 * An error that a user can act on. Its text has three sentences: the event (with ids), the rule
 * (with its numbers), and the next step.
 */
public final class TensorFlowIgniteException extends RuntimeException {
  /** A status is a percent-encoded HTTP/2 header; clients accept 8 KiB of headers. */
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

  /** An error whose text is a format of {@link String#format} and its values. */
  public static TensorFlowIgniteException of(ErrorCode code, String format, Object... values) {
    return new TensorFlowIgniteException(code, String.format(format, values));
  }

  /** INVALID_REQUEST, see {@link #of}. */
  public static TensorFlowIgniteException invalidRequest(String format, Object... values) {
    return of(ErrorCode.ERROR_CODE_INVALID_REQUEST, format, values);
  }

  /** LIMIT_EXCEEDED, see {@link #of}. */
  public static TensorFlowIgniteException limitExceeded(String format, Object... values) {
    return of(ErrorCode.ERROR_CODE_LIMIT_EXCEEDED, format, values);
  }

  public ErrorCode code() {
    return code;
  }

  /**
   * The text of the gRPC status, with the suffix that names the error's code. The middle of a long
   * text is omitted, since an error may quote a request of any length.
   */
  public String description() {
    return shortened(getMessage()) + " [code=" + MessageText.name(code) + "]";
  }

  /** A text that fits into a status; the middle of a longer text is omitted. */
  public static String shortened(String text) {
    int encoded = 0;
    for (int i = 0; i < text.length(); i++) {
      encoded += encoded(text.charAt(i));
    }
    if (encoded <= MAX_ENCODED) {
      return text;
    }
    int head = 0;
    for (int left = MAX_ENCODED / 2; left > 0; head++) {
      left -= encoded(text.charAt(head));
    }
    int tail = text.length();
    for (int left = MAX_ENCODED / 2; left > 0 && tail > head; tail--) {
      left -= encoded(text.charAt(tail - 1));
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
