package io.tensorflowignite.serving.json;

import com.google.protobuf.Int64Value;
import io.tensorflowignite.serving.v1.ModelSpec;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.util.Locale;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** A path of the REST API: a model, one of its versions, and the request. */
public final class ServingPath {
  private static final String MODEL =
      "/v1/models/([^/:]+)(?:(?:/versions/(\\d+))|(?:/labels/([^/:]+)))?";
  private static final Pattern POST =
      Pattern.compile(MODEL + ":(classify|regress|predict)", Pattern.CASE_INSENSITIVE);
  private static final Pattern GET =
      Pattern.compile(MODEL + "(?:/(metadata))?", Pattern.CASE_INSENSITIVE);

  /** The request. */
  public enum Method {
    CLASSIFY,
    REGRESS,
    PREDICT,
    METADATA,
    STATUS;

    /** Whether a request of this method has a body. */
    public boolean hasBody() {
      return this != METADATA && this != STATUS;
    }
  }

  public final Method method;
  public final ModelSpec model;

  private ServingPath(Method method, ModelSpec model) {
    this.method = method;
    this.model = model;
  }

  /**
   * Parses the path of a request; empty: it is none of the API.
   *
   * @param httpMethod the method of HTTP
   * @param path the path, with its escapes
   */
  public static Optional<ServingPath> parse(String httpMethod, String path) {
    Pattern pattern = httpMethod.equals("POST") ? POST : httpMethod.equals("GET") ? GET : null;
    Matcher found = pattern == null ? null : pattern.matcher(path);
    if (found == null || !found.matches()) {
      return Optional.empty();
    }
    ModelSpec.Builder model = ModelSpec.newBuilder().setName(decoded(found.group(1)));
    if (found.group(2) != null) {
      try {
        model.setVersion(Int64Value.of(Long.parseLong(found.group(2))));
      } catch (NumberFormatException e) {
        throw ServingErrors.invalid(
            "Failed to convert version: " + found.group(2) + " to numeric.");
      }
    }
    if (found.group(3) != null) {
      model.setVersionLabel(decoded(found.group(3)));
    }
    String method = found.group(4) == null ? "status" : found.group(4);
    return Optional.of(
        new ServingPath(Method.valueOf(method.toUpperCase(Locale.ROOT)), model.build()));
  }

  private static String decoded(String part) {
    try {
      // A plus is no blank in a path.
      return URLDecoder.decode(part.replace("+", "%2B"), StandardCharsets.UTF_8);
    } catch (IllegalArgumentException e) {
      throw ServingErrors.invalid("Failed to decode model name:" + part);
    }
  }
}
