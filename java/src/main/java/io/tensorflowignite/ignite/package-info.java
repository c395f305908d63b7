/**
 * What the service needs of Ignite's inside ({@code org.apache.ignite.internal}), which no other
 * package uses. Each class has one concern, and its callers need no internal type. So a new version
 * of Ignite can break only these classes.
 */
package io.tensorflowignite.ignite;
