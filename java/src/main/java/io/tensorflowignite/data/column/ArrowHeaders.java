package io.tensorflowignite.data.column;

import io.tensorflowignite.TensorFlowIgniteException;
import io.tensorflowignite.v1.ErrorCode;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import org.apache.arrow.flatbuf.Buffer;
import org.apache.arrow.flatbuf.DictionaryBatch;
import org.apache.arrow.flatbuf.Field;
import org.apache.arrow.flatbuf.FieldNode;
import org.apache.arrow.flatbuf.FixedSizeBinary;
import org.apache.arrow.flatbuf.FixedSizeList;
import org.apache.arrow.flatbuf.KeyValue;
import org.apache.arrow.flatbuf.Message;
import org.apache.arrow.flatbuf.MessageHeader;
import org.apache.arrow.flatbuf.RecordBatch;
import org.apache.arrow.flatbuf.Schema;
import org.apache.arrow.flatbuf.Type;

/**
 * Judges what describes Arrow data before Arrow itself reads it. Arrow takes every number in it for
 * true, and makes room accordingly; and since its parts point at each other, some bytes can
 * describe more fields than a machine has room for.
 */
public final class ArrowHeaders {
  public static final int MAX_BYTES = 16 << 20;
  private static final int MAX_FIELDS = 20_000;
  private static final int MAX_DEPTH = 64;
  private static final int MAX_WIDTH = 16 << 20;
  private static final int CONTINUATION = -1;
  private static final int ROWS_WITHOUT_BYTES = 65_536;

  private int fields;
  private long bytes;

  private ArrowHeaders() {}

  /**
   * Throws INVALID_REQUEST unless a header is one that Arrow may read.
   *
   * @param header a Message of Arrow's format
   * @param body how many bytes come with it
   * @return the schema that it is; null: it is of a batch
   */
  public static org.apache.arrow.vector.types.pojo.Schema check(ByteBuffer header, long body) {
    try {
      Message message = Message.getRootAsMessage(header.duplicate().order(ByteOrder.LITTLE_ENDIAN));
      switch (message.headerType()) {
        case MessageHeader.Schema:
          Schema schema = (Schema) message.header(new Schema());
          new ArrowHeaders().checkSchema(schema);
          return org.apache.arrow.vector.types.pojo.Schema.convertSchema(schema);
        case MessageHeader.RecordBatch:
          checkBatch((RecordBatch) message.header(new RecordBatch()), body);
          return null;
        case MessageHeader.DictionaryBatch:
          checkBatch(((DictionaryBatch) message.header(new DictionaryBatch())).data(), body);
          return null;
        default:
          throw invalid("it is of kind " + message.headerType());
      }
    } catch (TensorFlowIgniteException told) {
      throw told;
    } catch (RuntimeException broken) {
      throw invalid("its parts lie outside of it, are missing, or are of no known kind");
    }
  }

  /** The same of a schema as an IPC message, with its length before it. */
  public static void checkSchema(ByteBuffer message) {
    ByteBuffer bytes = message.duplicate().order(ByteOrder.LITTLE_ENDIAN);
    if (bytes.remaining() < 2 * Integer.BYTES) {
      throw invalid("it has " + bytes.remaining() + " bytes");
    }
    int length = bytes.getInt();
    if (length == CONTINUATION) {
      length = bytes.getInt();
    }
    if (length <= 0 || length > bytes.remaining()) {
      throw invalid("it says " + length + " of its " + bytes.remaining() + " bytes");
    }
    bytes.limit(bytes.position() + length);
    check(bytes.slice(), 0);
  }

  private void checkSchema(Schema schema) {
    checkMetadata(schema.customMetadataLength(), schema::customMetadata);
    for (int i = 0; i < schema.fieldsLength(); i++) {
      checkField(schema.fields(i), 1);
    }
  }

  private void checkField(Field field, int depth) {
    fields++;
    add(field.nameAsByteBuffer());
    if (fields > MAX_FIELDS || depth > MAX_DEPTH) {
      throw invalid(
          String.format(
              "it has more than %,d fields, or more than %d inside of each other",
              MAX_FIELDS, MAX_DEPTH));
    }
    long width = 0;
    if (field.typeType() == Type.FixedSizeList) {
      width = ((FixedSizeList) field.type(new FixedSizeList())).listSize();
    } else if (field.typeType() == Type.FixedSizeBinary) {
      width = ((FixedSizeBinary) field.type(new FixedSizeBinary())).byteWidth();
    }
    if (width < 0 || width > MAX_WIDTH) {
      throw invalid(
          String.format("a value has %,d parts, where %,d are the most", width, MAX_WIDTH));
    }
    checkMetadata(field.customMetadataLength(), field::customMetadata);
    for (int i = 0; i < field.childrenLength(); i++) {
      checkField(field.children(i), depth + 1);
    }
  }

  private interface Entries {
    KeyValue at(int index);
  }

  private void checkMetadata(int count, Entries entries) {
    for (int i = 0; i < count; i++) {
      KeyValue entry = entries.at(i);
      add(entry.keyAsByteBuffer());
      add(entry.valueAsByteBuffer());
    }
  }

  /** Texts may lie in the same place, and are copied each. */
  private void add(ByteBuffer text) {
    bytes += 1 + (text == null ? 0 : text.remaining());
    if (bytes > MAX_BYTES) {
      throw invalid(String.format("it has more than %,d bytes of texts", MAX_BYTES));
    }
  }

  private static void checkBatch(RecordBatch batch, long body) {
    if (batch.compression() != null) {
      throw invalid("its batches are compressed");
    }
    // A value takes a bit at least, where it takes anything.
    long most = Math.min(Integer.MAX_VALUE, ROWS_WITHOUT_BYTES + body * Byte.SIZE);
    requireCount(batch.length(), most);
    for (int i = 0; i < batch.nodesLength(); i++) {
      FieldNode node = batch.nodes(i);
      requireCount(node.length(), most);
      requireCount(node.nullCount(), node.length());
    }
    for (int i = 0; i < batch.buffersLength(); i++) {
      Buffer buffer = batch.buffers(i);
      if (buffer.offset() < 0
          || buffer.length() < 0
          || buffer.offset() > body
          || buffer.length() > body - buffer.offset()) {
        throw invalid(
            String.format(
                "a buffer of %d bytes at %d is not within its %d bytes",
                buffer.length(), buffer.offset(), body));
      }
    }
  }

  private static void requireCount(long count, long most) {
    if (count < 0 || count > most) {
      throw invalid(String.format("it counts %d values, where %d are the most", count, most));
    }
  }

  private static TensorFlowIgniteException invalid(String why) {
    return new TensorFlowIgniteException(
        ErrorCode.INVALID_REQUEST,
        String.format(
            "a message of Arrow cannot be used: %s; it is a schema, a dictionary or a record batch,"
                + " uncompressed, that says of itself what is true; send what Arrow's own writers"
                + " write",
            why));
  }
}
