package io.tensorflowignite.data.shared;

import io.tensorflowignite.TensorFlowIgniteException;
import io.tensorflowignite.v1.ErrorCode;
import io.tensorflowignite.v1.Segment;
import java.io.IOException;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import org.apache.arrow.memory.util.MemoryUtil;

/**
 * Memory of a reading process, mapped into this one. The thread that writes into it is the one that
 * closes it: a write after that would end the JVM.
 */
final class MappedSegment implements AutoCloseable {
  static final long MAX_BYTES = Integer.MAX_VALUE;

  /** What the file system shows for the memory that our readers make, and for nothing else. */
  private static final String FILE = "/memfd:tensorflow-ignite (deleted)";

  private final int id;
  private final boolean once;
  private final MappedByteBuffer memory;
  private final long address;

  private MappedSegment(Segment offer, MappedByteBuffer memory) {
    this.id = offer.getId();
    this.once = offer.getOnce();
    this.memory = memory;
    this.address = MemoryUtil.getByteBufferAddress(memory);
  }

  /**
   * Maps what a process offers.
   *
   * @param nonce what the memory begins with, if it is that of the process meant
   */
  static MappedSegment open(int pid, byte[] nonce, Segment offer) {
    Path path = Paths.get("/proc/" + pid + "/fd/" + offer.getFd());
    try {
      String file = Files.readSymbolicLink(path).toString();
      if (!file.equals(FILE)) {
        throw unavailable(pid, path + " is " + file, null);
      }
      try (FileChannel channel =
          FileChannel.open(path, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
        if (offer.getBytes() < nonce.length
            || offer.getBytes() > MAX_BYTES
            || offer.getBytes() > channel.size()) {
          throw unavailable(
              pid, "it offers " + offer.getBytes() + " bytes of " + channel.size(), null);
        }
        // The channel may be closed: a mapping holds the memory by itself.
        MappedByteBuffer memory = channel.map(FileChannel.MapMode.READ_WRITE, 0, offer.getBytes());
        byte[] found = new byte[nonce.length];
        memory.get(found).clear();
        if (!Arrays.equals(found, nonce)) {
          unmap(memory);
          throw unavailable(pid, path + " belongs to another reader", null);
        }
        // A page fault for each page as it is first written would cost more than the writing.
        memory.load();
        return new MappedSegment(offer, memory);
      }
    } catch (IOException | UnsupportedOperationException failure) {
      throw unavailable(pid, failure.toString(), failure);
    }
  }

  int id() {
    return id;
  }

  /** Filled once, it is not offered again. */
  boolean once() {
    return once;
  }

  long address() {
    return address;
  }

  long bytes() {
    return memory.capacity();
  }

  /** Unmaps it now, not when the garbage collector comes by: the memory is the reader's. */
  @Override
  public void close() {
    unmap(memory);
  }

  private static void unmap(ByteBuffer memory) {
    try {
      Unmapper.INVOKE_CLEANER.invoke(Unmapper.UNSAFE, memory);
    } catch (ReflectiveOperationException failure) {
      throw new IllegalStateException("Shared memory cannot be unmapped", failure);
    }
  }

  private static TensorFlowIgniteException unavailable(int pid, String reason, Throwable cause) {
    return new TensorFlowIgniteException(
        ErrorCode.SHARING_UNAVAILABLE,
        String.format(
            "this node cannot write into the memory of process %d: %s; reader and node must run on"
                + " one host, as one user, and see the same processes; read over the network"
                + " (transport=\"flight\")",
            pid, reason),
        cause);
  }

  /** The JVM's only way to unmap at once; Java 11 has none that is public. */
  private static final class Unmapper {
    static final Object UNSAFE;
    static final Method INVOKE_CLEANER;

    static {
      try {
        Class<?> unsafe = Class.forName("sun.misc.Unsafe");
        Field instance = unsafe.getDeclaredField("theUnsafe");
        instance.setAccessible(true);
        UNSAFE = instance.get(null);
        INVOKE_CLEANER = unsafe.getMethod("invokeCleaner", ByteBuffer.class);
      } catch (ReflectiveOperationException failure) {
        throw new ExceptionInInitializerError(failure);
      }
    }
  }
}
