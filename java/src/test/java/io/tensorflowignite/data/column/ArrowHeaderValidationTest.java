package io.tensorflowignite.data.column;

import static io.tensorflowignite.base.Refusals.assertRefused;
import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_INVALID_REQUEST;
import static org.junit.Assert.assertEquals;

import com.google.flatbuffers.FlatBufferBuilder;
import io.tensorflowignite.base.TensorFlowIgniteException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.List;
import java.util.Random;
import org.apache.arrow.flatbuf.Field;
import org.apache.arrow.flatbuf.Message;
import org.apache.arrow.flatbuf.MessageHeader;
import org.apache.arrow.flatbuf.MetadataVersion;
import org.apache.arrow.flatbuf.RecordBatch;
import org.apache.arrow.flatbuf.Struct_;
import org.apache.arrow.flatbuf.Type;
import org.apache.arrow.vector.types.pojo.ArrowType;
import org.apache.arrow.vector.types.pojo.Schema;
import org.junit.Test;

public class ArrowHeaderValidationTest {
  @Test
  public void aSchemaOfArrowIsAccepted() {
    ArrowHeaderValidation.checkSchema(ByteBuffer.wrap(schema()));
  }

  @Test
  public void fieldsThatContainEachOtherAreRefusedBeforeTheyAreCounted() {
    // Each of 40 fields is there twice in the one around it: 2^40 fields, in some kilobytes.
    FlatBufferBuilder builder = new FlatBufferBuilder();
    int field = struct(builder, new int[0]);
    for (int i = 0; i < 40; i++) {
      field = struct(builder, new int[] {field, field});
    }
    int fields = org.apache.arrow.flatbuf.Schema.createFieldsVector(builder, new int[] {field});
    org.apache.arrow.flatbuf.Schema.startSchema(builder);
    org.apache.arrow.flatbuf.Schema.addFields(builder, fields);
    int schema = org.apache.arrow.flatbuf.Schema.endSchema(builder);
    refused(message(builder, MessageHeader.Schema, schema), 0, "more than 20,000 fields");
  }

  @Test
  public void aBatchThatCountsMoreValuesThanItsBytesCanHoldIsRefused() {
    refused(batch(1L << 30), 1 << 20, "it has 1073741824 values");
    refused(batch(-1), 1 << 20, "it has -1 values");
    ArrowHeaderValidation.check(batch(8 << 20), 1 << 20);
  }

  @Test
  public void aSchemaWithAFalseLengthIsRefused() {
    byte[] bytes = schema();
    ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN).putInt(4, Integer.MAX_VALUE);
    assertRefused(
        () -> ArrowHeaderValidation.checkSchema(ByteBuffer.wrap(bytes)),
        "its length is 2147483647, but");
  }

  @Test
  public void anyBytesAreAcceptedOrRefusedAsInvalid() {
    Random random = new Random(1);
    byte[] valid = schema();
    for (int i = 0; i < 20_000; i++) {
      byte[] bytes = valid.clone();
      for (int j = 0; j <= i % 4; j++) {
        bytes[8 + random.nextInt(bytes.length - 8)] = (byte) random.nextInt();
      }
      try {
        ArrowHeaderValidation.checkSchema(ByteBuffer.wrap(bytes));
      } catch (TensorFlowIgniteException refused) {
        assertEquals(ERROR_CODE_INVALID_REQUEST, refused.code());
      }
    }
  }

  private static void refused(ByteBuffer header, long body, String why) {
    assertRefused(ERROR_CODE_INVALID_REQUEST, () -> ArrowHeaderValidation.check(header, body), why);
  }

  private static byte[] schema() {
    var text = org.apache.arrow.vector.types.pojo.Field.nullable("text", new ArrowType.Utf8());
    var number =
        org.apache.arrow.vector.types.pojo.Field.nullable("number", new ArrowType.Int(64, true));
    return new Schema(List.of(text, number)).serializeAsMessage();
  }

  private static ByteBuffer batch(long rows) {
    FlatBufferBuilder builder = new FlatBufferBuilder();
    RecordBatch.startRecordBatch(builder);
    RecordBatch.addLength(builder, rows);
    return message(builder, MessageHeader.RecordBatch, RecordBatch.endRecordBatch(builder));
  }

  private static int struct(FlatBufferBuilder builder, int[] children) {
    int name = builder.createString("f");
    int inside = Field.createChildrenVector(builder, children);
    Struct_.startStruct_(builder);
    int type = Struct_.endStruct_(builder);
    Field.startField(builder);
    Field.addName(builder, name);
    Field.addTypeType(builder, Type.Struct_);
    Field.addType(builder, type);
    Field.addChildren(builder, inside);
    return Field.endField(builder);
  }

  private static ByteBuffer message(FlatBufferBuilder builder, byte kind, int header) {
    Message.startMessage(builder);
    Message.addVersion(builder, MetadataVersion.V5);
    Message.addHeaderType(builder, kind);
    Message.addHeader(builder, header);
    builder.finish(Message.endMessage(builder));
    return ByteBuffer.wrap(builder.sizedByteArray());
  }
}
