package io.tensorflowignite.storage.block;

import com.google.common.primitives.Ints;
import com.google.protobuf.ByteString;
import com.google.protobuf.UnsafeByteOperations;
import java.nio.ByteBuffer;
import java.util.zip.CRC32;

/**
 * One block as it lies in the cache: 4 bytes CRC-32 of the data, then the data. Nobody changes the
 * array once it is made: what is sent and what is stored are the same bytes.
 */
public final class Block {
  private static final int HEAD = Integer.BYTES;

  private final byte[] value;

  private Block(byte[] value) {
    this.value = value;
  }

  /** A block of these data, which are copied. */
  public static Block of(ByteString data) {
    byte[] value = new byte[HEAD + data.size()];
    data.copyTo(value, HEAD);
    return sealed(value);
  }

  /** A block of a part of an array, which is copied. */
  public static Block of(byte[] data, int offset, int count) {
    byte[] value = new byte[HEAD + count];
    System.arraycopy(data, offset, value, HEAD, count);
    return sealed(value);
  }

  /** A block of what is left in a buffer, which is copied. */
  static Block of(ByteBuffer data) {
    byte[] value = new byte[HEAD + data.remaining()];
    data.get(value, HEAD, value.length - HEAD);
    return sealed(value);
  }

  private static Block sealed(byte[] value) {
    int checksum = checksum(value, HEAD, value.length - HEAD);
    System.arraycopy(Ints.toByteArray(checksum), 0, value, 0, HEAD);
    return new Block(value);
  }

  /** What the cache holds; null when that is not what {@link #value} has given once. */
  static Block verified(byte[] value) {
    return value.length >= HEAD
            && Ints.fromByteArray(value) == checksum(value, HEAD, value.length - HEAD)
        ? new Block(value)
        : null;
  }

  byte[] value() {
    return value;
  }

  /** Of data, in bytes. */
  public int size() {
    return value.length - HEAD;
  }

  /** CRC-32 of the data. */
  public int checksum() {
    return Ints.fromByteArray(value);
  }

  /** CRC-32 of a part of the data. */
  public int checksum(int offset, int count) {
    return count == size() ? checksum() : checksum(value, HEAD + offset, count);
  }

  /** The data, not copied. */
  public ByteString data() {
    return data(0, size());
  }

  /** A part of the data, not copied. */
  public ByteString data(int offset, int count) {
    return UnsafeByteOperations.unsafeWrap(value, HEAD + offset, count);
  }

  /** Lays a part of the data into a buffer that has room for it. */
  void copyTo(ByteBuffer place, int offset, int count) {
    place.put(value, HEAD + offset, count);
  }

  private static int checksum(byte[] bytes, int offset, int count) {
    CRC32 crc = new CRC32();
    crc.update(bytes, offset, count);
    return (int) crc.getValue();
  }
}
