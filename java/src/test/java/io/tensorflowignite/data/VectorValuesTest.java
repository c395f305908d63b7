package io.tensorflowignite.data;

import static org.junit.Assert.assertArrayEquals;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertNull;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import io.tensorflowignite.data.column.MismatchException;
import io.tensorflowignite.data.column.RowField;
import io.tensorflowignite.data.load.VectorValues;
import io.tensorflowignite.data.read.BatchWriter;
import io.tensorflowignite.data.schema.CacheColumn;
import io.tensorflowignite.data.schema.CacheSchema;
import io.tensorflowignite.data.schema.ColumnType;
import io.tensorflowignite.data.schema.ColumnTypes;
import io.tensorflowignite.data.schema.StoredTypes;
import io.tensorflowignite.v1.Nulls;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.sql.Time;
import java.sql.Timestamp;
import java.util.Arrays;
import java.util.Date;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.RootAllocator;
import org.apache.arrow.vector.IntVector;
import org.apache.arrow.vector.TimeMicroVector;
import org.apache.arrow.vector.VarCharVector;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.arrow.vector.complex.FixedSizeListVector;
import org.apache.arrow.vector.complex.MapVector;
import org.apache.arrow.vector.complex.impl.UnionMapWriter;
import org.apache.arrow.vector.types.DateUnit;
import org.apache.arrow.vector.types.TimeUnit;
import org.apache.arrow.vector.types.pojo.ArrowType;
import org.apache.arrow.vector.types.pojo.Field;
import org.junit.After;
import org.junit.Test;
import org.junit.function.ThrowingRunnable;

/** Values that a read lays out as vectors are what Arrow reads, and the same after a load. */
public class VectorValuesTest {
  private static final VectorValues.Objects NO_OBJECTS =
      path -> {
        throw new AssertionError(path + " is no struct");
      };

  private final BufferAllocator allocator = new RootAllocator();

  @After
  public void everyBufferIsFreed() {
    allocator.close();
  }

  @Test
  public void everyClassOfTheTableKeepsItsValues() throws Exception {
    Object[][] plain = {
      {Byte.MIN_VALUE, (byte) 0, Byte.MAX_VALUE},
      {Short.MIN_VALUE, (short) 5, Short.MAX_VALUE},
      {Integer.MIN_VALUE, 5, Integer.MAX_VALUE},
      {Long.MIN_VALUE, 5L, Long.MAX_VALUE},
      {-0f, 1.5f, Float.NaN, Float.MAX_VALUE},
      {-0d, 1.5d, Double.NEGATIVE_INFINITY, Double.MIN_VALUE},
      {true, false, true, true, false, false, true, false, true},
      {"", "plain", "\u00e9\u65e5\uD83D\uDE00"},
    };
    for (Object[] values : plain) {
      assertEquals(Arrays.asList(values), assertConverted(ofClass(values[0]), values));
    }
    // As 16 bits without a sign, which a load reads as an Integer.
    try (VectorSchemaRoot root = laidOut(ofClass('z'), '\u0000', 'z', '\uFFFF')) {
      assertEquals(List.of('\u0000', 'z', '\uFFFF'), ArrowRows.cells(root, 0));
    }
    Object[][] others = {
      {new UUID(1, 2), new UUID(-1, Long.MIN_VALUE)},
      {new UUID[] {new UUID(1, 2)}, new UUID[0]},
      {new Date(-1), new Date(253_402_300_799_999L)},
      {new Date[] {new Date(0)}, new Date[0]},
      {nanos(-1, 999_999_999), nanos(0, 1)},
      {new Timestamp[] {nanos(5, 7)}, new Timestamp[0]},
      {Time.valueOf("00:00:00"), Time.valueOf("23:59:59")},
      {java.sql.Date.valueOf("0001-01-01"), java.sql.Date.valueOf("9999-12-31")},
      {new BigDecimal("-0.001"), new BigDecimal("12345678901234567890123456789012345678901")},
    };
    for (Object[] values : others) {
      assertConverted(ofClass(values[0]), values);
    }
  }

