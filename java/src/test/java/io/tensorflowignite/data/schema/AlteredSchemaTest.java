package io.tensorflowignite.data.schema;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertTrue;

import java.util.List;
import java.util.stream.Collectors;
import org.apache.arrow.vector.types.pojo.ArrowType;
import org.apache.arrow.vector.types.pojo.Field;
import org.apache.arrow.vector.types.pojo.FieldType;
import org.apache.arrow.vector.types.pojo.Schema;
import org.apache.ignite.cache.QueryEntity;
import org.junit.Test;

public class AlteredSchemaTest {
  private static final Field KEY = Field.nullable("_key", new ArrowType.Int(64, true));
  private static final Field NAME = Field.nullable("name", ArrowType.Utf8.INSTANCE);
  private static final Field IMAGE =
      new Field(
          "image",
          FieldType.nullable(new ArrowType.FixedSizeList(64)),
          List.of(Field.nullable("element", new ArrowType.Int(8, false))));
  private static final Schema STORED = new Schema(List.of(KEY, NAME, IMAGE));

  private final QueryEntity entity =
      new QueryEntity("java.lang.Long", "Row")
          .setKeyFieldName("id")
          .addQueryField("id", "java.lang.Long", null)
          .addQueryField("image", "[B", null);

  @Test
  public void columnsThatSqlHasAddedAreThereAndRemovedOnesAreNot() {
    entity.addQueryField("WEIGHT", "java.lang.Double", null);

    Schema altered = SchemaResolver.altered(STORED, List.of(entity));

    assertEquals(
        List.of("_key", "image", "WEIGHT"),
        altered.getFields().stream().map(Field::getName).collect(Collectors.toList()));
    assertEquals(IMAGE, altered.findField("image"));
    assertTrue(altered.findField("WEIGHT").isNullable());
  }

  @Test
  public void aCacheWithoutSqlHasTheColumnsOfItsLoad() {
    assertEquals(STORED, SchemaResolver.altered(STORED, List.of()));
  }

  @Test
  public void aSchemaWithoutACommonColumnIsThatOfAnEarlierCache() {
    assertTrue(SchemaResolver.agrees(STORED, List.of(entity)));
    QueryEntity other = new QueryEntity("java.lang.Long", "Row");
    other.addQueryField("other", "java.lang.Integer", null);
    assertFalse(SchemaResolver.agrees(STORED, List.of(other)));
  }
}
