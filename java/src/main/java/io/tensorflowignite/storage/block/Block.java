package io.tensorflowignite.storage.block;

import com.google.common.primitives.Ints;
import com.google.protobuf.ByteString;
import com.google.protobuf.UnsafeByteOperations;
import java.nio.ByteBuffer;
import java.util.zip.CRC32;

/**
 * A block as the cache stores it: 4 bytes CRC-32 of the data, then the data. The array never
 * changes: the network and the cache share it.
 */
public final class Block {
  private static final int HEAD = Integer.BYTES;

  private final byte[] value;

  private Block(byte[] value) {
    this.value = value;
  }

  /** Copies the data. */
  public static Block of(ByteString data) {
    byte[] value = new byte[HEAD + data.size()];
    data.copyTo(value, HEAD);
    return sealed(value);
  }

  /** Copies a part of the array. */
  public static Block of(byte[] data, int offset, int count) {
    byte[] value = new byte[HEAD + count];
    System.arraycopy(data, offset, value, HEAD, count);
    return sealed(value);
  }

  /** Copies the buffer's remaining bytes. */
  public static Block of(ByteBuffer data) {
    byte[] value = new byte[HEAD + data.remaining()];
    data.get(value, HEAD, value.length - HEAD);
    return sealed(value);
  }

  private static Block sealed(byte[] value) {
    int checksum = checksum(value, HEAD, value.length - HEAD);
    System.arraycopy(Ints.toByteArray(checksum), 0, value, 0, HEAD);
    return new Block(value);
  }

  /** The block of a cache's value; null when its checksum does not match. */
  static Block verified(byte[] value) {
    return value.length >= HEAD
            && Ints.fromByteArray(value) == checksum(value, HEAD, value.length - HEAD)
        ? new Block(value)
        : null;
  }

  byte[] value() {
    return value;
  }

  /** Bytes of data, without the checksum. */
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

  /** Copies a part of the data into a buffer. */
  void copyTo(ByteBuffer target, int offset, int count) {
    target.put(value, HEAD + offset, count);
  }

  private static int checksum(byte[] bytes, int offset, int count) {
    CRC32 crc = new CRC32();
    crc.update(bytes, offset, count);
    return (int) crc.getValue();
  }
}
