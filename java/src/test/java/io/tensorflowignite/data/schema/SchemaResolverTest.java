package io.tensorflowignite.data.schema;

import static io.tensorflowignite.base.Refusals.assertRefused;
import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_INVALID_REQUEST;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertTrue;

import java.util.Collections;
import java.util.List;
import java.util.stream.Collectors;
import org.apache.arrow.vector.types.TimeUnit;
import org.apache.arrow.vector.types.pojo.ArrowType;
import org.apache.arrow.vector.types.pojo.Field;
import org.apache.arrow.vector.types.pojo.FieldType;
import org.apache.arrow.vector.types.pojo.Schema;
import org.apache.ignite.cache.QueryEntity;
import org.junit.Test;

public class SchemaResolverTest {
  private static final ArrowType INT32 = new ArrowType.Int(32, true);

  @Test
  public void aTypeIsKnownByItsBinaryNameAndByItsClassName() {
    for (String name : new String[] {"int", "java.lang.Integer"}) {
      assertEquals(INT32, ColumnTypes.ofName(name).get().field("n").getType());
    }
    for (String name : new String[] {"byte[]", "[B"}) {
      assertEquals(ArrowType.Binary.INSTANCE, ColumnTypes.ofName(name).get().field("b").getType());
    }
    assertEquals("s: List<item: Utf8 not null> not null", field("String[]"));
    assertEquals("s: Int(16, false) not null", field("char"));
    assertEquals("s: Int(16, true) not null", field("short"));
    assertEquals("s: Int(64, true) not null", field("long"));
    assertEquals(
        "{tensorflow-ignite.type=uuid}",
        ColumnTypes.ofName("UUID").get().field("u").getMetadata().toString());
    assertFalse(CacheColumn.isKnown(ColumnTypes.ofName("java.lang.Object").get().shape));
    assertFalse(CacheColumn.isKnown(ColumnTypes.ofAnyName("com.example.Address").shape));
  }

  @Test
  public void aStoredFieldIsReadAsItWasStored() {
    Field pixels =
        new Field(
            "pixels",
            FieldType.nullable(new ArrowType.FixedSizeList(64)),
            List.of(Field.nullable("element", new ArrowType.Int(8, false))));

    ColumnType type = StoredTypes.of(pixels).get();

    assertEquals(byte[].class, type.storage);
    assertEquals(pixels, type.field("pixels"));
  }

  @Test
  public void typesOutsideTheTableAreNotSupported() {
    List<Field> outside =
        List.of(
            Field.nullable("u", new ArrowType.Int(64, false)),
            Field.nullable("n", ArrowType.Null.INSTANCE),
            list(Field.nullable("u", new ArrowType.Int(64, false))),
            new Field(
                "empty",
                FieldType.nullable(new ArrowType.FixedSizeList(0)),
                List.of(Field.nullable("n", INT32))));
    for (Field field : outside) {
      assertFalse(field.toString(), StoredTypes.of(field).isPresent());
    }
  }

  @Test
  public void aStoredSchemaGivesColumnsAndKey() {
    Schema stored =
        new Schema(
            List.of(
                Field.nullable("_key", new ArrowType.Int(64, true)),
                Field.nullable("b", INT32),
                Field.nullable("a", ArrowType.Utf8.INSTANCE)));

    CacheSchema schema = SchemaResolver.ofStored("c", stored, () -> null);

    assertEquals(List.of("b", "a"), names(schema.select(List.of(), false)));
    assertEquals(List.of("_key", "a"), names(schema.select(List.of("a"), true)));
    assertEquals(Long.class, schema.key().type.storage);
    assertRefused(ERROR_CODE_INVALID_REQUEST, () -> schema.select(List.of("a", "a"), false));
  }

  @Test
  public void aStoredSchemaThatTheQueryEntityContradictsIsNotUsed() {
    Schema stored = new Schema(List.of(Field.nullable("n", INT32)));
    QueryEntity same = new QueryEntity("java.lang.Long", "Row");
    same.addQueryField("n", "java.lang.Integer", null);
    QueryEntity other = new QueryEntity("java.lang.Long", "Row");
    other.addQueryField("n", "java.lang.String", null);

    assertTrue(SchemaResolver.agrees(stored, List.of(same)));
    assertFalse(SchemaResolver.agrees(stored, List.of(other)));
    assertFalse(SchemaResolver.agrees(stored, List.of(new QueryEntity("K", "Other"))));
    assertFalse(SchemaResolver.agrees(stored, List.of(same, other)));
    assertTrue(SchemaResolver.agrees(stored, List.of()));
  }

  @Test
  public void aQueryEntityGivesTypesPrecisionAndPaths() {
    QueryEntity entity = new QueryEntity("java.lang.Long", "Row");
    entity.addQueryField("n", "java.lang.Integer", null);
    entity.addQueryField("when", "java.util.Date", null);
    entity.addQueryField("address.city", "java.lang.String", null);
    entity.addQueryField("price", "java.math.BigDecimal", null);
    entity.setFieldsPrecision(Collections.singletonMap("price", 10));
    entity.setFieldsScale(Collections.singletonMap("price", 2));
    entity.addQueryField("address", "com.example.Address", null);

    List<CacheColumn> columns = SchemaResolver.ofFields(entity);

    assertEquals(List.of("n", "when", "address.city", "price", "address"), names(columns));
    assertEquals(
        new ArrowType.Timestamp(TimeUnit.MILLISECOND, "UTC"), columns.get(1).field.getType());
    assertEquals(ArrowType.Utf8.INSTANCE, columns.get(2).field.getType());
    assertEquals(new ArrowType.Decimal(10, 2, 128), columns.get(3).field.getType());
    assertEquals(
        List.of(true, true, true, true, false),
        columns.stream().map(c -> c.isKnown()).collect(Collectors.toList()));
  }

  private static String field(String name) {
    return ColumnTypes.ofName(name).get().field("s").toString();
  }

  private static Field list(Field child) {
    return new Field("list", FieldType.nullable(ArrowType.List.INSTANCE), List.of(child));
  }

  private static List<String> names(List<CacheColumn> columns) {
    return columns.stream().map(column -> column.name).collect(Collectors.toList());
  }
}
