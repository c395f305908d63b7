package io.tensorflowignite.memory;

import static io.tensorflowignite.base.TensorFlowIgniteException.invalidRequest;
import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_SHARING_UNAVAILABLE;

import com.google.protobuf.ByteString;
import io.tensorflowignite.base.TensorFlowIgniteException;
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
 * Memory of another process on this host, mapped into this process. No thread may use it after
 * {@link #close}: that would end the JVM.
 */
public final class MappedMemory implements AutoCloseable {
  public static final long MAX_BYTES = Integer.MAX_VALUE;

  private static final int NONCE_BYTES = 16;
  private static final int MAX_NONCE_BYTES = 256;

  /** The target of the link in /proc for memory that our clients create, and for no other file. */
  private static final String FILE = "/memfd:tensorflow-ignite (deleted)";

  private final MappedByteBuffer memory;
  private final long address;

  private MappedMemory(MappedByteBuffer memory) {
    this.memory = memory;
    this.address = MemoryUtil.getByteBufferAddress(memory);
  }

  /** Throws INVALID_REQUEST unless the nonce is too long to guess. */
  public static void requireNonce(ByteString nonce) {
    if (nonce.size() < NONCE_BYTES || nonce.size() > MAX_NONCE_BYTES) {
      throw invalidRequest(
          "The nonce has %d bytes. A nonce has %d to %d random bytes. Send a nonce of this"
              + " length.",
          nonce.size(), NONCE_BYTES, MAX_NONCE_BYTES);
    }
  }

  /**
   * Maps memory that a process offers.
   *
   * @param fd the process's file descriptor of the memory
   * @param bytes the number of bytes to map
   * @param nonce the first bytes of the memory, if this is the expected process
   */
  public static MappedMemory open(int pid, int fd, long bytes, byte[] nonce) {
    Path path = Paths.get("/proc/" + pid + "/fd/" + fd);
    try {
      // Checked before opening, so that no other file is opened, and again afterwards, since the
      // descriptor may have changed in between.
      requireClientMemory(pid, path, path);
      try (RandomAccessFile file = new RandomAccessFile(path.toString(), "rw")) {
        requireClientMemory(
            pid, path, Paths.get("/proc/self/fd/" + Descriptors.number(file.getFD())));
        FileChannel channel = file.getChannel();
        if (bytes < nonce.length || bytes > MAX_BYTES || bytes > channel.size()) {
          throw unavailable(
              pid, "the process offers " + bytes + " bytes of " + channel.size(), null);
        }
        requireNonce(pid, path, channel, nonce);
        requireSealed(pid, path, channel);
        // The mapping stays valid after the channel is closed.
        MappedByteBuffer memory = channel.map(FileChannel.MapMode.READ_WRITE, 0, bytes);
        // Otherwise the first write to each page would cost a page fault.
        memory.load();
        return new MappedMemory(memory);
      }
    } catch (IOException | UnsupportedOperationException failure) {
      throw unavailable(pid, failure.toString(), failure);
    }
  }

  private static void requireClientMemory(int pid, Path path, Path link) throws IOException {
    String file = Files.readSymbolicLink(link).toString();
    if (!file.equals(FILE)) {
      throw unavailable(pid, path + " is " + file, null);
    }
  }

  private static void requireNonce(int pid, Path path, FileChannel channel, byte[] nonce)
      throws IOException {
    ByteBuffer found = ByteBuffer.allocate(nonce.length);
    while (found.hasRemaining() && channel.read(found, found.position()) > 0) {
      // Reads until the buffer is full or the file ends.
    }
    if (!MessageDigest.isEqual(found.array(), nonce)) {
      throw unavailable(pid, path + " belongs to another process", null);
    }
  }

  /**
   * Checks that the owner cannot shrink the memory: otherwise a write to it could end this JVM.
   * Java cannot query seals, so this method tries to shrink the memory.
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

  public long address() {
    return address;
  }

  public long bytes() {
    return memory.capacity();
  }

  /** A range of the memory, as a buffer with its own position. */
  public ByteBuffer slice(long offset, int bytes) {
    ByteBuffer slice = memory.duplicate();
    slice.position(Math.toIntExact(offset));
    slice.limit(Math.toIntExact(offset + bytes));
    return slice;
  }

  /**
   * Unmaps the memory at once: it belongs to the other process, and must not wait for a garbage
   * collection.
   */
  @Override
  public void close() {
    try {
      Unmapper.INVOKE_CLEANER.invoke(Unmapper.UNSAFE, memory);
    } catch (ReflectiveOperationException failure) {
      throw new IllegalStateException("Shared memory cannot be unmapped", failure);
    }
  }

  private static TensorFlowIgniteException unavailable(int pid, String reason, Throwable cause) {
    return new TensorFlowIgniteException(
        ERROR_CODE_SHARING_UNAVAILABLE,
        String.format(
            "This node cannot use the memory of process %d: %s. Client and node must run on one"
                + " host, as one user, and see the same processes. Use the network (for a dataset:"
                + " transport=\"flight\").",
            pid, reason),
        cause);
  }

  /** The number of an open file descriptor. Ignite also needs access to java.io. */
  private static final class Descriptors {
    static int number(FileDescriptor descriptor) throws IOException {
      try {
        Field number = FileDescriptor.class.getDeclaredField("fd");
        number.setAccessible(true);
        return number.getInt(descriptor);
      } catch (ReflectiveOperationException | RuntimeException failure) {
        throw new IOException("the JVM does not show the number of a file descriptor", failure);
      }
    }
  }

  /** The only method to unmap at once; Java 11 has no public one. */
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
