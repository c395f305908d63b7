package io.tensorflowignite.data.load;

import io.tensorflowignite.data.column.ElementType;
import io.tensorflowignite.data.column.MismatchException;
import io.tensorflowignite.data.schema.ColumnType;
import io.tensorflowignite.data.schema.LoadableTypes;
import io.tensorflowignite.data.schema.StoredTypes;
import java.lang.reflect.Array;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.IntToLongFunction;
import org.apache.arrow.vector.BitVector;
import org.apache.arrow.vector.FieldVector;
import org.apache.arrow.vector.complex.BaseListVector;
import org.apache.arrow.vector.complex.FixedSizeListVector;
import org.apache.arrow.vector.complex.MapVector;
import org.apache.arrow.vector.complex.StructVector;
import org.apache.arrow.vector.types.pojo.Field;
import org.apache.ignite.binary.BinaryObjectBuilder;

/** Converts the values of one Arrow vector to the objects that Ignite stores. */
public final class VectorValues {
  private final FieldVector vector;
  private final boolean hasNulls;
  private final SingleValues.Get values;

  private VectorValues(FieldVector vector, String path, Objects objects) {
    this.vector = vector;
    hasNulls = vector.getNullCount() > 0;
    values = values(vector, path, objects);
  }

  /** Creates the objects for structs. */
  public interface Objects {
    /**
     * @param path the struct's path: "address", or inside another struct "person.address"
     */
    BinaryObjectBuilder builder(String path);
  }

  /** The values of a loaded column. */
  public static VectorValues of(FieldVector vector, Objects objects) {
    return new VectorValues(vector, vector.getName(), objects);
  }

  /** The value of a row; may be null. */
  public Object get(int row) throws MismatchException {
    return hasNulls && vector.isNull(row) ? null : values.value(row);
  }

  private static SingleValues.Get values(FieldVector vector, String path, Objects objects) {
    if (vector instanceof MapVector) {
      return maps((MapVector) vector, path, objects);
    }
    if (vector instanceof StructVector) {
      return structs(vector.getChildrenFromFields(), path, objects);
    }
    if (vector instanceof FixedSizeListVector) {
      FixedSizeListVector lists = (FixedSizeListVector) vector;
      long length = lists.getListSize();
      return new Lists(lists, row -> row * length, row -> (row + 1) * length, path, objects);
    }
    if (vector instanceof BaseListVector) {
      BaseListVector lists = (BaseListVector) vector;
      return new Lists(
          lists, lists::getElementStartIndex, lists::getElementEndIndex, path, objects);
    }
    return SingleValues.of(vector);
  }

  private static SingleValues.Get structs(
      List<FieldVector> children, String path, Objects objects) {
    List<VectorValues> fields = new ArrayList<>();
    children.forEach(
        child -> fields.add(new VectorValues(child, path + "." + child.getName(), objects)));
    return row -> {
      BinaryObjectBuilder object = objects.builder(path);
      for (VectorValues field : fields) {
        String name = field.vector.getName();
        try {
          Object value = field.get(row);
          // A field that an object lacks is null.
          if (value != null) {
            object.setField(name, value);
          }
        } catch (MismatchException mismatch) {
          throw mismatch.inField(name);
        }
      }
      return object.build();
    };
  }

  private static SingleValues.Get maps(MapVector maps, String path, Objects objects) {
    List<FieldVector> entry = maps.getDataVector().getChildrenFromFields();
    VectorValues keys = new VectorValues(entry.get(0), path + ".key", objects);
    VectorValues values = new VectorValues(entry.get(1), path + ".value", objects);
    return row -> {
      Map<Object, Object> map = new LinkedHashMap<>();
      for (int i = maps.getElementStartIndex(row); i < maps.getElementEndIndex(row); i++) {
        Object key = keys.get(i);
        if (map.containsKey(key)) {
          throw new MismatchException("has the key " + key + " twice, and a map has each key once");
        }
        map.put(key, values.get(i));
      }
      return map;
    };
  }

  /** Lists as arrays. Numbers are copied array by array, and nested fixed lists are stored flat. */
  private static final class Lists implements SingleValues.Get {
    private final IntToLongFunction starts;
    private final IntToLongFunction ends;
    private final List<FieldVector> fixedLists = new ArrayList<>();
    private final FieldVector leaf;
    private final long leafLength;
    private final ElementType number;
    private final boolean bits;
    private final Class<?> component;
    private final VectorValues items;
    private final int nulls;

    Lists(
        FieldVector vector,
        IntToLongFunction starts,
        IntToLongFunction ends,
        String path,
        Objects objects) {
      this.starts = starts;
      this.ends = ends;
      FieldVector child = vector.getChildrenFromFields().get(0);
      Field element = StoredTypes.leaf(LoadableTypes.plain(vector.getField()));
      FieldVector inner = child;
      long length = 1;
      int nullCount = inner.getNullCount();
      boolean flat = element.getType().equals(ColumnType.innermost(child.getField()).getType());
      while (flat && inner instanceof FixedSizeListVector) {
        fixedLists.add(inner);
        length *= ((FixedSizeListVector) inner).getListSize();
        inner = ((FixedSizeListVector) inner).getDataVector();
        nullCount += inner.getNullCount();
      }
      leaf = inner;
      leafLength = length;
      nulls = nullCount;
      component = StoredTypes.array(element).getComponentType();
      number = ElementType.of(element.getType()).filter(type -> type.array != null).orElse(null);
      bits = component == boolean.class;
      items = new VectorValues(leaf, path, objects);
    }

    @Override
    public Object value(int row) throws MismatchException {
      int start = Math.toIntExact(starts.applyAsLong(row) * leafLength);
      int length = Math.toIntExact(ends.applyAsLong(row) * leafLength - start);
      if (component.isPrimitive() && nulls > 0) {
        requireNoNull(start, length);
      }
      if (number != null) {
        ByteBuffer from =
            length == 0
                ? ByteBuffer.allocate(0)
                : leaf.getDataBuffer()
                    .nioBuffer((long) start * number.width, length * number.width);
        return number.getArray.get(from.order(ByteOrder.LITTLE_ENDIAN), length);
      }
      if (bits) {
        boolean[] values = new boolean[length];
        for (int i = 0; i < length; i++) {
          values[i] = ((BitVector) leaf).get(start + i) != 0;
        }
        return values;
      }
      Object values = Array.newInstance(component, length);
      for (int i = 0; i < length; i++) {
        try {
          Array.set(values, i, items.get(start + i));
        } catch (MismatchException mismatch) {
          throw mismatch.at(i);
        }
      }
      return values;
    }

    private void requireNoNull(int start, int length) throws MismatchException {
      for (int i = start; i < start + length; i++) {
        boolean isNull = leaf.isNull(i);
        long elements = leafLength;
        for (FieldVector lists : fixedLists) {
          isNull |= lists.isNull((int) (i / elements));
          elements /= ((FixedSizeListVector) lists).getListSize();
        }
        if (isNull) {
          throw new MismatchException("is null, which an array of numbers cannot hold")
              .at(i - start);
        }
      }
    }
  }
}
