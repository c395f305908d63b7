package io.tensorflowignite.serving.json;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonLocation;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.StreamReadConstraints;
import com.fasterxml.jackson.core.StreamReadFeature;
import io.grpc.StatusRuntimeException;
import java.io.IOException;
import java.io.UncheckedIOException;

/** The tokens of one JSON document in memory; malformed ones are errors with their offset. */
final class JsonReader implements AutoCloseable {
  private static final int MAX_DEPTH = 64;

  /** Of a value in an error text. */
  private static final int DEBUG_CHARACTERS = 256;

  private static final JsonFactory FACTORY =
      JsonFactory.builder()
          .enable(StreamReadFeature.USE_FAST_DOUBLE_PARSER)
          .enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION)
          .streamReadConstraints(
              // Texts may be images; the limit of the body limits their length.
              StreamReadConstraints.builder()
                  .maxNestingDepth(MAX_DEPTH)
                  .maxStringLength(Integer.MAX_VALUE)
                  .build())
          .build();

  private final JsonParser parser;

  JsonReader(byte[] json) {
    if (json.length == 0) {
      throw ServingErrors.invalid("JSON Parse error: The document is empty");
    }
    try {
      parser = FACTORY.createParser(json);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  JsonParser parser() {
    return parser;
  }

  JsonToken token() {
    return parser.currentToken();
  }

  JsonToken next() {
    return call(parser::nextToken);
  }

  /** The name of the field whose value follows. */
  String name() {
    return call(parser::currentName);
  }

  String text() {
    return call(parser::getText);
  }

  void skip() {
    call(parser::skipChildren);
  }

  /** Verifies that nothing but white space follows the root. */
  void end() {
    try {
      if (parser.nextToken() == null) {
        return;
      }
    } catch (JsonProcessingException e) {
      // The text after it need not be JSON.
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    throw ServingErrors.invalid(
        "JSON Parse error: The document root must not be followed by other values. at offset: "
            + parser.currentTokenLocation().getByteOffset());
  }

  boolean isNumber() {
    return token().isNumeric();
  }

  /** A value of a call to the parser; the parser's errors become errors of the document. */
  <T> T call(Call<T> call) {
    try {
      return call.get();
    } catch (JsonProcessingException e) {
      throw parseError(e);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** The present value as text, for errors; an array or object by its kind. */
  String debug() {
    if (token() == null) {
      return "";
    }
    switch (token()) {
      case START_ARRAY:
        return "[...]";
      case START_OBJECT:
      case FIELD_NAME:
        return "{...}";
      default:
        String text = text();
        String shown =
            text.length() > DEBUG_CHARACTERS ? text.substring(0, DEBUG_CHARACTERS) : text;
        return token() == JsonToken.VALUE_STRING ? '"' + shown + '"' : shown;
    }
  }

  /** The present value's type, as Serving names it. */
  String type() {
    switch (token()) {
      case START_ARRAY:
        return "Array";
      case START_OBJECT:
      case FIELD_NAME:
        return "Object";
      case VALUE_STRING:
        return "String";
      case VALUE_TRUE:
        return "True";
      case VALUE_FALSE:
        return "False";
      case VALUE_NULL:
        return "Null";
      default:
        return "Number";
    }
  }

  @Override
  public void close() {
    call(
        () -> {
          parser.close();
          return null;
        });
  }

  private static StatusRuntimeException parseError(JsonProcessingException e) {
    JsonLocation at = e.getLocation();
    return ServingErrors.invalid(
        "JSON Parse error: "
            + e.getOriginalMessage()
            + " at offset: "
            + (at == null ? 0 : at.getByteOffset()));
  }

  /** A call to the parser. */
  interface Call<T> {
    T get() throws IOException;
  }
}
