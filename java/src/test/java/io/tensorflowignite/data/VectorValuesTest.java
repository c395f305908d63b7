package io.tensorflowignite.data;

import static org.junit.Assert.assertArrayEquals;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertThrows;

import java.util.Collections;
import java.util.List;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.RootAllocator;
import org.apache.arrow.vector.IntVector;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.arrow.vector.types.pojo.ArrowType;
import org.apache.arrow.vector.types.pojo.Field;
import org.apache.arrow.vector.types.pojo.FieldType;
import org.junit.After;
import org.junit.Test;

/** What a read lays out, a load takes up again. */
public class VectorValuesTest {
  private final BufferAllocator allocator = new RootAllocator();

  @After
  public void everyBufferIsFreed() {
    allocator.close();
  }

  @Test
  public void everyClassOfTheTableIsTakenAsItWas() throws Exception {
    Object[][] values = {
      {Byte.MIN_VALUE, Byte.MAX_VALUE},
      {Short.MIN_VALUE, (short) 5},
      {Integer.MIN_VALUE, 5},
      {Long.MIN_VALUE, 5L},
      {-0f, 1.5f},
      {-0d, 1.5d},
      {true, false},
      {"", "\u00e9\uD83D\uDE00"},
      {new byte[] {-1}, new byte[0]},
      {new short[] {1, 2}, new short[0]},
      {new int[0], new int[] {1, 2}},
      {new long[] {1}, new long[] {1, 2}},
      {new float[] {1}, new float[] {1, 2}},
      {new double[] {1}, new double[] {1, 2}},
      {new boolean[] {true, false, true}, new boolean[] {false, true}},
      {new char[] {'a'}, new char[] {'\uFFFF', 'b'}},
      {new String[] {"", "x"}, new String[0]},
    };
    for (Object[] pair : values) {
      ColumnType type = ColumnTypes.ofClass(pair[0].getClass()).orElseThrow(AssertionError::new);
      assertTaken(type, pair);
    }
  }

  @Test
  public void unsignedValuesAreTakenWider() throws Exception {
    assertTaken(stored(new ArrowType.Int(8, false)), (short) 255, (short) 0);
    assertTaken(stored(new ArrowType.Int(16, false)), 65_535, 0);
    assertTaken(stored(new ArrowType.Int(32, false)), 4_294_967_295L, 0L);
  }

  @Test
  public void fixedListsAreTakenFlat() throws Exception {
    Field item = ColumnType.plain("item", new ArrowType.Int(8, false));
    Field row =
        new Field(
            "item",
            FieldType.notNullable(new ArrowType.FixedSizeList(2)),
            Collections.singletonList(item));
    Field matrix =
        new Field(
            "v",
            FieldType.notNullable(new ArrowType.FixedSizeList(2)),
            Collections.singletonList(row));

    ColumnType type = ColumnTypes.ofField(matrix).orElseThrow(AssertionError::new);

    assertTaken(type, new byte[] {1, 2, 3, 4}, new byte[] {-1, -2, -3, -4});
  }

  @Test
  public void aNullIsNoValue() throws Exception {
    try (IntVector vector = new IntVector("n", allocator)) {
      vector.setSafe(0, 1);
      vector.setNull(1);
      vector.setValueCount(2);
      VectorValues values =
          new VectorValues(
              vector, ColumnTypes.ofClass(Integer.class).orElseThrow(AssertionError::new));

      assertEquals(1, values.get(0));
      assertThrows(MismatchException.class, () -> values.get(1));
    }
  }

  private static ColumnType stored(ArrowType type) {
    return ColumnTypes.ofField(ColumnType.plain("v", type)).orElseThrow(AssertionError::new);
  }

  private void assertTaken(ColumnType type, Object... rows) throws Exception {
    List<CacheColumn> columns =
        Collections.singletonList(CacheColumn.of("v", type, "any", RowField::value));
    try (BatchWriter writer = new BatchWriter("c", columns, 1 << 20, 100, allocator)) {
      for (Object row : rows) {
        writer.append(0, row);
      }
      try (VectorSchemaRoot root =
          ArrowRows.receive(CacheSchema.arrow(columns), writer.take(), allocator)) {
        VectorValues values = new VectorValues(root.getVector(0), type);
        for (int i = 0; i < rows.length; i++) {
          // As arrays, which compare by their elements.
          assertArrayEquals(new Object[] {rows[i]}, new Object[] {values.get(i)});
        }
      }
    }
  }
}
