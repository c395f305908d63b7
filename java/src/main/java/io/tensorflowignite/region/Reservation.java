package io.tensorflowignite.region;

/** Memory for one write, reserved until the write has ended. */
public interface Reservation extends AutoCloseable {
  /** Of a write that needs no reservation. */
  Reservation NONE = () -> {};

  /** The write has ended, with success or not. */
  @Override
  void close();
}
