package io.tensorflowignite.table;

import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.MessageLite;
import com.google.protobuf.Parser;
import org.apache.ignite.IgniteCache;

/** Reads values of the caches of files, without which nothing can go on, as messages. */
public final class Messages {
  private Messages() {}

  /** The value of a key; null: there is none. */
  public static <M extends MessageLite> M get(
      IgniteCache<String, byte[]> cache, String key, Parser<M> parser) {
    byte[] value = cache.get(key);
    try {
      return value == null ? null : parser.parseFrom(value);
    } catch (InvalidProtocolBufferException e) {
      throw new IllegalStateException(
          "A value of cache " + cache.getName() + " was not written by TensorFlowService", e);
    }
  }
}
