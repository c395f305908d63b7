package io.tensorflowignite.storage.block;

import static io.tensorflowignite.base.TensorFlowIgniteException.invalidRequest;
import static io.tensorflowignite.base.TensorFlowIgniteException.limitExceeded;
import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_SHARING_UNAVAILABLE;

import com.google.protobuf.ByteString;
import io.tensorflowignite.base.TensorFlowIgniteException;
import io.tensorflowignite.memory.MappedMemory;
import io.tensorflowignite.v1.MemoryRange;
import java.nio.ByteBuffer;
import java.security.SecureRandom;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.locks.ReadWriteLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import java.util.function.Consumer;

/**
 * The memory that processes on this host share with the node, by random names. A name is a secret:
 * only the process that shares the memory knows it.
 */
public final class SharedMemoryRegistry implements AutoCloseable {
  private static final int MAX_MEMORIES = 256;
  private static final long MAX_TOTAL_BYTES = 8L << 30;
  private static final long MAX_BYTES = 1L << 30;
  private static final int NAME_BYTES = 16;

  private final SecureRandom random = new SecureRandom();
  private final Map<ByteString, Entry> memories = new HashMap<>();
  private long bytes;
  private boolean closed;

  /**
   * Adds memory, which this registry owns and closes from now on.
   *
   * @return the memory's name
   */
  public ByteString add(MappedMemory memory) {
    byte[] bytes = new byte[NAME_BYTES];
    random.nextBytes(bytes);
    ByteString name = ByteString.copyFrom(bytes);
    try {
      add(name, memory);
    } catch (RuntimeException rejected) {
      memory.close();
      throw rejected;
    }
    return name;
  }

  private synchronized void add(ByteString name, MappedMemory memory) {
    if (closed
        || memories.size() == MAX_MEMORIES
        || memory.bytes() > MAX_BYTES
        || bytes + memory.bytes() > MAX_TOTAL_BYTES) {
      throw limitExceeded(
          "%,d bytes cannot be shared with this node, where %d processes share %,d bytes. One"
              + " process may share %,d bytes, and all together %,d bytes of %d processes. Send"
              + " blocks in messages.",
          memory.bytes(), memories.size(), bytes, MAX_BYTES, MAX_TOTAL_BYTES, MAX_MEMORIES);
    }
    memories.put(name, new Entry(memory));
    bytes += memory.bytes();
  }

  /** Closes memory as soon as no call uses it. An unknown name is ignored. */
  public void remove(ByteString name) {
    Entry removed;
    synchronized (this) {
      removed = memories.remove(name);
      if (removed != null) {
        bytes -= removed.memory.bytes();
      }
    }
    if (removed != null) {
      removed.close();
    }
  }

  /** Calls the user with a range of shared memory, which stays mapped during this call. */
  public void use(MemoryRange range, Consumer<ByteBuffer> user) {
    Entry entry;
    synchronized (this) {
      entry = memories.get(range.getMemory());
    }
    if (entry == null || !entry.use(range, user)) {
      throw new TensorFlowIgniteException(
          ERROR_CODE_SHARING_UNAVAILABLE,
          "The memory that the call names is not shared with this node, or not any more. Memory is"
              + " shared as long as the connection that shared it is open. Share the memory again,"
              + " or send blocks in messages.");
    }
  }

  /** Closes all memory. */
  @Override
  public void close() {
    Map<ByteString, Entry> left;
    synchronized (this) {
      closed = true;
      left = new HashMap<>(memories);
    }
    left.keySet().forEach(this::remove);
  }

  private static final class Entry {
    private final MappedMemory memory;
    private final ReadWriteLock lock = new ReentrantReadWriteLock();
    private boolean closed;

    Entry(MappedMemory memory) {
      this.memory = memory;
    }

    boolean use(MemoryRange range, Consumer<ByteBuffer> user) {
      if (range.getOffset() < 0
          || range.getBytes() < 0
          || range.getOffset() > memory.bytes() - range.getBytes()) {
        throw invalidRequest(
            "%,d bytes at offset %,d are not inside the shared memory of %,d bytes. A range"
                + " lies inside the memory. Name an offset and a size within it.",
            range.getBytes(), range.getOffset(), memory.bytes());
      }
      lock.readLock().lock();
      try {
        if (!closed) {
          user.accept(memory.slice(range.getOffset(), range.getBytes()));
        }
        return !closed;
      } finally {
        lock.readLock().unlock();
      }
    }

    void close() {
      lock.writeLock().lock();
      try {
        closed = true;
        memory.close();
      } finally {
        lock.writeLock().unlock();
      }
    }
  }
}
