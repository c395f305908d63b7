package io.tensorflowignite.storage.tree;

import com.google.common.hash.Hashing;
import io.tensorflowignite.v1.DirectoryState;
import java.nio.charset.StandardCharsets;

/**
 * Linear hashing of names into buckets, whose number grows by one at a time. The lowest bits of a
 * name's hash are the number of its bucket: `level` bits in the buckets that this round has not
 * split yet, and `level + 1` bits in the buckets before `split` and in the new buckets behind the
 * first 2^level.
 */
final class LinearHashing {
  private final int level;
  private final int split;

  LinearHashing(int level, int split) {
    this.level = level;
    this.split = split;
  }

  static LinearHashing of(DirectoryState state) {
    return new LinearHashing(state.getLevel(), state.getSplit());
  }

  /** Must never change: stored buckets depend on this function. */
  static int hash(String name) {
    return Hashing.murmur3_32_fixed().hashString(name, StandardCharsets.UTF_8).asInt();
  }

  /** The lowest bits of a hash. */
  static int lowest(int hash, int bits) {
    return hash & ((1 << bits) - 1);
  }

  int buckets() {
    return (1 << level) + split;
  }

  int bucketOf(String name) {
    int hash = hash(name);
    int bucket = lowest(hash, level);
    return bucket < split ? lowest(hash, level + 1) : bucket;
  }

  /** The number of bits that the hashes of a bucket's names have in common. */
  int levelOf(int bucket) {
    return bucket < split || bucket >= 1 << level ? level + 1 : level;
  }

  /** The bucket that is split next. */
  int next() {
    return split;
  }

  /** The state after the next bucket has been split; its new part is the last bucket. */
  LinearHashing grown() {
    return split + 1 == 1 << level
        ? new LinearHashing(level + 1, 0)
        : new LinearHashing(level, split + 1);
  }

  DirectoryState into(DirectoryState state) {
    return state.toBuilder().setLevel(level).setSplit(split).build();
  }
}
