package io.tensorflowignite.data.load;

import io.tensorflowignite.data.column.ElementType;
import io.tensorflowignite.data.column.MismatchException;
import io.tensorflowignite.data.schema.Loadable;
import io.tensorflowignite.data.schema.StoredTypes;
import java.lang.reflect.Array;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.apache.arrow.vector.BitVector;
import org.apache.arrow.vector.FieldVector;
import org.apache.arrow.vector.complex.BaseListVector;
import org.apache.arrow.vector.complex.FixedSizeListVector;
import org.apache.arrow.vector.complex.MapVector;
import org.apache.arrow.vector.complex.StructVector;
import org.apache.arrow.vector.types.pojo.ArrowType;
import org.apache.arrow.vector.types.pojo.Field;
import org.apache.ignite.binary.BinaryObjectBuilder;

/** Takes the values of one Arrow vector as the objects that Ignite stores. */
public abstract class VectorValues {
  private final FieldVector vector;
  private final boolean hasNulls;

  public VectorValues(FieldVector vector) {
    this.vector = vector;
    hasNulls = vector.getNullCount() > 0;
  }

  /** Makes the objects that structs become. */
  public interface Objects {
    /**
     * @param path where the struct stands: "address", or inside of another one "person.address"
     */
    BinaryObjectBuilder builder(String path);
  }

  /** The values of a column of rows that are loaded. */
  public static VectorValues of(FieldVector vector, Objects objects) {
    return nested(vector, vector.getName(), objects);
  }

  /** The value of a row; null where it is null. */
  public final Object get(int row) throws MismatchException {
    return hasNulls && vector.isNull(row) ? null : value(row);
  }

  public abstract Object value(int row) throws MismatchException;

  public static VectorValues nested(FieldVector vector, String path, Objects objects) {
    if (vector instanceof MapVector) {
      return new Maps((MapVector) vector, path, objects);
    }
    if (vector instanceof StructVector) {
      return new Structs((StructVector) vector, path, objects);
    }
    if (vector instanceof FixedSizeListVector) {
      FixedSizeListVector lists = (FixedSizeListVector) vector;
      int length = lists.getListSize();
      return new Lists(vector, lists.getDataVector(), path, objects) {
        @Override
        long start(int row) {
          return (long) row * length;
        }

        @Override
        long end(int row) {
          return (row + 1L) * length;
        }
      };
    }
    if (vector instanceof BaseListVector) {
      BaseListVector lists = (BaseListVector) vector;
      return new Lists(vector, vector.getChildrenFromFields().get(0), path, objects) {
        @Override
        long start(int row) {
          return lists.getElementStartIndex(row);
        }

        @Override
        long end(int row) {
          return lists.getElementEndIndex(row);
        }
      };
    }
    return new Singles(vector);
  }

  private static final class Singles extends VectorValues {
    private final SingleValues.Get get;

    Singles(FieldVector vector) {
      super(vector);
      get = SingleValues.of(vector);
    }

    @Override
    public Object value(int row) throws MismatchException {
      return get.value(row);
    }
  }

  /** Arrays; those of numbers are copied whole, nested fixed lists flat. */
  private abstract static class Lists extends VectorValues {
    private final FieldVector leaf;
    private final long leafLength;
    private final ElementType number;
    private final boolean bits;
    private final Class<?> component;
    private final VectorValues items;
    private final int nulls;

    Lists(FieldVector vector, FieldVector child, String path, Objects objects) {
      super(vector);
      Field element = StoredTypes.leaf(Loadable.plain(vector.getField()));
      FieldVector at = child;
      long length = 1;
      int missing = at.getNullCount();
      boolean flat = element.getType().equals(innermost(child.getField()).getType());
      while (flat && at instanceof FixedSizeListVector) {
        length *= ((FixedSizeListVector) at).getListSize();
        at = ((FixedSizeListVector) at).getDataVector();
        missing += at.getNullCount();
      }
      leaf = at;
      leafLength = length;
      nulls = missing;
      component = StoredTypes.array(element).getComponentType();
      Optional<ElementType> found =
          ElementType.of(element.getType()).filter(type -> type.array != null);
      number = found.orElse(null);
      bits = component == boolean.class;
      items = nested(leaf, path, objects);
    }

    private static Field innermost(Field field) {
      Field at = field;
      while (at.getType() instanceof ArrowType.FixedSizeList) {
        at = at.getChildren().get(0);
      }
      return at;
    }

    abstract long start(int row);

    abstract long end(int row);

    @Override
    public Object value(int row) throws MismatchException {
      int start = Math.toIntExact(start(row) * leafLength);
      int length = Math.toIntExact(end(row) * leafLength - start);
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
      for (int i = 0; i < length; i++) {
        if (leaf.isNull(start + i)) {
          throw new MismatchException("is null, which an array of numbers cannot hold").at(i);
        }
      }
    }
  }

  private static final class Structs extends VectorValues {
    private final String path;
    private final Objects objects;
    private final List<String> names = new ArrayList<>();
    private final List<VectorValues> fields = new ArrayList<>();

    Structs(StructVector vector, String path, Objects objects) {
      super(vector);
      this.path = path;
      this.objects = objects;
      for (FieldVector child : vector.getChildrenFromFields()) {
        names.add(child.getName());
        fields.add(nested(child, path + "." + child.getName(), objects));
      }
    }

    @Override
    public Object value(int row) throws MismatchException {
      BinaryObjectBuilder object = objects.builder(path);
      for (int i = 0; i < names.size(); i++) {
        try {
          Object value = fields.get(i).get(row);
          // A field that an object lacks is null.
          if (value != null) {
            object.setField(names.get(i), value);
          }
        } catch (MismatchException mismatch) {
          throw mismatch.inField(names.get(i));
        }
      }
      return object.build();
    }
  }

  private static final class Maps extends VectorValues {
    private final MapVector maps;
    private final VectorValues keys;
    private final VectorValues values;

    Maps(MapVector vector, String path, Objects objects) {
      super(vector);
      maps = vector;
      List<FieldVector> entry = vector.getDataVector().getChildrenFromFields();
      keys = nested(entry.get(0), path + ".key", objects);
      values = nested(entry.get(1), path + ".value", objects);
    }

    @Override
    public Object value(int row) throws MismatchException {
      Map<Object, Object> map = new LinkedHashMap<>();
      for (int i = maps.getElementStartIndex(row); i < maps.getElementEndIndex(row); i++) {
        map.put(keys.get(i), values.get(i));
      }
      return map;
    }
  }
}
