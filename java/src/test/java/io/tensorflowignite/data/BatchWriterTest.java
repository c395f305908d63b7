package io.tensorflowignite.data;

import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_ROW_MISMATCH;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import io.tensorflowignite.base.TensorFlowIgniteException;
import io.tensorflowignite.data.column.Batch;
import io.tensorflowignite.data.column.RowField;
import io.tensorflowignite.data.read.BatchWriter;
import io.tensorflowignite.data.schema.CacheColumn;
import io.tensorflowignite.data.schema.CacheSchema;
import io.tensorflowignite.data.schema.ColumnType;
import io.tensorflowignite.data.schema.ColumnTypes;
import io.tensorflowignite.data.schema.StoredTypes;
import io.tensorflowignite.v1.Nulls;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongSupplier;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.RootAllocator;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.arrow.vector.types.pojo.ArrowType;
import org.apache.arrow.vector.types.pojo.Field;
import org.apache.arrow.vector.types.pojo.Schema;
import org.junit.After;
import org.junit.Test;

public class BatchWriterTest {
  private final BufferAllocator allocator = new RootAllocator();

  @After
  public void everyBufferIsFreed() {
    allocator.close();
  }

  @Test
  public void everyClassOfTheTableArrivesAsItWas() {
    assertArrives(Byte.class, Byte.MIN_VALUE, (byte) 0, Byte.MAX_VALUE);
    assertArrives(Short.class, Short.MIN_VALUE, Short.MAX_VALUE);
    assertArrives(Integer.class, Integer.MIN_VALUE, Integer.MAX_VALUE);
    assertArrives(Long.class, Long.MIN_VALUE, Long.MAX_VALUE);
    assertArrives(Float.class, -0f, Float.NaN, Float.MAX_VALUE);
    assertArrives(Double.class, -0d, Double.NEGATIVE_INFINITY, Double.MIN_VALUE);
    assertArrives(Boolean.class, true, false, true, true, false, false, true, false, true);
    assertArrives(Character.class, '\u0000', 'z', '\uFFFF');
    assertArrives(String.class, "", "plain", "\u00e9\u65e5\uD83D\uDE00");
  }

  @Test
  public void arraysOfEveryClassArriveAsTheyWere() {
    assertArrays("[[-1, 0], [], [7]]", new byte[] {-1, 0}, new byte[0], new byte[] {7});
    assertArrays("[[-2,3], [], [4]]", new short[] {-2, 3}, new short[0], new short[] {4});
    assertArrays("[[-2,3], []]", new int[] {-2, 3}, new int[0]);
    assertArrays("[[], [9223372036854775807]]", new long[0], new long[] {Long.MAX_VALUE});
    assertArrays("[[0.5,1.5], [2.5]]", new float[] {0.5f, 1.5f}, new float[] {2.5f});
    assertArrays("[[0.5,1.5], [2.5]]", new double[] {0.5, 1.5}, new double[] {2.5});
    assertArrays(
        "[[true,false,true], [], [false]]", bools(true, false, true), bools(), bools(false));
    assertArrays("[[\"a\",\"b\"], [\"c\"]]", new char[] {'a', 'b'}, new char[] {'c'});
    assertArrays(
        "[[\"\",\"\u00e9\"], [], [\"x\"]]",
        new String[] {"", "\u00e9"},
        new String[0],
        new String[] {"x"});
  }

  private void assertArrays(String expected, Object... arrays) {
    assertEquals(expected, arrive(arrays[0].getClass(), arrays).toString());
  }

  private static boolean[] bools(boolean... values) {
    return values;
  }

  @Test
  public void unsignedTypesOfAStoredSchemaKeepTheirValues() {
    Field bytes = ColumnType.plain("v", new ArrowType.Int(8, false));
    Field shorts = ColumnType.plain("v", new ArrowType.Int(16, false));
    Field ints = ColumnType.plain("v", new ArrowType.Int(32, false));

    assertEquals(List.of((byte) -1, (byte) 7), arrive(bytes, (short) 255, (short) 7));
    assertEquals(List.of('\uFFFF', '\u0007'), arrive(shorts, 65_535, 7));
    assertEquals(List.of(-1, 7), arrive(ints, 4_294_967_295L, 7L));
  }

  @Test
  public void fixedListsOfSeveralDimensionsAreStoredFlat() {
    Field matrix =
        ArrowRows.fixed(
            "v",
            2,
            ArrowRows.fixed("item", 3, ColumnType.plain("item", new ArrowType.Int(8, false))));

    assertEquals(
        List.of("[[1,2,3],[4,5,6]]"), arrive(matrix, (Object) new byte[] {1, 2, 3, 4, 5, 6}));
  }

  @Test
  public void aFixedListOfAnotherLengthIsAnError() {
    Field pixels =
        ArrowRows.fixed("pixels", 4, ColumnType.plain("item", new ArrowType.Int(8, false)));

    assertMismatch(
        "cache digits, key 7: column pixels has 3 elements instead of 4;", pixels, new byte[3]);
  }

  @Test
  public void nullsAndOtherClassesAreErrors() {
    Field number = ColumnType.plain("n", new ArrowType.Int(32, true));
    Field strings =
        new Field(
            "s",
            ColumnTypes.ofClass(String[].class).get().shape().getFieldType(),
            ColumnTypes.ofClass(String[].class).get().shape().getChildren());

    assertMismatch("cache digits, key 7: column n is null;", number, null);
    assertMismatch(
        "cache digits, key 7: column n is of class Long instead of Integer;", number, 1L);
    assertMismatch("cache digits, key 7: column s[1] is null;", strings, new String[] {"a", null});
  }

