package io.tensorflowignite.storage.tree;

import io.tensorflowignite.storage.StorageSettings;
import io.tensorflowignite.storage.cache.Changes;
import io.tensorflowignite.v1.BeginWriteRequest;
import io.tensorflowignite.v1.BeginWriteResponse;
import io.tensorflowignite.v1.FileInfo;
import io.tensorflowignite.v1.PublishWriteRequest;
import java.util.function.BiFunction;
import org.apache.ignite.Ignite;

/** What writers do to the tree. */
public final class Writes {
  /** Blocks are got by extent and number; null: there is no such block. */
  public Writes(
      Ignite ignite,
      StorageSettings settings,
      Changes changes,
      BiFunction<String, Integer, byte[]> blocks) {}

  public BeginWriteResponse begin(BeginWriteRequest request) {
    throw new UnsupportedOperationException();
  }

  /** How many blocks are reserved now, in all. */
  public int reserve(String extent, int blocks) {
    throw new UnsupportedOperationException();
  }

  public FileInfo publish(PublishWriteRequest request) {
    throw new UnsupportedOperationException();
  }

  public void abandon(String extent) {
    throw new UnsupportedOperationException();
  }
}
