package io.tensorflowignite.security;

import com.google.common.collect.ImmutableMap;
import com.google.common.collect.ImmutableSet;
import com.google.protobuf.ByteString;
import com.google.protobuf.Message;
import io.grpc.MethodDescriptor;
import io.grpc.ServerServiceDefinition;
import io.tensorflowignite.v1.GetFileRequest;
import io.tensorflowignite.v1.JobSpec;
import io.tensorflowignite.v1.LoadCommand;
import io.tensorflowignite.v1.MakeDirectoryRequest;
import io.tensorflowignite.v1.ReadBlocksRequest;
import io.tensorflowignite.v1.ReadCommand;
import io.tensorflowignite.v1.ReadIntoMemoryRequest;
import io.tensorflowignite.v1.ReadIntoMemoryStart;
import io.tensorflowignite.v1.ReadOverTcpRequest;
import io.tensorflowignite.v1.SubmitJobRequest;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.arrow.flight.impl.Flight;
import org.apache.arrow.vector.ipc.message.IpcOption;
import org.apache.arrow.vector.ipc.message.MessageSerializer;
import org.apache.arrow.vector.types.pojo.ArrowType;
import org.apache.arrow.vector.types.pojo.Field;
import org.apache.arrow.vector.types.pojo.Schema;

/** Requests for every method of some services. */
final class Requests {
  static final String FLIGHT = "arrow.flight.protocol.FlightService/";
  static final String JOBS = "tensorflow_ignite.v1.NodeApiService/";
  static final String FILES = "tensorflow_ignite.v1.FileService/";
  static final String GET_FILE = FILES + "GetFile";
  static final String MAKE_DIRECTORY = FILES + "MakeDirectory";

  /** Methods of Flight that this server does not implement. */
  static final Set<String> UNSERVED =
      ImmutableSet.of(
          FLIGHT + "Handshake",
          FLIGHT + "ListFlights",
          FLIGHT + "PollFlightInfo",
          FLIGHT + "DoAction",
          FLIGHT + "ListActions",
          FLIGHT + "DoExchange");

  private final List<ServerServiceDefinition> services;

  Requests(List<ServerServiceDefinition> services) {
    this.services = services;
  }

  /** Every method of the services, sorted. */
  List<String> methods() {
    return services.stream()
        .flatMap(service -> service.getServiceDescriptor().getMethods().stream())
        .map(MethodDescriptor::getFullMethodName)
        .sorted()
        .collect(Collectors.toList());
  }

  /** A request for existing objects, which would succeed with the permission. */
  Message of(String method) {
    switch (method) {
      case FLIGHT + "GetFlightInfo":
      case FLIGHT + "GetSchema":
        return descriptor("images");
      case FLIGHT + "DoGet":
        return ticket("images");
      case FLIGHT + "DoPut":
        return put("images");
      case "tensorflow_ignite.v1.SharedMemoryService/ReadIntoMemory":
        return ReadIntoMemoryRequest.newBuilder()
            .setStart(
                ReadIntoMemoryStart.newBuilder()
                    .setCommand(ReadCommand.newBuilder().setCache("images"))
                    .setNonce(ByteString.copyFrom(new byte[16])))
            .build();
      case "tensorflow_ignite.v1.TcpRowsService/ReadOverTcp":
        return ReadOverTcpRequest.newBuilder()
            .setCommand(ReadCommand.newBuilder().setCache("images"))
            .build();
      case FILES + "ReadBlocks":
        return ReadBlocksRequest.newBuilder().setExtentId("0").build();
      default:
        return UNSERVED.contains(method) ? Flight.Empty.getDefaultInstance() : filled(method);
    }
  }

  private Message filled(String method) {
    Message.Builder request = prototype(method).newBuilderForType();
    request
        .getDescriptorForType()
        .getFields()
        .forEach(
            field -> {
              Object value =
                  ImmutableMap.<String, Object>of(
                          "job_id", "70070000",
                          "cache", "images",
                          "path", "/secret",
                          "source", "/secret",
                          "target", "/other",
                          "extent_id", "0")
                      .get(field.getName());
              if (value != null) {
                request.setField(field, value);
              }
            });
    return request.build();
  }

  private Message prototype(String method) {
    for (ServerServiceDefinition service : services) {
      if (service.getMethod(method) != null) {
        MethodDescriptor.Marshaller<?> marshaller =
            service.getMethod(method).getMethodDescriptor().getRequestMarshaller();
        return (Message)
            ((MethodDescriptor.PrototypeMarshaller<?>) marshaller).getMessagePrototype();
      }
    }
    throw new AssertionError("no request is known for " + method);
  }

  static Message file(String path) {
    return GetFileRequest.newBuilder().setPath(path).build();
  }

  static Message directory(String path) {
    return MakeDirectoryRequest.newBuilder()
        .setPath(path)
        .setParents(true)
        .setExistOk(true)
        .build();
  }

  static Message submission(JobSpec.Builder spec) {
    return SubmitJobRequest.newBuilder().setRequestId("r").setSpec(spec).build();
  }

  static Message descriptor(String cache) {
    return Flight.FlightDescriptor.newBuilder()
        .setType(Flight.FlightDescriptor.DescriptorType.CMD)
        .setCmd(ReadCommand.newBuilder().setCache(cache).build().toByteString())
        .build();
  }

  static Message ticket(String cache) {
    return Flight.Ticket.newBuilder()
        .setTicket(ReadCommand.newBuilder().setCache(cache).addPartitions(1).build().toByteString())
        .build();
  }

  static Message put(String cache) {
    return put(LoadCommand.newBuilder().setCache(cache).build());
  }

  /** A load without rows, which still creates the cache. */
  static Message put(LoadCommand command) {
    Schema schema =
        new Schema(
            Collections.singletonList(Field.nullable("x", new ArrowType.Int(Long.SIZE, true))));
    return Flight.FlightData.newBuilder()
        .setDataHeader(
            ByteString.copyFrom(MessageSerializer.serializeMetadata(schema, IpcOption.DEFAULT)))
        .setFlightDescriptor(
            Flight.FlightDescriptor.newBuilder()
                .setType(Flight.FlightDescriptor.DescriptorType.CMD)
                .setCmd(command.toByteString()))
        .build();
  }
}
