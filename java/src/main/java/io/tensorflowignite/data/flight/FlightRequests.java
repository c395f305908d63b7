package io.tensorflowignite.data.flight;

import com.google.common.io.ByteStreams;
import io.grpc.MethodDescriptor.Marshaller;
import io.grpc.ServerServiceDefinition;
import io.tensorflowignite.TensorFlowIgniteException;
import io.tensorflowignite.api.RequestMarshallers;
import io.tensorflowignite.data.column.ArrowHeaders;
import io.tensorflowignite.v1.ErrorCode;
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
 * Judges the messages that clients put before Flight reads them. Flight makes room for what a
 * length says before it looks whether so much is there, keeps that room when it is not, and takes
 * the content of a field that it does not know for further fields.
 */
public final class FlightRequests {
  private static final String PUT = "/DoPut";
  private static final String EXCHANGE = "/DoExchange";
  private static final int DESCRIPTOR = 1 << 3 | 2;
  private static final int HEADER = 2 << 3 | 2;
  private static final int METADATA = 3 << 3 | 2;
  private static final int BODY = 1000 << 3 | 2;

  private FlightRequests() {}

  /** Flight's service, which answers INVALID_ARGUMENT to messages that are no such ones. */
  public static ServerServiceDefinition checked(
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
    private final Marshaller<Q> requests;
    private final BufferAllocator allocator;

    Checked(Marshaller<Q> requests, BufferAllocator allocator) {
      super(requests);
      this.requests = requests;
      this.allocator = allocator;
    }

    @Override
    public Q parse(InputStream stream) {
      try {
        InputStream again =
            stream.markSupported()
                ? stream
                : new ByteArrayInputStream(ByteStreams.toByteArray(stream));
        again.mark(Integer.MAX_VALUE);
        check(again, allocator);
        again.reset();
        return requests.parse(again);
      } catch (IOException broken) {
        throw invalid(broken.getMessage());
      }
    }
  }

  /** Of the calls that take a descriptor. */
  private static final class Described<Q> extends RequestMarshallers.Reading<Q> {
    private final Marshaller<Q> requests;

    Described(Marshaller<Q> requests) {
      super(requests);
      this.requests = requests;
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

  /** Throws unless a stream holds one FlightData. */
  static void check(InputStream data, BufferAllocator allocator) throws IOException {
    Set<Integer> seen = new HashSet<>();
    ByteBuffer header = null;
    long body = 0;
    while (data.available() > 0) {
      int tag = varint(data);
      int length = varint(data);
      if (length < 0 || length > data.available()) {
        throw invalid("a part says that it has " + Integer.toUnsignedString(length) + " bytes");
      }
      if (!seen.add(tag)) {
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
          throw invalid("it has a part that is not known");
      }
    }
    if (header != null) {
      Schema schema = ArrowHeaders.check(header, body);
      if (schema != null) {
        if (!seen.contains(DESCRIPTOR)) {
          throw invalid("its schema comes without a descriptor");
        }
        requireVectors(schema, allocator);
      }
    } else if (body > 0) {
      throw invalid("it has a body without a header");
    }
  }

  /** Not every schema that can be written can be made; empty vectors take no memory. */
  private static void requireVectors(Schema schema, BufferAllocator allocator) {
    try {
      VectorSchemaRoot.create(schema, allocator).close();
    } catch (RuntimeException impossible) {
      throw invalid("its schema contradicts itself: " + impossible.getMessage());
    }
  }

  private static byte[] bytes(InputStream data, int length) throws IOException {
    if (length > ArrowHeaders.MAX_BYTES) {
      throw invalid("its header, or its descriptor, has " + length + " bytes");
    }
    byte[] bytes = new byte[length];
    ByteStreams.readFully(data, bytes);
    return bytes;
  }

  private static int varint(InputStream data) throws IOException {
    int value = 0;
    for (int shift = 0; shift < Integer.SIZE; shift += 7) {
      int next = data.read();
      if (next < 0) {
        break;
      }
      value |= (next & 0x7f) << shift;
      if (next < 0x80) {
        return value;
      }
    }
    throw invalid("it is cut off");
  }

  private static TensorFlowIgniteException invalid(String why) {
    return new TensorFlowIgniteException(
        ErrorCode.INVALID_REQUEST,
        String.format(
            "a message of Flight cannot be read: %s; rows come as FlightData: a descriptor, a"
                + " header of %,d bytes at most, metadata and a body, each once; send what Flight's"
                + " own clients send",
            why, ArrowHeaders.MAX_BYTES));
  }
}