  @Test
  public void arraysOfEveryClassKeepTheirValues() throws Exception {
    Map<Object[], String> arrays = new LinkedHashMap<>();
    arrays.put(new byte[][] {{-1, 0}, {}, {7}}, "[[-1, 0], [], [7]]");
    arrays.put(new short[][] {{-2, 3}, {}, {4}}, "[[-2,3], [], [4]]");
    arrays.put(new int[][] {{-2, 3}, {}}, "[[-2,3], []]");
    arrays.put(new long[][] {{}, {Long.MAX_VALUE}}, "[[], [9223372036854775807]]");
    arrays.put(new float[][] {{0.5f, 1.5f}, {2.5f}}, "[[0.5,1.5], [2.5]]");
    arrays.put(new double[][] {{0.5, 1.5}, {2.5}}, "[[0.5,1.5], [2.5]]");
    arrays.put(
        new boolean[][] {{true, false, true}, {}, {false}}, "[[true,false,true], [], [false]]");
    arrays.put(new char[][] {{'a', 'b'}, {'c'}}, "[[\"a\",\"b\"], [\"c\"]]");
    arrays.put(new String[][] {{"", "\u00e9"}, {}, {"x"}}, "[[\"\",\"\u00e9\"], [], [\"x\"]]");
    for (Map.Entry<Object[], String> entry : arrays.entrySet()) {
      Object[] values = entry.getKey();
      assertEquals(entry.getValue(), assertConverted(ofClass(values[0]), values).toString());
    }
  }

  private static ColumnType ofClass(Object value) {
    return ColumnTypes.ofClass(value.getClass()).orElseThrow(AssertionError::new);
  }

  @Test
  public void unsignedValuesGetAWiderClass() throws Exception {
    ArrowType bytes = new ArrowType.Int(8, false);
    ArrowType shorts = new ArrowType.Int(16, false);
    ArrowType ints = new ArrowType.Int(32, false);
    assertEquals(
        List.of((byte) -1, (byte) 7), assertConverted(stored(bytes), (short) 255, (short) 7));
    assertEquals(List.of('\uFFFF', '\u0007'), assertConverted(stored(shorts), 65_535, 7));
    assertEquals(List.of(-1, 7), assertConverted(stored(ints), 4_294_967_295L, 7L));
  }

  @Test
  public void fixedListsBecomeFlat() throws Exception {
    Field item = ColumnType.plain("item", new ArrowType.Int(8, false));
    Field matrix = ArrowRows.fixed("v", 2, ArrowRows.fixed("item", 3, item));

    assertEquals(
        List.of("[[1,2,3],[4,5,6]]"),
        assertConverted(stored(matrix), (Object) new byte[] {1, 2, 3, 4, 5, 6}));
  }

  @Test
  public void decimalsOfAPrecisionKeepTheirScale() throws Exception {
    ColumnType price = ColumnTypes.decimal(10, 2);

    assertConverted(price, new BigDecimal("-99999999.99"), new BigDecimal("0.00"));
    assertConverted(
        stored(new ArrowType.Decimal(76, 0, 256)), BigDecimal.TEN.pow(75), BigDecimal.ONE.negate());
  }

  @Test
  public void timesOfEveryUnitBecomeInstants() throws Exception {
    for (TimeUnit unit : TimeUnit.values()) {
      boolean fine = unit == TimeUnit.MICROSECOND || unit == TimeUnit.NANOSECOND;
      Object[] instants =
          fine
              ? new Object[] {new Timestamp(-1000), new Timestamp(1000)}
              : new Object[] {new Date(-1000), new Date(1000)};
      assertConverted(stored(new ArrowType.Timestamp(unit, "UTC")), instants);
      assertConverted(stored(new ArrowType.Timestamp(unit, null)), instants);
      assertConverted(
          stored(new ArrowType.Time(unit, fine ? 64 : 32)),
          Time.valueOf("00:00:00"),
          Time.valueOf("23:59:59"));
    }
    for (DateUnit unit : DateUnit.values()) {
      assertConverted(
          stored(new ArrowType.Date(unit)),
          java.sql.Date.valueOf("0001-01-01"),
          java.sql.Date.valueOf("2024-02-29"),
          java.sql.Date.valueOf("9999-12-31"));
    }
  }

  @Test
  public void listsOfListsAndMapsBecomeArraysAndMaps() throws Exception {
    Field ints = ColumnTypes.ofClass(int[].class).get().shape;
    Field text = ColumnType.plain(null, ArrowType.Utf8.INSTANCE);
    ColumnType lists = stored(ColumnType.listOf(ints));
    ColumnType maps = stored(ColumnType.mapOf(text, ints));

    assertConverted(lists, new Object[] {new int[] {1}, new int[0]}, new Object[0]);
    assertEquals(Object[].class, lists.storage);
    try (VectorSchemaRoot root = laidOut(maps, Map.of("a", new int[] {1, 2}), Map.of())) {
      VectorValues values = VectorValues.of(root.getVector(0), NO_OBJECTS);
      Map<?, ?> first = (Map<?, ?>) values.get(0);
      assertArrayEquals(new int[] {1, 2}, (int[]) first.get("a"));
      assertEquals(Map.of(), values.get(1));
    }
  }