  @Test
  public void aBatchIsFullAtItsRows() {
    try (BatchWriter writer =
        writer(ColumnType.plain("n", new ArrowType.Int(32, true)), 1 << 20, 3)) {
      writer.append(1, 1);
      writer.append(2, 2);
      assertFalse(writer.isFull());
      writer.append(3, 3);
      assertTrue(writer.isFull());
      writer.take().close();
      assertTrue(writer.isEmpty());
      assertFalse(writer.isFull());
    }
  }

  @Test
  public void aBatchIsFullAtItsBytesOfAnyType() {
    try (BatchWriter writer =
        writer(ColumnType.plain("s", ArrowType.Utf8.INSTANCE), 1000, 1 << 16)) {
      writer.append(1, "x".repeat(900));
      assertFalse(writer.isFull());
      writer.append(2, "x".repeat(100));
      assertTrue(writer.isFull());
    }
  }

  @Test
  public void largeBatchesFollowEachOtherWithoutMixingRows() {
    Field bytes = ColumnType.plain("v", ArrowType.Binary.INSTANCE);
    try (BatchWriter writer = writer(bytes, 1 << 20, 1 << 16)) {
      for (int batch = 0; batch < 3; batch++) {
        while (!writer.isFull()) {
          byte[] value = new byte[100_000 + batch];
          Arrays.fill(value, (byte) batch);
          writer.append(0, value);
        }
        try (VectorSchemaRoot root =
            ArrowRows.receive(new Schema(List.of(bytes)), writer.take(), allocator)) {
          assertEquals(11, root.getRowCount());
          byte[] expected = new byte[100_000 + batch];
          Arrays.fill(expected, (byte) batch);
          assertEquals(
              Collections.nCopies(11, Arrays.toString(expected)), ArrowRows.cells(root, 0));
        }
      }
    }
  }

  @Test
  public void rowsThatAreNotTakenAreFreedAtTheEnd() {
    BatchWriter writer = writer(ColumnType.plain("s", ArrowType.Utf8.INSTANCE), 1000, 10);
    writer.append(1, "left over");
    assertTrue(allocator.getAllocatedMemory() > 0);

    writer.close();

    assertEquals(0, allocator.getAllocatedMemory());
  }

  @Test
  public void memoryOfABatchOfKnownRowsIsAllocatedAtOnce() {
    Field field =
        ArrowRows.fixed("pixels", 1000, Field.notNullable("item", new ArrowType.Int(8, true)));
    for (int rows : new int[] {100, 1 << 30}) {
      try (BatchWriter writer = writer(field, 1 << 17, rows)) {
        writer.append(1, new byte[1000]);
        assertEquals(1 << 17, allocator.getAllocatedMemory());
      }
    }
    try (BatchWriter writer = writer(field, 1 << 17, 0)) {
      writer.append(1, new byte[1000]);
      assertEquals(1 << 12, allocator.getAllocatedMemory());
    }
  }

  private void assertArrives(Class<?> storage, Object... values) {
    assertEquals(Arrays.asList(values), arrive(storage, values));
  }

  private List<Object> arrive(Class<?> storage, Object... values) {
    return arrive(ColumnTypes.ofClass(storage).orElseThrow(AssertionError::new), values);
  }

  private List<Object> arrive(Field field, Object... values) {
    return arrive(StoredTypes.require(field), values);
  }

  private List<Object> arrive(ColumnType type, Object... values) {
    CacheColumn column = CacheColumn.of("v", type, "any", RowField::value);
    List<CacheColumn> columns = List.of(column);
    try (BatchWriter writer =
        new BatchWriter(
            "digits", columns, Nulls.NULLS_ERROR, false, () -> 1 << 20, 1 << 16, allocator)) {
      for (Object value : values) {
        writer.append(7, value);
      }
      try (VectorSchemaRoot root =
          ArrowRows.receive(CacheSchema.arrow(columns), writer.take(), allocator)) {
        return ArrowRows.cells(root, 0);
      }
    }
  }

  private void assertMismatch(String text, Field field, Object value) {
    try (BatchWriter writer = writer(field, 1000, 10)) {
      TensorFlowIgniteException error =
          assertThrows(TensorFlowIgniteException.class, () -> writer.append(7, value));
      assertEquals(ERROR_CODE_ROW_MISMATCH, error.code());
      assertTrue(error.getMessage(), error.getMessage().startsWith(text));
    }
  }

  @Test
  public void aBatchStartsWithinTheLimitOfItsFirstRow() {
    AtomicLong limit = new AtomicLong(1 << 20);
    Field field = ColumnType.plain("v", ArrowType.Binary.INSTANCE);
    try (BatchWriter writer = writer(field, limit::get, 0)) {
      while (!writer.isFull()) {
        writer.append(7, new byte[1 << 10]);
      }
      Batch large = writer.take();
      // The first batch waits for its reader; meanwhile others need memory.
      limit.set(8 << 10);
      large.close();
      writer.append(7, new byte[1 << 10]);
      assertTrue(allocator.toString(), allocator.getAllocatedMemory() <= 16 << 10);
      while (!writer.isFull()) {
        writer.append(7, new byte[1 << 10]);
      }
      try (Batch small = writer.take()) {
        assertTrue("rows: " + small.rows(), small.rows() <= 8);
      }
    }
  }

  private BatchWriter writer(Field field, long bytes, int rows) {
    return writer(field, () -> bytes, rows);
  }

  private BatchWriter writer(Field field, LongSupplier limit, int rows) {
    ColumnType type = StoredTypes.require(field);
    CacheColumn column = CacheColumn.of(field.getName(), type, "any", RowField::value);
    return new BatchWriter(
        "digits", List.of(column), Nulls.NULLS_ERROR, false, limit, rows, allocator);
  }
}
