package io.tensorflowignite.data.schema;

import io.tensorflowignite.data.column.ElementType;
import io.tensorflowignite.data.column.LogicalType;
import java.lang.reflect.Array;
import java.math.BigDecimal;
import java.sql.Time;
import java.sql.Timestamp;
import java.util.Collection;
import java.util.Date;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import org.apache.arrow.vector.types.DateUnit;
import org.apache.arrow.vector.types.TimeUnit;
import org.apache.arrow.vector.types.pojo.ArrowType;
import org.apache.arrow.vector.types.pojo.Field;

/**
 * The table of types.
 *
 * <pre>
 * in Ignite                                 Arrow, read
 * byte short int long float double boolean  int8 int16 int32 int64 float32 float64 bool
 * char                                      uint16
 * String                                    utf8
 * byte[]                                    binary
 * UUID                                      utf8 of 36 characters, with logical type uuid
 * java.util.Date                            timestamp[ms, UTC]
 * Timestamp                                 timestamp[ns, UTC]
 * java.sql.Date                             date32, the day in the time zone of the node
 * java.sql.Time                             time32[ms], the time of day in the time zone of the node
 * Decimal                                   decimal128(p, s) where SQL's metadata have both (p up to 38),
 *                                           else utf8 without exponent, with logical type decimal
 * Enum                                      int32, the ordinal, with logical type enum
 * arrays of these, except byte[]            list
 * Object[], collections                     list; element type from schema= or the rows
 * maps                                      map; types from schema= or the rows
 * nested objects                            struct of their fields
 *
 * Arrow, loaded                             in Ignite, and in SQL
 * int8 … int64, float32, float64, bool      as above
 * float16                                   float
 * uint8 uint16 uint32                       short int long
 * utf8, large_utf8                          String; of logical type uuid: UUID; decimal: Decimal
 * binary, large_binary, fixed_size_binary   byte[]
 * timestamp[s], timestamp[ms]               java.util.Date
 * timestamp[us], timestamp[ns]              Timestamp
 * date32, date64                            java.sql.Date
 * time32, time64                            java.sql.Time, of milliseconds
 * decimal128, decimal256                    Decimal
 * list, fixed_size_list of numbers, bool    primitive arrays (nested fixed lists: flat); of uint8: byte[],
 *                                           of uint16: char[], of uint32: long[]
 * … of utf8, timestamp, time, decimal       arrays of the classes above
 * … of anything else                        Object[]
 * struct                                    nested object
 * map                                       java.util.Map
 *
 * schema= may request                          where Ignite has
 * a wider integer, float16/32/64               integers, char, boolean, enums; any number
 * uint8, int8 in lists or fixed lists          byte[]
 * utf8                                         UUID, Decimal, char, an enum's name
 * decimal128, decimal256                       Decimal, integers
 * fixed_size_binary                            byte[]; of 16: UUID
 * binary                                       values that utf8 is read from, and String, in UTF-8
 * timestamp of another unit, int64             Date, Timestamp
 * int32, int64                                 java.sql.Date (days), Time (ms)
 * list, fixed_size_list (nested: a shape)      arrays, Object[], collections
 * struct of some of the fields                 nested objects
 * </pre>
 */
public final class ColumnTypes {
  private static final String UTC = "UTC";
  private static final Map<Class<?>, ColumnType> BY_CLASS = new HashMap<>();
  private static final Map<String, ColumnType> BY_NAME = new HashMap<>();

  static {
    for (ElementType element : ElementType.values()) {
      Field shape = ColumnType.plain(null, element.arrow);
      register(element.single, element.binaryName, shape);
      if (element.array != null && element.array != byte[].class) {
        register(element.array, element.array.getSimpleName(), ColumnType.listOf(shape));
      }
    }
    register(byte[].class, "byte[]", ColumnType.plain(null, ArrowType.Binary.INSTANCE));
    Field bool = ColumnType.plain(null, ArrowType.Bool.INSTANCE);
    register(Boolean.class, "boolean", bool);
    register(boolean[].class, "boolean[]", ColumnType.listOf(bool));
    both(String.class, "String", ArrowType.Utf8.INSTANCE);
    both(Date.class, "Date", new ArrowType.Timestamp(TimeUnit.MILLISECOND, UTC));
    both(Timestamp.class, "Timestamp", new ArrowType.Timestamp(TimeUnit.NANOSECOND, UTC));
    both(Time.class, "Time", new ArrowType.Time(TimeUnit.MILLISECOND, 32));
    both(java.sql.Date.class, "java.sql.Date", new ArrowType.Date(DateUnit.DAY));
    both(UUID.class, "UUID", LogicalType.UUID.field());
    both(BigDecimal.class, "decimal", LogicalType.DECIMAL.field());
    both(Enum.class, "Enum", LogicalType.ENUM.field());
    Field any = ColumnType.unknown();
    register(Object[].class, "Object[]", ColumnType.listOf(any));
    register(Collection.class, "Collection", ColumnType.listOf(any));
    register(Map.class, "Map", ColumnType.mapOf(any, any));
    register(Object.class, "Object", any);
    for (String collection : new String[] {"List", "ArrayList", "LinkedList", "Set", "HashSet"}) {
      BY_NAME.put("java.util." + collection, BY_NAME.get("Collection"));
    }
  }

  private ColumnTypes() {}

  /** The type of a class that Ignite stores; empty if the table does not have it. */
  public static Optional<ColumnType> ofClass(Class<?> storage) {
    return Optional.ofNullable(BY_CLASS.get(storage));
  }

  /**
   * The type of a name in Ignite's binary metadata ("int", "String[]") or of a Java class
   * ("java.lang.Integer", "[I").
   */
  public static Optional<ColumnType> ofName(String name) {
    return Optional.ofNullable(BY_NAME.get(name));
  }

  /** Like {@link #ofName}, but the unknown type for a name that the table does not have. */
  public static ColumnType ofAnyName(String name) {
    return BY_NAME.getOrDefault(name, unknown());
  }

  /** A type about which only the rows can say more. */
  public static ColumnType unknown() {
    return BY_CLASS.get(Object.class);
  }

  /** The type of decimals; precision and scale come from SQL's metadata, null: not known. */
  public static ColumnType decimal(Integer precision, Integer scale) {
    ColumnType text = BY_CLASS.get(BigDecimal.class);
    if (precision == null || scale == null || precision < 1 || precision > 38) {
      return text;
    }
    Field shape = ColumnType.plain(null, new ArrowType.Decimal(precision, scale, 128));
    return new ColumnType(text.storage, text.binaryName, shape);
  }

  private static void both(Class<?> single, String name, ArrowType type) {
    both(single, name, ColumnType.plain(null, type));
  }

  /** Registers a class and its arrays. */
  private static void both(Class<?> single, String name, Field shape) {
    register(single, name, shape);
    register(Array.newInstance(single, 0).getClass(), name + "[]", ColumnType.listOf(shape));
  }

  private static void register(Class<?> storage, String binaryName, Field shape) {
    ColumnType type = new ColumnType(storage, binaryName, shape);
    BY_CLASS.putIfAbsent(storage, type);
    BY_NAME.putIfAbsent(binaryName, type);
    BY_NAME.putIfAbsent(storage.getName(), type);
  }
}