  @Test
  public void aDecimalOfVeryManyDigitsIsRefused() throws Exception {
    Field decimal = ColumnTypes.ofClass(BigDecimal.class).get().field("d");
    for (String text : new String[] {"1E999999999", "1e-999999999", "9".repeat(200_000)}) {
      try (VarCharVector vector = new VarCharVector(decimal, allocator)) {
        vector.setSafe(0, text.getBytes(StandardCharsets.UTF_8));
        vector.setValueCount(1);
        VectorValues values = VectorValues.of(vector, NO_OBJECTS);

        MismatchException refused = assertThrows(MismatchException.class, () -> values.get(0));
        assertEquals("has more than 100000 digits when it is written out", refused.getMessage());
      }
    }
  }

  @Test
  public void aNullStaysNullAndATimeFinerThanJavasIsRefused() throws Exception {
    try (IntVector vector = new IntVector("n", allocator)) {
      vector.setSafe(0, 1);
      vector.setNull(1);
      vector.setValueCount(2);
      VectorValues values = VectorValues.of(vector, NO_OBJECTS);

      assertEquals(1, values.get(0));
      assertNull(values.get(1));
    }
    try (TimeMicroVector vector = new TimeMicroVector("t", allocator)) {
      vector.setSafe(0, 1);
      vector.setValueCount(1);
      VectorValues values = VectorValues.of(vector, NO_OBJECTS);
      assertThrows(MismatchException.class, () -> values.get(0));
    }
  }

  @Test
  public void whatIgniteWouldLoseOrReplaceIsRefused() throws Exception {
    try (VarCharVector vector = new VarCharVector("t", allocator)) {
      vector.setSafe(0, "caf\u00e9".getBytes(StandardCharsets.ISO_8859_1));
      vector.setSafe(1, "\uFFFD".getBytes(StandardCharsets.UTF_8));
      vector.setValueCount(2);
      VectorValues values = VectorValues.of(vector, NO_OBJECTS);
      assertRefused("whose bytes are not UTF-8", () -> values.get(0));
      assertEquals("\uFFFD", values.get(1));
    }
    try (MapVector maps = MapVector.empty("m", allocator, false)) {
      UnionMapWriter writer = maps.getWriter();
      writer.startMap();
      for (int value = 0; value < 2; value++) {
        writer.startEntry();
        writer.key().integer().writeInt(7);
        writer.value().integer().writeInt(value);
        writer.endEntry();
      }
      writer.endMap();
      maps.setValueCount(1);
      VectorValues values = VectorValues.of(maps, NO_OBJECTS);
      assertRefused("has the key 7 twice", () -> values.get(0));
    }
    Field item = ColumnType.plain("item", new ArrowType.Int(8, true));
    Field matrix = ArrowRows.fixed("v", 2, ArrowRows.fixed("item", 2, item));
    try (VectorSchemaRoot root = laidOut(stored(matrix), (Object) new byte[] {1, 2, 3, 4})) {
      FixedSizeListVector rows = (FixedSizeListVector) root.getVector(0);
      // The numbers below the null are there.
      ((FixedSizeListVector) rows.getDataVector()).setNull(1);
      VectorValues values = VectorValues.of(rows, NO_OBJECTS);
      assertRefused("is null, which an array of numbers cannot hold", () -> values.get(0));
    }
  }

  private static void assertRefused(String text, ThrowingRunnable action) {
    MismatchException refused = assertThrows(MismatchException.class, action);
    assertTrue(refused.getMessage(), refused.getMessage().contains(text));
  }

  private static ColumnType stored(ArrowType type) {
    return stored(ColumnType.plain("v", type));
  }

  private static ColumnType stored(Field field) {
    return StoredTypes.require(field);
  }

  private static Timestamp nanos(long second, int nanos) {
    Timestamp instant = new Timestamp(second * 1000);
    instant.setNanos(nanos);
    return instant;
  }

  /** Returns what Arrow reads. */
  private List<Object> assertConverted(ColumnType type, Object... rows) throws Exception {
    try (VectorSchemaRoot root = laidOut(type, rows)) {
      VectorValues values = VectorValues.of(root.getVector(0), NO_OBJECTS);
      for (int i = 0; i < rows.length; i++) {
        // As arrays, which compare by their elements.
        assertArrayEquals(new Object[] {rows[i]}, new Object[] {values.get(i)});
      }
      return ArrowRows.cells(root, 0);
    }
  }

  private VectorSchemaRoot laidOut(ColumnType type, Object... rows) {
    List<CacheColumn> columns = List.of(CacheColumn.of("v", type, "any", RowField::value));
    try (BatchWriter writer =
        new BatchWriter("c", columns, Nulls.NULLS_ERROR, false, () -> 1 << 20, 100, allocator)) {
      for (Object row : rows) {
        writer.append(0, row);
      }
      return ArrowRows.receive(CacheSchema.arrow(columns), writer.take(), allocator);
    }
  }
}
