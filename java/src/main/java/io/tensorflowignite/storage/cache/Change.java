package io.tensorflowignite.storage.cache;

import java.util.ArrayList;
import java.util.List;

/** One change while it is being made: the records as it sees them, and what it will have freed. */
public final class Change {
  private final Records records;
  private final List<String> garbage = new ArrayList<>();

  Change(Records records) {
    this.records = records;
  }

  public Records records() {
    return records;
  }

  /** An extent, or a removed directory, is to be swept as soon as the change has taken effect. */
  public void garbage(String id) {
    garbage.add(id);
  }

  List<String> garbage() {
    return garbage;
  }
}
