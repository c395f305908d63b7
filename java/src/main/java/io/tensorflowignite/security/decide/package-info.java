/** Permissions by rules and by the scope of a task. Pure: no Ignite, no gRPC, no clock. */
package io.tensorflowignite.security.decide;
