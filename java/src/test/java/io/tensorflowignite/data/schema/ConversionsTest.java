package io.tensorflowignite.data.schema;

import static org.junit.Assert.assertEquals;

import java.util.List;
import org.apache.arrow.vector.types.FloatingPointPrecision;
import org.apache.arrow.vector.types.TimeUnit;
import org.apache.arrow.vector.types.pojo.ArrowType;
import org.apache.arrow.vector.types.pojo.Field;
import org.apache.arrow.vector.types.pojo.FieldType;
import org.junit.Test;

/** The types that a reader may request. */
public class ConversionsTest {
  private static final Field UINT8 = plain(new ArrowType.Int(8, false));
  private static final Field INT32 = plain(new ArrowType.Int(32, true));
  private static final Field INT64 = plain(new ArrowType.Int(64, true));
  private static final Field FLOAT =
      plain(new ArrowType.FloatingPoint(FloatingPointPrecision.SINGLE));
  private static final Field TEXT = plain(ArrowType.Utf8.INSTANCE);

  @Test
  public void aTypeThatHoldsEveryValueFits() {
    fits(true, stored(Integer.class), INT64);
    fits(false, stored(Long.class), INT32);
    fits(false, stored(Byte.class), UINT8);
    fits(true, stored(Character.class), INT32);
    fits(true, stored(Boolean.class), UINT8);
    fits(true, stored(Double.class), FLOAT);
    fits(true, stored(Long.class), FLOAT);
    fits(false, stored(Float.class), INT64);
    fits(false, stored(String.class), FLOAT);
    fits(true, stored(java.math.BigDecimal.class), FLOAT);
    fits(true, stored(java.math.BigDecimal.class), plain(new ArrowType.Decimal(38, 2, 128)));
    fits(true, stored(java.util.UUID.class), TEXT);
    fits(true, stored(java.util.UUID.class), plain(new ArrowType.FixedSizeBinary(16)));
    fits(true, stored(Enum.class), TEXT);
    fits(false, stored(Integer.class), TEXT);
    fits(true, stored(java.util.Date.class), INT64);
    // Their instants depend on the time zone.
    fits(false, stored(java.sql.Date.class), stored(java.sql.Timestamp.class));
    fits(false, stored(java.sql.Timestamp.class), stored(java.sql.Date.class));
    fits(
        true,
        stored(java.sql.Timestamp.class),
        plain(new ArrowType.Timestamp(TimeUnit.MICROSECOND, null)));
  }

  @Test
  public void bytesAndArraysFitShapes() {
    Field image = fixed(28, fixed(28, UINT8));
    fits(true, stored(byte[].class), image);
    fits(true, stored(byte[].class), ColumnType.listOf(UINT8));
    fits(false, stored(byte[].class), fixed(3, FLOAT));
    fits(true, stored(float[].class), fixed(2, fixed(3, FLOAT)));
    fits(true, stored(int[].class), fixed(6, INT64));
    fits(false, stored(long[].class), fixed(6, INT32));
    fits(true, stored(java.util.Collection.class), fixed(6, TEXT));
    fits(false, stored(String.class), image);
  }

  private static void fits(boolean expected, Field stored, Field requested) {
    assertEquals(stored + " as " + requested, expected, Conversions.fit(stored, requested));
  }

  private static Field stored(Class<?> storage) {
    return ColumnTypes.ofClass(storage).orElseThrow(AssertionError::new).shape;
  }

  private static Field plain(ArrowType type) {
    return ColumnType.plain("v", type);
  }

  private static Field fixed(int size, Field child) {
    return new Field("v", FieldType.notNullable(new ArrowType.FixedSizeList(size)), List.of(child));
  }
}
