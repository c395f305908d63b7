package io.tensorflowignite.predict.sql;

import java.sql.Connection;
import java.sql.SQLException;
import org.h2.engine.Session;
import org.h2.jdbc.JdbcConnection;
import org.h2.value.Value;

/**
 * The functions of SQL that predict one row. H2 calls them for each row, with a connection of the
 * session that executes the query. Each has one type of result: H2 compares by declared types.
 */
public final class TensorFlowFunctions {
  private TensorFlowFunctions() {}

  /** TF_PREDICT: one number. */
  public static Double predict(Connection connection, String model, Value... values)
      throws SQLException {
    return SqlPredictions.call(session(connection), model, values, RowOutput::number);
  }

  /** TF_PREDICT_ARRAY: all values of an output. */
  public static Object[] predictArray(Connection connection, String model, Value... values)
      throws SQLException {
    return SqlPredictions.call(session(connection), model, values, RowOutput::array);
  }

  /** TF_PREDICT_TEXT: one text. */
  public static String predictText(Connection connection, String model, Value... values)
      throws SQLException {
    return SqlPredictions.call(session(connection), model, values, RowOutput::text);
  }

  private static Session session(Connection connection) {
    return (Session) ((JdbcConnection) connection).getSession();
  }
}
