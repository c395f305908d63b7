package io.tensorflowignite.data.schema;

import static io.tensorflowignite.base.TensorFlowIgniteException.invalidRequest;
import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_UNSUPPORTED_TYPE;

import com.google.protobuf.ByteString;
import io.tensorflowignite.base.TensorFlowIgniteException;
import io.tensorflowignite.data.column.ArrowHeaderValidation;
import io.tensorflowignite.data.column.Columns;
import io.tensorflowignite.data.column.RowField;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.apache.arrow.vector.types.pojo.Field;
import org.apache.arrow.vector.types.pojo.Schema;

/** The types that a request names, by column. */
public final class RequestedTypes {
  /** Metadata key of a ticket's schema: the types of all columns are resolved. */
  private static final String RESOLVED = "tensorflow-ignite.resolved";

  /** Metadata key of a field in a ticket's schema: the column accepts no conversion. */
  public static final String EXACT = "tensorflow-ignite.exact";

  private final Map<String, Field> fields = new LinkedHashMap<>();
  private final boolean resolved;

  private RequestedTypes(Schema schema) {
    schema.getFields().forEach(field -> fields.put(field.getName(), field));
    Map<String, String> metadata = schema.getCustomMetadata();
    resolved = metadata != null && metadata.containsKey(RESOLVED);
  }

  /**
   * @param message an Arrow schema as an IPC message; empty: no type is requested
   */
  public static RequestedTypes of(ByteString message) {
    if (message.isEmpty()) {
      return new RequestedTypes(new Schema(List.of()));
    }
    ArrowHeaderValidation.checkSchema(message.asReadOnlyByteBuffer());
    try {
      return new RequestedTypes(Schema.deserializeMessage(message.asReadOnlyByteBuffer()));
    } catch (RuntimeException malformed) {
      throw invalidRequest(
          "the schema of the command cannot be read (%s); it must be an Arrow schema as an IPC"
              + " message; send the result of pyarrow's Schema.serialize()",
          malformed);
    }
  }

  /** The columns' current types for a ticket, so that all nodes send the same types. */
  public static ByteString resolved(List<CacheColumn> columns) {
    List<Field> fields = new ArrayList<>();
    for (CacheColumn column : columns) {
      Map<String, String> metadata = new HashMap<>(column.field.getMetadata());
      if (column.strict) {
        metadata.put(EXACT, "");
      }
      fields.add(ColumnType.withMetadata(column.field, metadata));
    }
    Schema schema = new Schema(fields, Map.of(RESOLVED, ""));
    return ByteString.copyFrom(schema.serializeAsMessage());
  }

  /** Whether the types of all columns that are read are complete. */
  public boolean isResolved() {
    return resolved;
  }

  public List<String> names() {
    return new ArrayList<>(fields.keySet());
  }

  /** The column with its requested type; unchanged if the request names no type for it. */
  public CacheColumn apply(String cache, CacheColumn column) {
    Field requested = fields.get(column.name);
    if (requested == null) {
      return column;
    }
    Field stored = column.type.shape;
    if (!Columns.areSupported(requested) || !Conversions.fit(stored, requested)) {
      throw unsupported(cache, column, requested);
    }
    if (Conversions.same(stored, requested)) {
      return column.as(Conversions.withMetadataOf(stored, requested), true);
    }
    Map<String, String> metadata = new HashMap<>(requested.getMetadata());
    boolean exact = metadata.remove(EXACT) != null;
    return column.as(ColumnType.withMetadata(requested, metadata), exact);
  }

  /** The schema of a cache about which only the request is known; empty if it names no type. */
  public Optional<CacheSchema> columns(String cache) {
    if (fields.isEmpty()) {
      return Optional.empty();
    }
    ColumnType any = ColumnTypes.unknown();
    List<CacheColumn> columns = new ArrayList<>();
    for (String name : fields.keySet()) {
      if (!name.equals(CacheSchema.KEY)) {
        columns.add(CacheColumn.of(name, any, "Object", () -> RowField.ofAnyValue(name)));
      }
    }
    CacheColumn key = CacheColumn.of(CacheSchema.KEY, any, "Object", RowField::key);
    return Optional.of(new CacheSchema(cache, columns, List.of(), false, () -> key));
  }

  private static TensorFlowIgniteException unsupported(
      String cache, CacheColumn column, Field requested) {
    return TensorFlowIgniteException.of(
        ERROR_CODE_UNSUPPORTED_TYPE,
        "cache %s: column %s is of type %s (%s) and cannot be read as %s; a requested type must"
            + " hold every value of the stored type; name another type in schema=, or leave the"
            + " column out of schema= to read its stored type",
        cache,
        column.name,
        column.typeName,
        Conversions.describe(column.type.shape),
        Conversions.describe(requested));
  }
}
