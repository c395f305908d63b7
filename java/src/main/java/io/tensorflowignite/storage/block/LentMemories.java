package io.tensorflowignite.storage.block;

import com.google.protobuf.ByteString;
import io.tensorflowignite.TensorFlowIgniteException;
import io.tensorflowignite.memory.MappedMemory;
import io.tensorflowignite.v1.ErrorCode;
import io.tensorflowignite.v1.MemoryPlace;
import java.nio.ByteBuffer;
import java.security.SecureRandom;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.locks.ReadWriteLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import java.util.function.Consumer;

/**
 * The memory that processes on this host share with the node, by the names under which they may use
 * it. A name is a secret of the process that was told it.
 */
public final class LentMemories implements AutoCloseable {
  private static final int MAX_LENT = 256;
  private static final long MAX_LENT_BYTES = 8L << 30;
  private static final long MAX_BYTES = 1L << 30;
  private static final int NAME_BYTES = 16;

  private final SecureRandom random = new SecureRandom();
  private final Map<ByteString, Lent> lent = new HashMap<>();
  private long bytes;
  private boolean closed;

  /**
   * Takes memory over.
   *
   * @return its name
   */
  public ByteString add(MappedMemory memory) {
    byte[] name = new byte[NAME_BYTES];
    random.nextBytes(name);
    ByteString told = ByteString.copyFrom(name);
    try {
      add(told, memory);
    } catch (RuntimeException refused) {
      memory.close();
      throw refused;
    }
    return told;
  }

  private synchronized void add(ByteString name, MappedMemory memory) {
    if (closed
        || lent.size() == MAX_LENT
        || memory.bytes() > MAX_BYTES
        || bytes + memory.bytes() > MAX_LENT_BYTES) {
      throw new TensorFlowIgniteException(
          ErrorCode.LIMIT_EXCEEDED,
          String.format(
              "%,d bytes cannot be shared with this node, where %d processes share %,d. It takes"
                  + " %,d bytes of one, and %,d of %d together. Send blocks in messages.",
              memory.bytes(), lent.size(), bytes, MAX_BYTES, MAX_LENT_BYTES, MAX_LENT));
    }
    lent.put(name, new Lent(memory));
    bytes += memory.bytes();
  }

  /** Lets go of memory, once nobody is at it; of a name that is unknown, nothing. */
  public void remove(ByteString name) {
    Lent removed;
    synchronized (this) {
      removed = lent.remove(name);
      if (removed != null) {
        bytes -= removed.memory.bytes();
      }
    }
    if (removed != null) {
      removed.close();
    }
  }

  /** Lets somebody use a place for as long as that takes. */
  void use(MemoryPlace place, Consumer<ByteBuffer> user) {
    Lent found;
    synchronized (this) {
      found = lent.get(place.getMemory());
    }
    if (found == null || !found.use(place, user)) {
      throw new TensorFlowIgniteException(
          ErrorCode.SHARING_UNAVAILABLE,
          "The memory that the call names is not shared with this node, or not any more. It is for"
              + " as long as the connection that shared it. Share it again, or send blocks in"
              + " messages.");
    }
  }

  /** Lets go of all of it, and takes no more. */
  @Override
  public void close() {
    Map<ByteString, Lent> left;
    synchronized (this) {
      closed = true;
      left = new HashMap<>(lent);
    }
    left.keySet().forEach(this::remove);
  }

  private static final class Lent {
    private final MappedMemory memory;
    private final ReadWriteLock lock = new ReentrantReadWriteLock();
    private boolean closed;

    Lent(MappedMemory memory) {
      this.memory = memory;
    }

    boolean use(MemoryPlace place, Consumer<ByteBuffer> user) {
      if (place.getOffset() < 0
          || place.getBytes() < 0
          || place.getOffset() > memory.bytes() - place.getBytes()) {
        throw new TensorFlowIgniteException(
            ErrorCode.INVALID_REQUEST,
            String.format(
                "%,d bytes at %,d are not inside of the memory that is shared, which has %,d."
                    + " Correct the place.",
                place.getBytes(), place.getOffset(), memory.bytes()));
      }
      lock.readLock().lock();
      try {
        if (!closed) {
          user.accept(memory.part(place.getOffset(), place.getBytes()));
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
