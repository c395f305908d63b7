package io.tensorflowignite.data.column;

/**
 * A value does not fit its column; the message continues the sentence "column NAME …". Whoever
 * knows the row tells it.
 */
public final class MismatchException extends Exception {
  private final String path;
  private final boolean ofBatch;

  public MismatchException(String message) {
    this("", message, false);
  }

  private MismatchException(String path, String message, boolean ofBatch) {
    super(message, null, false, false);
    this.path = path;
    this.ofBatch = ofBatch;
  }

  /** A value of a class that its column does not take. */
  public static MismatchException otherClass(Object value, String expected) {
    return new MismatchException(
        "is of class " + value.getClass().getSimpleName() + " instead of " + expected);
  }

  /** Not the row is at fault but the batch that it would make too large. */
  public static MismatchException batchTooLarge(long limit) {
    return new MismatchException("", "makes its batch exceed " + limit + " bytes", true);
  }

  public boolean ofBatch() {
    return ofBatch;
  }

  /** Where inside of its column's value the mismatch stands: ".city", "[2].name"; mostly empty. */
  public String path() {
    return path;
  }

  public MismatchException inField(String name) {
    return new MismatchException("." + name + path, getMessage(), ofBatch);
  }

  public MismatchException at(int position) {
    return new MismatchException("[" + position + "]" + path, getMessage(), ofBatch);
  }
}
