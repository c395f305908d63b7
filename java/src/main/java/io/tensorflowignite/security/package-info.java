/**
 * Who calls, and what it may do. {@code Authentication} stands before every method of the server
 * and names the {@code Principal}; the methods ask {@code Guard}, which goes by the rules of {@code
 * Access}, by the job of a task, and by Ignite's security plugin. A call that asked nobody gets no
 * answer. Only {@code IgniteSecurityAccess} knows Ignite's internals.
 */
package io.tensorflowignite.security;
