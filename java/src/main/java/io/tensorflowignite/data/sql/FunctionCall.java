package io.tensorflowignite.data.sql;

import io.tensorflowignite.base.TensorFlowIgniteException;
import java.util.List;

/** A call of an allowed function, or an operation, with its checked arguments. */
final class FunctionCall {
  private static final int MAX_FORMAT = 100;

  private final String text;
  private final Object call;
  private final String name;
  private final List<Operand> arguments;

  /**
   * @param text the text that contains the call, for errors
   * @param call the call, for errors
   * @param name the function's name in upper case, or the operator
   */
  FunctionCall(String text, Object call, String name, List<Operand> arguments) {
    this.text = text;
    this.call = call;
    this.name = name;
    this.arguments = arguments;
  }

  int count() {
    return arguments.size();
  }

  /** The argument at an index, which may be absent: then an empty text. */
  Operand argument(int at) {
    return at < arguments.size() ? arguments.get(at) : Operand.textLiteral("");
  }

  List<Operand> arguments() {
    return arguments;
  }

  /** The size of all arguments together, as a text. */
  Operand sum() {
    long characters = 0;
    long rows = 0;
    for (Operand argument : arguments) {
      characters = Operand.sum(characters, argument.characters());
      rows = Operand.sum(rows, argument.rows());
    }
    return Operand.of(Operand.Kind.TEXT, characters, rows);
  }

  /** The value of an argument that must be a whole number, 0 if it is negative. */
  long wholeNumber(int at) {
    String written = argument(at).literal().orElse("");
    if (!written.matches("[+-]?[0-9]{1,18}")) {
      throw refused(
          "argument " + (at + 1) + " is not a whole number",
          name
              + " makes a result of that size, so the size must be known before the rows are read;"
              + " give the number itself, or a parameter (?) with an int");
    }
    return Math.max(0, Long.parseLong(written));
  }

  /** The value of an argument that must be a literal or a parameter. */
  String literal(int at) {
    return argument(at)
        .literal()
        .orElseThrow(
            () ->
                refused(
                    "argument " + (at + 1) + " is neither a literal nor a parameter",
                    "this argument of "
                        + name
                        + " decides what a row costs, so it must be known before the rows are"
                        + " read; give the value itself, or a parameter (?)"));
  }

  /** A format for dates or numbers. */
  String format(int at) {
    String format = literal(at);
    if (format.length() > MAX_FORMAT) {
      throw refused(
          "argument " + (at + 1) + " has " + format.length() + " characters",
          "a format has at most " + MAX_FORMAT + " characters; give a shorter one");
    }
    return format;
  }

  TensorFlowIgniteException refused(String problem, String rule) {
    return SqlErrors.invalid(
        "in " + text + ": " + SqlErrors.shown(call) + " is refused: " + problem, rule);
  }
}
