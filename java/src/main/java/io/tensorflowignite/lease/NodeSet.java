package io.tensorflowignite.lease;

import com.google.common.collect.ImmutableSet;
import com.google.common.collect.Sets;
import com.google.common.hash.Hasher;
import com.google.common.hash.Hashing;
import java.nio.charset.StandardCharsets;
import java.util.Collection;
import java.util.Set;
import java.util.TreeSet;

/**
 * The nodes that one node knows, by consistent id, with a digest: two nodes that know the same
 * nodes report to each other only which nodes were silent.
 */
final class NodeSet {
  static final NodeSet NONE = new NodeSet(Set.of());

  private final ImmutableSet<String> ids;
  final String digest;

  NodeSet(Collection<String> ids) {
    this.ids = ImmutableSet.copyOf(new TreeSet<>(ids));
    Hasher hasher = Hashing.sha256().newHasher();
    this.ids.forEach(id -> hasher.putInt(id.length()).putString(id, StandardCharsets.UTF_8));
    this.digest = hasher.hash().toString();
  }

  boolean isOf(Set<String> others) {
    return ids.equals(others);
  }

  Set<String> without(Collection<String> some) {
    return Sets.difference(ids, Set.copyOf(some));
  }
}
