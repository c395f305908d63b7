package io.tensorflowignite.data;

import static io.tensorflowignite.base.Refusals.assertRefused;
import static org.junit.Assert.assertEquals;

import io.tensorflowignite.data.column.Batch;
import io.tensorflowignite.data.column.Columns;
import io.tensorflowignite.data.column.LogicalType;
import io.tensorflowignite.data.read.BatchWriter;
import io.tensorflowignite.data.schema.CacheColumn;
import io.tensorflowignite.data.schema.ColumnType;
import io.tensorflowignite.v1.Nulls;
import java.math.BigDecimal;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.RootAllocator;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.arrow.vector.types.pojo.ArrowType;
import org.apache.arrow.vector.types.pojo.Field;
import org.apache.arrow.vector.types.pojo.Schema;
import org.junit.After;
import org.junit.Test;

/** Rows with nulls, and rows that do not fit, are added whole or not at all. */
public class RowRollbackTest {
  private static final Field TEXT = ColumnType.plain(null, ArrowType.Utf8.INSTANCE);
  private static final Field INT = ColumnType.plain(null, new ArrowType.Int(32, true));
  private static final Field BOOL = ColumnType.plain(null, ArrowType.Bool.INSTANCE);

  private final BufferAllocator allocator = new RootAllocator();

  @After
  public void everyBufferIsFreed() {
    allocator.close();
  }

  @Test
  public void keptNullsAreMarkedInTheValidityAtEveryDepth() {
    Map<String, Object> map = new HashMap<>();
    map.put("a", null);
    assertKept(INT, "[1, null, 3]", 1, null, 3);
    assertKept(BOOL, "[null, true, false]", null, true, false);
    assertKept(TEXT, "[x, null, ]", "x", null, "");
    assertKept(
        ColumnType.listOf(TEXT),
        "[[\"x\",null], null, []]",
        new String[] {"x", null},
        null,
        List.of());
    assertKept(
        fixed(2, INT), "[[1,2], null, [null,4]]", new int[] {1, 2}, null, Arrays.asList(null, 4));
    assertKept(
        ColumnType.mapOf(TEXT, INT), "[[{\"key\":\"a\"}], null, []]", map, null, new HashMap<>());
  }

  @Test
  public void columnsWithoutNullsHaveNoValidity() {
    try (BatchWriter writer = writer(Nulls.NULLS_KEEP, false, INT)) {
      writer.append(1, new Object[] {1});
      try (Batch batch = writer.take()) {
        assertEquals(0, batch.columns.get(0).nulls);
        assertEquals(0, batch.columns.get(0).buffers.get(0).capacity());
      }
      writer.append(1, new Object[] {null});
      try (Batch batch = writer.take()) {
        assertEquals(1, batch.columns.get(0).nulls);
        assertEquals(1, batch.columns.get(0).buffers.get(0).writerIndex());
      }
    }
  }

  @Test
  public void defaultsReplaceNulls() {
    assertEquals("[1, 0]", cells(Nulls.NULLS_DEFAULT, INT, 1, null));
    assertEquals("[true, false]", cells(Nulls.NULLS_DEFAULT, BOOL, true, null));
    assertEquals("[x, ]", cells(Nulls.NULLS_DEFAULT, TEXT, "x", null));
    assertEquals(
        "[[\"x\",\"\"], []]",
        cells(Nulls.NULLS_DEFAULT, ColumnType.listOf(TEXT), new String[] {"x", null}, null));
    assertEquals("[[0,0]]", cells(Nulls.NULLS_DEFAULT, fixed(2, INT), (Object) null));
    Field decimals = LogicalType.DECIMAL.field();
    assertEquals("[0, 1.50]", cells(Nulls.NULLS_DEFAULT, decimals, null, new BigDecimal("1.50")));
  }

