/**
 * The texts of conditions and SELECTs: what may stand in them, so that every row of a partition can
 * be decided on by itself, and the statements that Ignite is given instead. The only place that
 * knows the SQL parser.
 */
package io.tensorflowignite.data.sql;
