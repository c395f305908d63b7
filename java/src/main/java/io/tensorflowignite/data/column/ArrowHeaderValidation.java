package io.tensorflowignite.data.column;

import static io.tensorflowignite.base.TensorFlowIgniteException.invalidRequest;

import io.tensorflowignite.base.TensorFlowIgniteException;
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
 * Validates the headers of Arrow messages before Arrow reads them. Arrow trusts every number in a
 * header and allocates memory accordingly; and since parts of a header refer to each other, a few
 * bytes can describe more fields than fit into memory.
 */
public final class ArrowHeaderValidation {
  public static final int MAX_BYTES = 16 << 20;
  private static final int MAX_FIELDS = 20_000;
  private static final int MAX_DEPTH = 64;
  private static final int MAX_WIDTH = 16 << 20;
  private static final int CONTINUATION = -1;
  private static final int ROWS_WITHOUT_BYTES = 65_536;

  private int fields;
  private long bytes;

  private ArrowHeaderValidation() {}

  /**
   * Throws INVALID_REQUEST if Arrow must not read a header.
   *
   * @param header a Message of Arrow's format
   * @param body size of the message's body, in bytes
   * @return the schema of a schema message; null for a batch
   */
  public static org.apache.arrow.vector.types.pojo.Schema check(ByteBuffer header, long body) {
    try {
      Message message = Message.getRootAsMessage(header.duplicate().order(ByteOrder.LITTLE_ENDIAN));
      switch (message.headerType()) {
        case MessageHeader.Schema:
          Schema schema = (Schema) message.header(new Schema());
          new ArrowHeaderValidation().checkSchema(schema);
          return org.apache.arrow.vector.types.pojo.Schema.convertSchema(schema);
        case MessageHeader.RecordBatch:
          checkBatch((RecordBatch) message.header(new RecordBatch()), body);
          return null;
        case MessageHeader.DictionaryBatch:
          checkBatch(((DictionaryBatch) message.header(new DictionaryBatch())).data(), body);
          return null;
        default:
          throw invalid("its header type is " + message.headerType());
      }
    } catch (TensorFlowIgniteException invalid) {
      throw invalid;
    } catch (RuntimeException malformed) {
      throw invalid("its parts lie outside of it, are missing, or are of an unknown kind");
    }
  }

  /** Validates a schema as an IPC message, which begins with its length. */
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
      throw invalid("its length is " + length + ", but " + bytes.remaining() + " bytes follow");
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
      throw invalid("it has more than %,d fields, or more than %d nested", MAX_FIELDS, MAX_DEPTH);
    }
    long width = 0;
    if (field.typeType() == Type.FixedSizeList) {
      width = ((FixedSizeList) field.type(new FixedSizeList())).listSize();
    } else if (field.typeType() == Type.FixedSizeBinary) {
      width = ((FixedSizeBinary) field.type(new FixedSizeBinary())).byteWidth();
    }
    if (width < 0 || width > MAX_WIDTH) {
      throw invalid("a value has %,d elements; the limit is %,d", width, MAX_WIDTH);
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

  /** Counts the bytes of a text. Texts may overlap in the header, and Arrow copies each of them. */
  private void add(ByteBuffer text) {
    bytes += 1 + (text == null ? 0 : text.remaining());
    if (bytes > MAX_BYTES) {
      throw invalid("it has more than %,d bytes of texts", MAX_BYTES);
    }
  }

  private static void checkBatch(RecordBatch batch, long body) {
    if (batch.compression() != null) {
      throw invalid("its batches are compressed");
    }
    // A value takes at least one bit of the body, except in columns without buffers.
    long limit = Math.min(Integer.MAX_VALUE, ROWS_WITHOUT_BYTES + body * Byte.SIZE);
    requireCount(batch.length(), limit);
    for (int i = 0; i < batch.nodesLength(); i++) {
      FieldNode node = batch.nodes(i);
      requireCount(node.length(), limit);
      requireCount(node.nullCount(), node.length());
    }
    for (int i = 0; i < batch.buffersLength(); i++) {
      Buffer buffer = batch.buffers(i);
      if (buffer.offset() < 0
          || buffer.length() < 0
          || buffer.offset() > body
          || buffer.length() > body - buffer.offset()) {
        throw invalid(
            "a buffer of %d bytes at %d is not within its %d bytes",
            buffer.length(), buffer.offset(), body);
      }
    }
  }

  private static void requireCount(long count, long limit) {
    if (count < 0 || count > limit) {
      throw invalid("it has %d values; the limit is %d", count, limit);
    }
  }

  private static TensorFlowIgniteException invalid(String format, Object... values) {
    return invalidRequest(
        "an Arrow message cannot be used: %s; a message is an uncompressed schema, dictionary or"
            + " record batch whose header is true; send the output of Arrow's own writers",
        String.format(format, values));
  }
}
