package io.tensorflowignite.data;

import static io.tensorflowignite.base.Refusals.assertRefused;
import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_ROW_MISMATCH;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertTrue;

import io.tensorflowignite.data.column.Batch;
import io.tensorflowignite.data.column.RowField;
import io.tensorflowignite.data.read.BatchWriter;
import io.tensorflowignite.data.schema.CacheColumn;
import io.tensorflowignite.data.schema.ColumnType;
import io.tensorflowignite.data.schema.ColumnTypes;
import io.tensorflowignite.data.schema.StoredTypes;
import io.tensorflowignite.v1.Nulls;
import java.math.BigDecimal;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongSupplier;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.RootAllocator;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.arrow.vector.types.FloatingPointPrecision;
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
  public void nullsAndValuesOfOtherLengthsOrClassesAreErrors() {
    Field pixels =
        ArrowRows.fixed("pixels", 4, ColumnType.plain("item", new ArrowType.Int(8, false)));
    Field number = ColumnType.plain("n", new ArrowType.Int(32, true));
    Field shape = ColumnTypes.ofClass(String[].class).get().shape;
    Field strings = new Field("s", shape.getFieldType(), shape.getChildren());

    assertMismatch(
        "cache digits, key 7: column pixels has 3 elements instead of 4;", pixels, new byte[3]);
    assertMismatch("cache digits, key 7: column n is null;", number, null);
    assertMismatch(
        "cache digits, key 7: column n is of class Long instead of Integer;", number, 1L);
    assertMismatch("cache digits, key 7: column s[1] is null;", strings, new String[] {"a", null});
  }

  @Test
  public void aNumberIsNotReadAsInfinityInAShorterType() {
    for (FloatingPointPrecision precision : FloatingPointPrecision.values()) {
      Object tooLarge =
          precision == FloatingPointPrecision.DOUBLE ? new BigDecimal("1E+400") : (Object) 1e39;
      ColumnType stored = ColumnTypes.ofClass(tooLarge.getClass()).get();
      CacheColumn column =
          CacheColumn.of("x", stored, "any", RowField::value)
              .as(ColumnType.plain("x", new ArrowType.FloatingPoint(precision)), false);
      try (BatchWriter writer =
          new BatchWriter(
              "c", List.of(column), Nulls.NULLS_ERROR, false, () -> 1000, 10, allocator)) {
        writer.append(1, 0.5);
        writer.append(2, Double.NEGATIVE_INFINITY);
        assertRefused(
            ERROR_CODE_ROW_MISMATCH,
            () -> writer.append(7, tooLarge),
            "key 7: column x is " + tooLarge + ", which is too large for a floating-point number");
      }
    }
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

  private void assertMismatch(String text, Field field, Object value) {
    try (BatchWriter writer = writer(field, 1000, 10)) {
      assertRefused(ERROR_CODE_ROW_MISMATCH, () -> writer.append(7, value), text);
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
        assertTrue("rows: " + small.rows, small.rows <= 8);
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