  @Test
  public void aNullIsAnErrorThatNamesItsPath() {
    Field lists = ColumnType.listOf(ColumnType.listOf(TEXT));
    try (BatchWriter writer = writer(Nulls.NULLS_ERROR, false, lists)) {
      Object value = new Object[] {new String[0], new String[] {"a", null}};
      assertRefused(
          () -> writer.append(7, new Object[] {value}), "cache c, key 7: column c0[1][1] is null;");
    }
  }

  @Test
  public void aRowThatDoesNotFitLeavesNothingBehindAndIsCounted() {
    Field[] columns = {
      INT, TEXT, BOOL, ColumnType.listOf(TEXT), fixed(2, INT), ColumnType.mapOf(TEXT, INT), INT
    };
    try (BatchWriter writer = writer(Nulls.NULLS_KEEP, true, columns)) {
      for (int i = 0; i < 20; i++) {
        writer.append(i, row(i, true));
        writer.append(i, row(100 + i, false));
        Object[] deep = row(100 + i, true);
        deep[3] = List.of("left over", 5);
        writer.append(i, deep);
        deep = row(100 + i, true);
        deep[5] = Collections.singletonMap("left over", "5");
        writer.append(i, deep);
      }
      assertEquals(60, writer.skipped());
      try (VectorSchemaRoot root = ArrowRows.receive(schema(columns), writer.take(), allocator)) {
        assertEquals(20, root.getRowCount());
        for (int i = 0; i < 20; i++) {
          assertEquals(i % 3 == 0 ? null : (Object) i, root.getVector(0).getObject(i));
          assertEquals("t" + i, root.getVector(1).getObject(i).toString());
          assertEquals(i % 2 == 0, root.getVector(2).getObject(i));
          assertEquals("[\"" + i + "\"]", root.getVector(3).getObject(i).toString());
          assertEquals("[" + i + "," + i + "]", root.getVector(4).getObject(i).toString());
          assertEquals(
              "[{\"key\":\"k" + i + "\",\"value\":" + i + "}]",
              root.getVector(5).getObject(i).toString());
        }
        assertEquals(7, root.getVector(0).getNullCount());
      }
    }
  }

  private static Object[] row(int i, boolean fits) {
    return new Object[] {
      i % 3 == 0 ? null : i,
      "t" + i,
      i % 2 == 0,
      List.of(Integer.toString(i)),
      new int[] {i, i},
      Collections.singletonMap("k" + i, i),
      fits ? (Object) i : "no number"
    };
  }

  private void assertKept(Field type, String expected, Object... values) {
    assertEquals(expected, cells(Nulls.NULLS_KEEP, type, values));
  }

  private String cells(Nulls nulls, Field type, Object... values) {
    try (BatchWriter writer = writer(nulls, false, type)) {
      for (Object value : values) {
        writer.append(7, new Object[] {value});
      }
      try (VectorSchemaRoot root = ArrowRows.receive(schema(type), writer.take(), allocator)) {
        return ArrowRows.cells(root, 0).toString();
      }
    }
  }

  private static Schema schema(Field... types) {
    Field[] fields = new Field[types.length];
    for (int i = 0; i < types.length; i++) {
      fields[i] = Columns.nullable(ColumnType.named("c" + i, types[i]));
    }
    return new Schema(Arrays.asList(fields));
  }

  /** A writer of rows whose value is an array with one element for each column. */
  private BatchWriter writer(Nulls nulls, boolean skip, Field... types) {
    CacheColumn[] columns = new CacheColumn[types.length];
    for (int i = 0; i < types.length; i++) {
      int index = i;
      ColumnType type = new ColumnType(Object.class, "any", types[i]);
      columns[i] =
          CacheColumn.of("c" + i, type, "any", () -> (key, value) -> ((Object[]) value)[index]);
    }
    return new BatchWriter(
        "c", Arrays.asList(columns), nulls, skip, () -> 1 << 20, 1 << 16, allocator);
  }

  private static Field fixed(int size, Field child) {
    return ArrowRows.fixed(null, size, ColumnType.named("item", child));
  }
}
