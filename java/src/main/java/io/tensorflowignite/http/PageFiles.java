package io.tensorflowignite.http;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;

/** The files of the page, which are in the jar. They contain nothing of the cluster. */
final class PageFiles {
  /** A page that holds credentials runs no script and shows no image but its own. */
  private static final String RULES =
      String.join(
          "; ",
          "default-src 'none'",
          "script-src 'self'",
          "style-src 'self'",
          "img-src 'self'",
          "connect-src 'self'",
          "base-uri 'none'",
          "form-action 'none'",
          "frame-ancestors 'none'",
          "require-trusted-types-for 'script'",
          "trusted-types 'none'");

  /** Of each answer to a browser. */
  private static final Map<String, String> COMMON =
      Map.of(
          "X-Content-Type-Options", "nosniff",
          "X-Frame-Options", "DENY",
          "Referrer-Policy", "no-referrer",
          "Cross-Origin-Opener-Policy", "same-origin",
          "Cross-Origin-Resource-Policy", "same-origin");

  static final Map<String, String> FILE_HEADERS = headers(RULES, "no-cache");

  /** Of answers with data of the cluster. */
  static final Map<String, String> DATA_HEADERS =
      headers("default-src 'none'; frame-ancestors 'none'", "no-store");

  private static final String FOLDER = "page/";
  private static final Map<String, String> TYPES =
      Map.of(
          "html", "text/html; charset=utf-8",
          "css", "text/css; charset=utf-8",
          "js", "text/javascript; charset=utf-8",
          "svg", "image/svg+xml");

  private static final Map<String, HttpAnswer> FILES = new LinkedHashMap<>();

  static {
    FILES.put("/", read("index.html"));
    for (String name :
        new String[] {
          "style.css",
          "icon.svg",
          "app.js",
          "calls.js",
          "chart.js",
          "curves.js",
          "elements.js",
          "job.js",
          "jobs.js",
          "models.js",
          "nodes.js",
          "output.js",
          "text.js",
          "why.js"
        }) {
      FILES.put("/" + FOLDER + name, read(name));
    }
  }

  private PageFiles() {}

  /** The file of a path; empty: there is none. */
  static Optional<HttpAnswer> of(String path) {
    return Optional.ofNullable(FILES.get(path));
  }

  private static Map<String, String> headers(String rules, String cache) {
    Map<String, String> headers = new LinkedHashMap<>(COMMON);
    headers.put("Content-Security-Policy", rules);
    headers.put("Cache-Control", cache);
    return headers;
  }

  private static HttpAnswer read(String name) {
    try (InputStream file = PageFiles.class.getResourceAsStream(FOLDER + name)) {
      return new HttpAnswer(
          200,
          TYPES.get(name.substring(name.lastIndexOf('.') + 1)),
          new String(file.readAllBytes(), StandardCharsets.UTF_8));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
