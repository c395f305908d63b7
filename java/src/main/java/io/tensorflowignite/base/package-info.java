/** For all packages: the exception, texts of messages, and a rate-limited log. */
package io.tensorflowignite.base;
