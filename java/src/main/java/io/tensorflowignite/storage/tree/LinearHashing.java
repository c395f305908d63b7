package io.tensorflowignite.storage.tree;

import com.google.common.hash.Hashing;
import io.tensorflowignite.v1.DirectoryState;
import java.nio.charset.StandardCharsets;

/**
 * Which bucket a name is in, while their number grows one by one: a bucket's names are those whose
 * hashes have its number as their lowest bits; of the 2^level buckets of a round those before
 * `split` have been split, and have, like what was split off them, one bit more.
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

  /** The same for ever: buckets are stored by it. */
  static int hash(String name) {
    return Hashing.murmur3_32_fixed().hashString(name, StandardCharsets.UTF_8).asInt();
  }

  /** What is left of a hash when only so many of its lowest bits count. */
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

  /** How many bits the hashes of a bucket's names have in common. */
  int levelOf(int bucket) {
    return bucket < split || bucket >= 1 << level ? level + 1 : level;
  }

  /** The bucket that is split next. */
  int next() {
    return split;
  }

  /** After the next bucket has been split; what it loses is in a new bucket, the last one. */
  LinearHashing grown() {
    return split + 1 == 1 << level
        ? new LinearHashing(level + 1, 0)
        : new LinearHashing(level, split + 1);
  }

  DirectoryState into(DirectoryState state) {
    return state.toBuilder().setLevel(level).setSplit(split).build();
  }
}
