package io.tensorflowignite.data.shared;

import io.tensorflowignite.TensorFlowIgniteException;
import io.tensorflowignite.v1.ErrorCode;
import io.tensorflowignite.v1.Segment;
import java.io.FileDescriptor;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.security.MessageDigest;
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
      // Twice: nothing else shall be opened, and what was opened may be another by then.
      requireOurs(pid, path, path);
      try (RandomAccessFile file = new RandomAccessFile(path.toString(), "rw")) {
        requireOurs(pid, path, Paths.get("/proc/self/fd/" + Descriptors.number(file.getFD())));
        FileChannel channel = file.getChannel();
        if (offer.getBytes() < nonce.length
            || offer.getBytes() > MAX_BYTES
            || offer.getBytes() > channel.size()) {
          throw unavailable(
              pid, "it offers " + offer.getBytes() + " bytes of " + channel.size(), null);
        }
        requireNonce(pid, path, channel, nonce);
        requireSealed(pid, path, channel);
        // The channel may be closed: a mapping holds the memory by itself.
        MappedByteBuffer memory = channel.map(FileChannel.MapMode.READ_WRITE, 0, offer.getBytes());
        // A page fault for each page as it is first written would cost more than the writing.
        memory.load();
        return new MappedSegment(offer, memory);
      }
    } catch (IOException | UnsupportedOperationException failure) {
      throw unavailable(pid, failure.toString(), failure);
    }
  }

  private static void requireOurs(int pid, Path path, Path link) throws IOException {
    String file = Files.readSymbolicLink(link).toString();
    if (!file.equals(FILE)) {
      throw unavailable(pid, path + " is " + file, null);
    }
  }

  private static void requireNonce(int pid, Path path, FileChannel channel, byte[] nonce)
      throws IOException {
    ByteBuffer found = ByteBuffer.allocate(nonce.length);
    while (found.hasRemaining() && channel.read(found, found.position()) > 0) {
      // On until all is there.
    }
    if (!MessageDigest.isEqual(found.array(), nonce)) {
      throw unavailable(pid, path + " belongs to another reader", null);
    }
  }

  /**
   * Memory that its owner could cut off would end this JVM when it is written. Java cannot ask for
   * a seal; it can try what the seal forbids.
   */
  private static void requireSealed(int pid, Path path, FileChannel channel) throws IOException {
    long size = channel.size();
    try {
      channel.truncate(size - 1);
    } catch (IOException sealed) {
      if (channel.size() == size) {
        return;
      }
    }
    throw unavailable(pid, path + " is not sealed against shrinking", null);
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

  /** The number of a file that this process has open; Ignite needs java.io opened as well. */
  private static final class Descriptors {
    static int number(FileDescriptor descriptor) throws IOException {
      try {
        Field number = FileDescriptor.class.getDeclaredField("fd");
        number.setAccessible(true);
        return number.getInt(descriptor);
      } catch (ReflectiveOperationException | RuntimeException failure) {
        throw new IOException("the JVM does not tell what it has opened", failure);
      }
    }
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
