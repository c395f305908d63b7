package io.tensorflowignite.data.flight;

import static io.tensorflowignite.base.TensorFlowIgniteException.invalidRequest;

import com.google.common.io.ByteStreams;
import com.google.protobuf.CodedInputStream;
import com.google.protobuf.InvalidProtocolBufferException;
import io.grpc.MethodDescriptor.Marshaller;
import io.grpc.ServerServiceDefinition;
import io.tensorflowignite.base.TensorFlowIgniteException;
import io.tensorflowignite.data.column.ArrowHeaderValidation;
import io.tensorflowignite.rpc.RequestMarshallers;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.util.HashSet;
import java.util.Set;
import org.apache.arrow.flight.impl.Flight;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.arrow.vector.types.pojo.Schema;

/**
 * Validates the messages of clients before Flight reads them. Flight allocates memory for the
 * length that a message states, even if fewer bytes follow, does not free this memory after the
 * error, and reads the content of an unknown field as further fields.
 */
final class FlightRequestValidation {
  private static final String PUT = "/DoPut";
  private static final String EXCHANGE = "/DoExchange";
  private static final int DESCRIPTOR = 1 << 3 | 2;
  private static final int HEADER = 2 << 3 | 2;
  private static final int METADATA = 3 << 3 | 2;
  private static final int BODY = 1000 << 3 | 2;

  private FlightRequestValidation() {}

  /** Flight's service, with INVALID_ARGUMENT as the answer to malformed messages. */
  static ServerServiceDefinition checked(
      ServerServiceDefinition flight, BufferAllocator allocator) {
    return RequestMarshallers.changed(
        flight,
        new RequestMarshallers.Change() {
          @Override
          public <Q> Marshaller<Q> of(String method, Marshaller<Q> requests) {
            return method.endsWith(PUT) || method.endsWith(EXCHANGE)
                ? new Checked<>(requests, allocator)
                : new Described<>(requests);
          }
        });
  }

  private static final class Checked<Q> extends RequestMarshallers.Reading<Q> {
    private final BufferAllocator allocator;

    Checked(Marshaller<Q> requests, BufferAllocator allocator) {
      super(requests);
      this.allocator = allocator;
    }

    @Override
    public Q parse(InputStream stream) {
      try {
        InputStream markable =
            stream.markSupported()
                ? stream
                : new ByteArrayInputStream(ByteStreams.toByteArray(stream));
        markable.mark(Integer.MAX_VALUE);
        check(markable, allocator);
        markable.reset();
        return requests.parse(markable);
      } catch (IOException malformed) {
        throw invalid(malformed.getMessage());
      }
    }
  }

  /** Reads requests of calls whose argument is a descriptor. */
  private static final class Described<Q> extends RequestMarshallers.Reading<Q> {
    Described(Marshaller<Q> requests) {
      super(requests);
    }

    @Override
    public Q parse(InputStream stream) {
      Q request = requests.parse(stream);
      if (request instanceof Flight.FlightDescriptor) {
        check((Flight.FlightDescriptor) request);
      }
      return request;
    }
  }

  private static void check(Flight.FlightDescriptor descriptor) {
    if (descriptor.getType() != Flight.FlightDescriptor.DescriptorType.CMD
        && descriptor.getType() != Flight.FlightDescriptor.DescriptorType.PATH) {
      throw invalid("its descriptor is neither a command nor a path");
    }
  }

  /** Throws INVALID_REQUEST unless a stream holds one valid FlightData. */
  static void check(InputStream data, BufferAllocator allocator) throws IOException {
    Set<Integer> tags = new HashSet<>();
    ByteBuffer header = null;
    long body = 0;
    while (data.available() > 0) {
      int tag = varint(data);
      int length = varint(data);
      if (length < 0 || length > data.available()) {
        throw invalid("a part states a length of " + Integer.toUnsignedString(length) + " bytes");
      }
      if (!tags.add(tag)) {
        throw invalid("it has a part twice");
      }
      switch (tag) {
        case HEADER:
          header = ByteBuffer.wrap(bytes(data, length));
          break;
        case DESCRIPTOR:
          check(Flight.FlightDescriptor.parseFrom(bytes(data, length)));
          break;
        case BODY:
          body = length;
          ByteStreams.skipFully(data, length);
          break;
        case METADATA:
          ByteStreams.skipFully(data, length);
          break;
        default:
          throw invalid("it has an unknown part");
      }
    }
    if (header != null) {
      Schema schema = ArrowHeaderValidation.check(header, body);
      if (schema != null) {
        if (!tags.contains(DESCRIPTOR)) {
          throw invalid("its schema has no descriptor");
        }
        requireVectors(schema, allocator);
      }
    } else if (body > 0) {
      throw invalid("it has a body without a header");
    }
  }

  /** Creates empty vectors, which use no memory: Arrow cannot create them for every schema. */
  private static void requireVectors(Schema schema, BufferAllocator allocator) {
    try {
      VectorSchemaRoot.create(schema, allocator).close();
    } catch (RuntimeException impossible) {
      throw invalid("its schema is contradictory: " + impossible.getMessage());
    }
  }

  private static byte[] bytes(InputStream data, int length) throws IOException {
    if (length > ArrowHeaderValidation.MAX_BYTES) {
      throw invalid("its header, or its descriptor, has " + length + " bytes");
    }
    byte[] bytes = new byte[length];
    ByteStreams.readFully(data, bytes);
    return bytes;
  }

  private static int varint(InputStream data) throws IOException {
    try {
      return CodedInputStream.readRawVarint32(data.read(), data);
    } catch (InvalidProtocolBufferException malformed) {
      throw invalid("it is cut off");
    }
  }

  private static TensorFlowIgniteException invalid(String problem) {
    return invalidRequest(
        "a Flight message cannot be read: %s; rows are FlightData: a descriptor, a header of at"
            + " most %,d bytes, metadata and a body, each at most once; use one of Flight's own"
            + " clients",
        problem, ArrowHeaderValidation.MAX_BYTES);
  }
}
