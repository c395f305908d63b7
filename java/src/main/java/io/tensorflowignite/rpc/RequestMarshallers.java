package io.tensorflowignite.rpc;

import io.grpc.MethodDescriptor;
import io.grpc.MethodDescriptor.Marshaller;
import io.grpc.ServerMethodDefinition;
import io.grpc.ServerServiceDefinition;
import io.grpc.ServiceDescriptor;
import java.io.InputStream;
import java.util.ArrayList;
import java.util.List;

/** Replaces the marshallers of a service's requests; responses stay as they are. */
public final class RequestMarshallers {
  /** Returns another marshaller for the requests of a method. */
  public interface Change {
    <Q> Marshaller<Q> of(String method, Marshaller<Q> requests);
  }

  /** A marshaller that only parses, and leaves writing to the original one. */
  public abstract static class Reading<Q> implements Marshaller<Q> {
    protected final Marshaller<Q> requests;

    protected Reading(Marshaller<Q> requests) {
      this.requests = requests;
    }

    @Override
    public final InputStream stream(Q request) {
      return requests.stream(request);
    }
  }

  private RequestMarshallers() {}

  public static ServerServiceDefinition changed(ServerServiceDefinition service, Change change) {
    List<ServerMethodDefinition<?, ?>> methods = new ArrayList<>();
    service.getMethods().forEach(method -> methods.add(changed(method, change)));
    ServiceDescriptor.Builder descriptor =
        ServiceDescriptor.newBuilder(service.getServiceDescriptor().getName())
            .setSchemaDescriptor(service.getServiceDescriptor().getSchemaDescriptor());
    methods.forEach(method -> descriptor.addMethod(method.getMethodDescriptor()));
    ServerServiceDefinition.Builder definition =
        ServerServiceDefinition.builder(descriptor.build());
    methods.forEach(definition::addMethod);
    return definition.build();
  }

  private static <Q, R> ServerMethodDefinition<Q, R> changed(
      ServerMethodDefinition<Q, R> method, Change change) {
    MethodDescriptor<Q, R> before = method.getMethodDescriptor();
    Marshaller<Q> requests = change.of(before.getFullMethodName(), before.getRequestMarshaller());
    return ServerMethodDefinition.create(
        before.toBuilder(requests, before.getResponseMarshaller()).build(),
        method.getServerCallHandler());
  }
}
