package io.tensorflowignite.memory;

import com.google.protobuf.ByteString;
import io.tensorflowignite.TensorFlowIgniteException;
import io.tensorflowignite.v1.ErrorCode;
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
 * Memory of a process on this host, mapped into this one. Who uses it sees to it that nobody does
 * once it is closed: that would end the JVM.
 */
public final class MappedMemory implements AutoCloseable {
  public static final long MAX_BYTES = Integer.MAX_VALUE;

  private static final int NONCE_BYTES = 16;
  private static final int MAX_NONCE_BYTES = 256;

  /** What the file system shows for the memory that our clients make, and for nothing else. */
  private static final String FILE = "/memfd:tensorflow-ignite (deleted)";

  private final MappedByteBuffer memory;
  private final long address;

  private MappedMemory(MappedByteBuffer memory) {
    this.memory = memory;
    this.address = MemoryUtil.getByteBufferAddress(memory);
  }

  /** Throws unless nobody could guess it. */
  public static void requireNonce(ByteString nonce) {
    if (nonce.size() < NONCE_BYTES || nonce.size() > MAX_NONCE_BYTES) {
      throw new TensorFlowIgniteException(
          ErrorCode.INVALID_REQUEST,
          String.format(
              "the nonce has %d bytes; it has %d to %d, at random; send so many",
              nonce.size(), NONCE_BYTES, MAX_NONCE_BYTES));
    }
  }

  /**
   * Maps what a process offers.
   *
   * @param fd by which the process has it open
   * @param bytes how much of it
   * @param nonce what the memory begins with, if it is that of the process meant
   */
  public static MappedMemory open(int pid, int fd, long bytes, byte[] nonce) {
    Path path = Paths.get("/proc/" + pid + "/fd/" + fd);
    try {
      // Twice: nothing else shall be opened, and what was opened may be another by then.
      requireOurs(pid, path, path);
      try (RandomAccessFile file = new RandomAccessFile(path.toString(), "rw")) {
        requireOurs(pid, path, Paths.get("/proc/self/fd/" + Descriptors.number(file.getFD())));
        FileChannel channel = file.getChannel();
        if (bytes < nonce.length || bytes > MAX_BYTES || bytes > channel.size()) {
          throw unavailable(pid, "it offers " + bytes + " bytes of " + channel.size(), null);
        }
        requireNonce(pid, path, channel, nonce);
        requireSealed(pid, path, channel);
        // The channel may be closed: a mapping holds the memory by itself.
        MappedByteBuffer memory = channel.map(FileChannel.MapMode.READ_WRITE, 0, bytes);
        // A page fault for each page as it is first written would cost more than the writing.
        memory.load();
        return new MappedMemory(memory);
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
      throw unavailable(pid, path + " belongs to another process", null);
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

  public long address() {
    return address;
  }

  public long bytes() {
    return memory.capacity();
  }

  /** A part of it, with a position of its own. */
  public ByteBuffer part(long offset, int bytes) {
    ByteBuffer part = memory.duplicate();
    part.position(Math.toIntExact(offset));
    part.limit(Math.toIntExact(offset + bytes));
    return part;
  }

  /** Unmaps it now, not when the garbage collector comes by: the memory is the other process's. */
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
            "this node cannot use the memory of process %d: %s; client and node must run on one"
                + " host, as one user, and see the same processes; use the network (of a dataset:"
                + " transport=\"flight\")",
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
