/**
 * Conditions and SELECTs: the allowed SQL, which decides on each row of a partition separately, and
 * the statements that Ignite runs. The only package that uses the SQL parser.
 */
package io.tensorflowignite.data.sql;
