package io.tensorflowignite.data.column;

/**
 * A value does not fit its column. The message continues the sentence "column NAME …"; callers that
 * know the row add its key.
 */
public final class MismatchException extends Exception {
  /** The mismatch's path inside the column's value: ".city", "[2].name"; empty: the whole value. */
  public final String path;

  /** Whether the batch is too large, rather than the value wrong. */
  public final boolean ofBatch;

  public MismatchException(String message) {
    this("", message, false);
  }

  private MismatchException(String path, String message, boolean ofBatch) {
    super(message, null, false, false);
    this.path = path;
    this.ofBatch = ofBatch;
  }

  /** The value is of a class that its column does not accept. */
  public static MismatchException otherClass(Object value, String expected) {
    return new MismatchException(
        "is of class " + value.getClass().getSimpleName() + " instead of " + expected);
  }

  /** The value would make its batch too large. */
  public static MismatchException batchTooLarge(long limit) {
    return new MismatchException("", "makes its batch exceed " + limit + " bytes", true);
  }

  public MismatchException inField(String name) {
    return new MismatchException("." + name + path, getMessage(), ofBatch);
  }

  public MismatchException at(int position) {
    return new MismatchException("[" + position + "]" + path, getMessage(), ofBatch);
  }
}
