package io.tensorflowignite.ignite;

import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.Optional;
import java.util.Set;
import org.apache.ignite.Ignite;
import org.apache.ignite.internal.IgniteEx;
import org.apache.ignite.internal.processors.query.GridQueryTypeDescriptor;

/** The SQL columns that decide in which partition a row is. */
public final class AffinityColumns {
  private AffinityColumns() {}

  /** The names of the affinity key column of a cache; Ignite calls the whole key {@code _KEY}. */
  public static Set<String> of(Ignite ignite, String cache) {
    Iterator<GridQueryTypeDescriptor> types =
        ((IgniteEx) ignite).context().query().types(cache).iterator();
    if (!types.hasNext()) {
      return Set.of();
    }
    GridQueryTypeDescriptor type = types.next();
    String affinity = type.affinityKey();
    Set<String> columns = new LinkedHashSet<>();
    if (type.customAffinityKeyMapper()) {
      return columns;
    }
    if (affinity != null) {
      columns.add(affinity);
    }
    if (affinity == null || affinity.equals(type.keyFieldAlias())) {
      columns.add("_KEY");
      Optional.ofNullable(type.keyFieldAlias()).ifPresent(columns::add);
    }
    return columns;
  }
}
