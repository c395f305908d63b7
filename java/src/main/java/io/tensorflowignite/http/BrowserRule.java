package io.tensorflowignite.http;

import com.google.common.net.HostAndPort;
import com.google.common.net.InetAddresses;
import io.vertx.core.http.HttpMethod;
import io.vertx.core.http.HttpServerRequest;
import java.net.URI;
import java.util.Locale;
import java.util.function.Predicate;

/**
 * Refuses calls that a page of another host makes a browser send. Such a page can send simple
 * requests to any address, also with passwords that the browser keeps; and it can give its own name
 * the address of a node, so that the browser lets it read the answers.
 */
final class BrowserRule {
  private static final String JSON = "application/json";

  private final Predicate<String> hosts;

  /**
   * @param hosts whether callers may call this node by a name; addresses and localhost always may
   *     be used
   */
  BrowserRule(Predicate<String> hosts) {
    this.hosts = hosts;
  }

  /**
   * @throws RefusedException another page may have sent the request
   */
  void check(HttpServerRequest request) {
    if (!request.method().equals(HttpMethod.POST)) {
      throw new RefusedException(
          405, "The method is " + request.method() + ". Calls of the page are sent by POST");
    }
    String host = request.getHeader("Host");
    if (host == null || !isKnown(host)) {
      throw new RefusedException(
          403,
          String.format(
              "The node is called '%.200s'. Without authentication, calls of the page name it by"
                  + " its IP address, localhost or its own host name, since another page could give"
                  + " any other name its address. Open http://ADDRESS:PORT/, or configure"
                  + " TensorFlowService.security.tokens",
              host));
    }
    String origin = request.getHeader("Origin");
    String site = request.getHeader("Sec-Fetch-Site");
    boolean isOther = site != null && !site.equals("same-origin") && !site.equals("none");
    if (isOther || (origin != null && !host.equalsIgnoreCase(authority(origin)))) {
      throw new RefusedException(
          403,
          String.format(
              "The call comes from the page of '%.200s', and this is '%.200s'. Only the page of"
                  + " this node may call it in a browser. Open http://%2$s/",
              origin, host));
    }
    String type = request.getHeader("Content-Type");
    if (type == null || !type.split(";", 2)[0].trim().equalsIgnoreCase(JSON)) {
      throw new RefusedException(
          415,
          String.format("The body is of type '%.100s'. Calls of the page send %s", type, JSON));
    }
  }

  private boolean isKnown(String given) {
    try {
      String host = HostAndPort.fromString(given).getHost().toLowerCase(Locale.ROOT);
      return InetAddresses.isInetAddress(host)
          || host.equals("localhost")
          || host.endsWith(".localhost")
          || hosts.test(host);
    } catch (IllegalArgumentException e) {
      return false;
    }
  }

  /** HOST:PORT of an origin; null: it has none, as "null". */
  private static String authority(String origin) {
    try {
      return URI.create(origin).getRawAuthority();
    } catch (IllegalArgumentException e) {
      return null;
    }
  }
}
