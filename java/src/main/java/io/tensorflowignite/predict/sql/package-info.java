/** Online prediction as functions of SQL: for each row, on the node that executes the query. */
package io.tensorflowignite.predict.sql;
