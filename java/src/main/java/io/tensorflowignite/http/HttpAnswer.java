package io.tensorflowignite.http;

import io.grpc.Status;
import io.tensorflowignite.serving.json.AnswerJson;

/** The answer to one request. */
final class HttpAnswer {
  static final String JSON = "application/json";

  /** Of a client that has closed its connection; not in the standard. */
  private static final int CLIENT_CLOSED_REQUEST = 499;

  final int status;
  final String contentType;
  final String body;

  HttpAnswer(int status, String contentType, String body) {
    this.status = status;
    this.contentType = contentType;
    this.body = body;
  }

  static HttpAnswer json(String body) {
    return new HttpAnswer(200, JSON, body);
  }

  static HttpAnswer error(int status, String text) {
    return new HttpAnswer(status, JSON, AnswerJson.error(text));
  }

  static HttpAnswer error(Status status) {
    String text = status.getDescription();
    return error(code(status.getCode()), text == null ? status.getCode().toString() : text);
  }

  /** The status of HTTP for a code of gRPC, as of TensorFlow Serving. */
  private static int code(Status.Code code) {
    switch (code) {
      case OK:
        return 200;
      case INVALID_ARGUMENT:
      case FAILED_PRECONDITION:
      case OUT_OF_RANGE:
        return 400;
      case UNAUTHENTICATED:
        return 401;
      case PERMISSION_DENIED:
        return 403;
      case NOT_FOUND:
        return 404;
      case ALREADY_EXISTS:
      case ABORTED:
        return 409;
      case RESOURCE_EXHAUSTED:
        return 429;
      case CANCELLED:
        return CLIENT_CLOSED_REQUEST;
      case UNIMPLEMENTED:
        return 501;
      case UNAVAILABLE:
        return 503;
      case DEADLINE_EXCEEDED:
        return 504;
      default:
        return 500;
    }
  }
}
