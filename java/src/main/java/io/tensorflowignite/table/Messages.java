package io.tensorflowignite.table;

import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.Message;
import com.google.protobuf.Parser;

/** Bytes of a cache to messages and back. */
final class Messages {
  private Messages() {}

  /** The message, or null for null. */
  static <M extends Message> M parse(Parser<M> parser, byte[] bytes, SystemCache cache) {
    if (bytes == null) {
      return null;
    }
    try {
      return parser.parseFrom(bytes);
    } catch (InvalidProtocolBufferException e) {
      throw new IllegalStateException(
          "A value of cache " + cache.cacheName() + " was not written by this system", e);
    }
  }
}
