/**
 * Authentication and authorization. {@code Authentication} precedes every method of the server and
 * finds the {@code Principal}. Each method then calls {@code Guard}, which applies {@code
 * AccessRules}, the job of a task, and Ignite's security plugin. A call that {@code Guard} has not
 * checked gets no answer.
 */
package io.tensorflowignite.security;
