package io.tensorflowignite.ignite;

import java.util.List;
import java.util.stream.Collectors;
import org.apache.ignite.cache.query.FieldsQueryCursor;
import org.apache.ignite.internal.processors.cache.query.QueryCursorEx;
import org.apache.ignite.internal.processors.query.GridQueryFieldMetadata;

/** A column of the rows of a query; the public cursor has only its name. */
public final class SqlColumn {
  private final GridQueryFieldMetadata metadata;

  private SqlColumn(GridQueryFieldMetadata metadata) {
    this.metadata = metadata;
  }

  /** The columns of a query, in their order. */
  public static List<SqlColumn> of(FieldsQueryCursor<List<?>> query) {
    return ((QueryCursorEx<?>) query)
        .fieldsMeta().stream().map(SqlColumn::new).collect(Collectors.toList());
  }

  public String name() {
    return metadata.fieldName();
  }

  /** The name of the Java class of its values; {@code java.lang.Object}: SQL does not know it. */
  public String className() {
    return metadata.fieldTypeName();
  }

  /** The digits of a decimal; 0 or below: not known. */
  public int precision() {
    return metadata.precision();
  }

  /** The digits of a decimal after its point. */
  public int scale() {
    return metadata.scale();
  }
}
