package io.tensorflowignite.data.schema;

import com.google.protobuf.ByteString;
import io.tensorflowignite.TensorFlowIgniteException;
import io.tensorflowignite.data.column.ArrowHeaders;
import io.tensorflowignite.data.column.Columns;
import io.tensorflowignite.data.column.RowField;
import io.tensorflowignite.v1.ErrorCode;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.apache.arrow.vector.types.pojo.Field;
import org.apache.arrow.vector.types.pojo.Schema;

/** The types that a reader asks for, by column. */
public final class WantedTypes {
  /** In the schema of a ticket: all its columns are resolved. */
  private static final String RESOLVED = "tensorflow-ignite.resolved";

  /** In a field of a ticket's schema: only values of exactly this type are taken. */
  public static final String EXACT = "tensorflow-ignite.exact";

  private final Map<String, Field> fields = new LinkedHashMap<>();
  private final boolean resolved;

  private WantedTypes(Schema schema) {
    schema.getFields().forEach(field -> fields.put(field.getName(), field));
    Map<String, String> metadata = schema.getCustomMetadata();
    resolved = metadata != null && metadata.containsKey(RESOLVED);
  }

  /**
   * @param message an Arrow schema as an IPC message; empty: no type is asked for
   */
  public static WantedTypes of(ByteString message) {
    if (message.isEmpty()) {
      return new WantedTypes(new Schema(Collections.emptyList()));
    }
    ArrowHeaders.checkSchema(message.asReadOnlyByteBuffer());
    try {
      return new WantedTypes(Schema.deserializeMessage(message.asReadOnlyByteBuffer()));
    } catch (RuntimeException malformed) {
      throw new TensorFlowIgniteException(
          ErrorCode.INVALID_REQUEST,
          String.format(
              "the schema of the command cannot be read (%s); it is an Arrow schema as an IPC"
                  + " message; send what pyarrow's Schema.serialize() gives",
              malformed));
    }
  }

  /** For a ticket: the columns' types as they are now, so that each of its readers agrees. */
  public static ByteString resolved(List<CacheColumn> columns) {
    List<Field> fields = new ArrayList<>();
    for (CacheColumn column : columns) {
      Map<String, String> metadata = new HashMap<>(column.field().getMetadata());
      if (column.strict()) {
        metadata.put(EXACT, "");
      }
      fields.add(ColumnType.withMetadata(column.field(), metadata));
    }
    Schema schema = new Schema(fields, Map.of(RESOLVED, ""));
    return ByteString.copyFrom(schema.serializeAsMessage());
  }

  public boolean isEmpty() {
    return fields.isEmpty();
  }

  /** Whether it tells of each column that is read all that there is to know. */
  public boolean isResolved() {
    return resolved;
  }

  public List<String> names() {
    return new ArrayList<>(fields.keySet());
  }

  /** The column as it is wanted; as it is when nothing is said of it. */
  public CacheColumn apply(String cache, CacheColumn column) {
    Field wanted = fields.get(column.name());
    if (wanted == null) {
      return column;
    }
    Field stored = column.type().shape();
    if (!Columns.exist(wanted) || !Conversions.fit(stored, wanted)) {
      throw refused(cache, column, wanted);
    }
    if (Conversions.same(stored, wanted)) {
      return column.as(Conversions.withMetadataOf(stored, wanted), true);
    }
    Map<String, String> metadata = new HashMap<>(wanted.getMetadata());
    boolean exact = metadata.remove(EXACT) != null;
    return column.as(ColumnType.withMetadata(wanted, metadata), exact);
  }

  /** The columns of a cache of which nothing else is known. */
  public Optional<CacheSchema> columns(String cache) {
    if (isEmpty()) {
      return Optional.empty();
    }
    ColumnType any = ColumnTypes.ofAnyName("Object");
    List<CacheColumn> columns = new ArrayList<>();
    for (String name : fields.keySet()) {
      if (!name.equals(CacheSchema.KEY)) {
        columns.add(CacheColumn.of(name, any, "Object", () -> RowField.ofAnyValue(name)));
      }
    }
    CacheColumn key = CacheColumn.of(CacheSchema.KEY, any, "Object", RowField::key);
    return Optional.of(new CacheSchema(cache, columns, List.of(), false, () -> key));
  }

  private static TensorFlowIgniteException refused(String cache, CacheColumn column, Field wanted) {
    return new TensorFlowIgniteException(
        ErrorCode.UNSUPPORTED_TYPE,
        String.format(
            "cache %s: column %s is of type %s (%s) and cannot be read as %s; a type that is asked"
                + " for must hold every value of the stored one; ask for another one, or take the"
                + " column as it is, without schema=",
            cache,
            column.name(),
            column.typeName(),
            Conversions.describe(column.type().shape()),
            Conversions.describe(wanted)));
  }
}
