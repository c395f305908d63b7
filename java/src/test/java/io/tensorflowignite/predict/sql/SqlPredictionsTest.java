package io.tensorflowignite.predict.sql;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;

import io.tensorflowignite.predict.PlainPredictions;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import org.h2.engine.Session;
import org.h2.jdbc.JdbcConnection;
import org.junit.Test;

public class SqlPredictionsTest {
  /** H2 calls it as it calls TF_PREDICT. */
  public static long millisLeft(Connection connection) {
    return SqlPredictions.millisLeft((Session) ((JdbcConnection) connection).getSession());
  }

  @Test
  public void aPredictionHasWhatTheTimeoutOfItsQueryLeaves() throws SQLException {
    long left = left(9_000);
    assertTrue(String.valueOf(left), left > 1 && left <= 9_000 + PlainPredictions.EARLY_MS);
    assertEquals(SqlPredictions.TIMEOUT_MS + PlainPredictions.EARLY_MS, left(3_600_000));
    assertEquals(SqlPredictions.TIMEOUT_MS, left(0));
  }

  private static long left(int timeoutMillis) throws SQLException {
    try (Connection connection = DriverManager.getConnection("jdbc:h2:mem:");
        Statement statement = connection.createStatement()) {
      statement.execute(
          "CREATE ALIAS MILLIS_LEFT FOR \"" + SqlPredictionsTest.class.getName() + ".millisLeft\"");
      // As Ignite does.
      ((Session) ((JdbcConnection) connection).getSession()).setQueryTimeout(timeoutMillis);
      try (ResultSet rows = statement.executeQuery("SELECT MILLIS_LEFT()")) {
        assertTrue(rows.next());
        return rows.getLong(1);
      }
    }
  }
}
