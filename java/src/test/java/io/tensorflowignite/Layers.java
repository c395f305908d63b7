package io.tensorflowignite;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * The table of layers in ARCHITECTURE.md, and what of some sources breaks it. A package imports
 * packages of lower layers alone, so no circle fits into the table.
 */
final class Layers {
  private static final String ROOT = "io.tensorflowignite";
  private static final String BEGIN = "<!-- layers: java -->\n";
  private static final String END = "<!-- end of the layers: java -->";
  private static final Pattern ROW =
      Pattern.compile("\\| (\\d+) \\| `([\\w.]+)` \\| ([^|]+) \\| ([^|]+) \\|");
  private static final Pattern API = Pattern.compile("`([\\w.]+)`");

  /** Strings and characters, which may hold what looks like a comment; then comments. */
  private static final Pattern TEXT =
      Pattern.compile(
          "\"[^\"\\\\]*+(?:\\\\.[^\"\\\\]*+)*+\"|'(?:\\\\.|[^'\\\\])++'|//[^\\n"
              + "]*|/\\*(?s:.*?)\\*/");

  /** Fully qualified names, of imports and in code: a package and a class, or all classes. */
  private static final Pattern NAME =
      Pattern.compile(
          "(?<![\\w.])((?:com|io|java|javax|jdk|net|org|sun)(?:\\.[a-z]\\w*)*)\\.([A-Z]\\w*|\\*)");

  private static final Pattern OTHER_IMPORT =
      Pattern.compile(
          "^import (?:static )?(?!(?:com|io|java|javax|jdk|net|org|sun)\\.)([\\w.*]+);",
          Pattern.MULTILINE);

  /** What only one package uses, whatever APIs the others have. */
  private static final String INSIDE_OF_IGNITE = "org.apache.ignite.internal";

  private static final String ITS_PACKAGE = "ignite";

  private static final List<String> FREE =
      Arrays.asList("java", "com.google.common", "com.google.protobuf");

  /** What only packages do whose row says so. */
  private enum Right {
    SOCKETS(
        "opens connections",
        "\\b(?:new|extends) (?:java\\.net\\.)?(?:Server|Datagram|Multicast)?Socket\\b"
            + "|\\b(?:Server|Datagram|Multicast)?Socket::new\\b"
            + "|\\b\\w*(?:Socket|Datagram)Channel(?:\\.|::)open\\b|\\bSelectorProvider\\b"
            + "|\\bSocketFactory\\b|\\bHttpClient\\b|\\bopen(?:Connection|Stream)\\("
            + "|\\bisReachable\\(|\\bDriverManager\\b|\\bjava\\.rmi\\b"
            + "|\\b(?:Netty|Managed|InProcess)?(?:Server|Channel)Builder\\.for\\w+"
            + "|\\bGrpc\\.new\\w+Builder"),
    PROCESSES(
        "starts processes",
        "\\bnew (?:java\\.lang\\.)?ProcessBuilder\\b|\\bProcessBuilder::new\\b|(?:\\.|::)exec\\b"),
    SERVICES("implements a gRPC service", "ImplBase\\b");

    final String act;
    final Pattern pattern;

    Right(String act, String pattern) {
      this.act = act;
      this.pattern = Pattern.compile(pattern);
    }

    String word() {
      return name().toLowerCase(Locale.ROOT);
    }
  }

  private static final Pattern IMPURE =
      Pattern.compile(
          "\\b(?:currentTimeMillis|nanoTime)\\b|\\bnew"
              + " (?:java\\.util\\.)?Date\\(\\)|\\.now\\(|::now\\b"
              + "|\\bClock\\b|\\bCalendar\\b|\\bStopwatch\\b|\\bTicker\\b|\\bCacheBuilder\\b"
              + "|\\bmemoizeWithExpiration\\b|\\bThread\\b|\\bsynchronized\\b|\\bTimer\\b"
              + "|(?:\\.|::)(?:sleep|wait|notify|notifyAll)\\b|\\bparallel(?:Stream)?\\("
              + "|\\bcom\\.google\\.common\\.util\\.concurrent\\b"
              + "|\\bjava\\.util\\.concurrent\\.(?!TimeUnit\\b)");

  /** Our classes, and the inside of Ignite, named in strings, which reflection can load. */
  private static final Pattern NAME_IN_TEXT =
      Pattern.compile(
          String.format(
              "\"((?:%s|%s)(?:\\.[a-z]\\w*)*\\.[A-Z]\\w*)",
              Pattern.quote(ROOT), Pattern.quote(INSIDE_OF_IGNITE)));

  private static final class Row {
    final int layer;
    final List<String> apis;
    final boolean pure;
    final List<String> words;

    Row(int layer, String uses) {
      this.layer = layer;
      apis = API.matcher(uses).results().map(found -> found.group(1)).collect(Collectors.toList());
      words = Arrays.asList(uses.trim().split(", "));
      pure = words.contains("pure");
    }
  }

  private final Map<String, Row> rows = new LinkedHashMap<>();

  /**
   * @param document with the table between its two comments
   */
  Layers(String document) {
    int begin = document.indexOf(BEGIN) + BEGIN.length();
    int last = 0;
    for (String line : document.substring(begin, document.indexOf(END)).split("\n")) {
      Matcher row = ROW.matcher(line);
      if (row.matches()) {
        rows.put(row.group(2), new Row(Integer.parseInt(row.group(1)), row.group(4)));
        if (Integer.parseInt(row.group(1)) < last) {
          throw new AssertionError("ARCHITECTURE.md lists layers from the ground up: " + line);
        }
        last = Integer.parseInt(row.group(1));
      }
    }
  }

  /**
   * What breaks the table.
   *
   * @param sources the texts of Java files, by their paths below the folder of sources
   */
  List<String> faults(Map<String, String> sources) {
    List<String> faults = new ArrayList<>();
    Map<String, Set<String>> used = new TreeMap<>();
    sources.forEach(
        (path, source) -> {
          String code = code(source);
          String own = packageOf(path);
          Row row = rows.get(own);
          if (row == null) {
            faults.add(
                String.format(
                    "%s is in the package %s, which no layer has. Every package has a row in"
                        + " ARCHITECTURE.md. Move the class, or add a row.",
                    path, own));
            return;
          }
          for (String name : names(code, source)) {
            used.computeIfAbsent(own, key -> new LinkedHashSet<>()).add(name);
            check(path, own, row, name, sources, faults);
          }
          checkWords(path, own, row, code, faults);
        });
    checkUnused(used, faults);
    Collections.sort(faults);
    return faults;
  }

  private void check(
      String path,
      String own,
      Row row,
      String name,
      Map<String, String> sources,
      List<String> faults) {
    if (!name.startsWith(ROOT + ".")) {
      if (isOf(name, List.of(INSIDE_OF_IGNITE)) && !own.equals(ITS_PACKAGE)) {
        faults.add(
            String.format(
                "%s uses %s, which is inside of Ignite. Only the package %s does that. Use one of"
                    + " its classes, or add a method to them that has no type of Ignite's inside.",
                path, name, ITS_PACKAGE));
      } else if (!isOf(name, FREE) && !isOf(name, row.apis)) {
        faults.add(
            String.format(
                "%s uses %s. The package %s may use %s. Move the class, pass in what it needs, or"
                    + " add the API to the package's row in ARCHITECTURE.md if it is its concern.",
                path, name, own, row.apis.isEmpty() ? "no such API" : String.join(", ", row.apis)));
      }
      return;
    }
    String target = packageOf(name.replace('.', '/'));
    Row below = rows.get(target);
    if (below == null) {
      faults.add(path + " uses " + name + ", of a package that no layer has. Add a row for it.");
    } else if (!target.equals(own) && below.layer >= row.layer) {
      faults.add(
          String.format(
              "%s uses %s. The package %s (layer %d) may import only layers below it, and %s is in"
                  + " layer %d. Move one of the two classes, or pass in an interface.",
              path, name, own, row.layer, target, below.layer));
    } else if (row.pure
        && (name.endsWith("Grpc")
            || IMPURE.matcher(code(sources.getOrDefault(file(name), ""))).find())) {
      faults.add(
          String.format(
              "%s uses %s, which knows a clock, a thread or gRPC. The package %s is pure. Pass in"
                  + " the moment or the result.",
              path, name, own));
    }
  }

  private static void checkWords(
      String path, String own, Row row, String code, List<String> faults) {
    Matcher impure = IMPURE.matcher(code);
    if (row.pure && impure.find()) {
      faults.add(
          String.format(
              "%s has '%s'. The package %s is pure: no clock, no thread. Pass in the moment or the"
                  + " result.",
              path, impure.group(), own));
    }
    for (Right right : Right.values()) {
      Matcher act = right.pattern.matcher(code);
      if (!row.words.contains(right.word()) && act.find()) {
        faults.add(
            String.format(
                "%s %s by '%s'. Only packages whose row in ARCHITECTURE.md says '%s' do that, and"
                    + " %s does not. Move the class, or pass in what one of them makes.",
                path, right.act, act.group(), right.word(), own));
      }
    }
  }

  /** The table promises no more than there is. */
  private void checkUnused(Map<String, Set<String>> used, List<String> faults) {
    rows.forEach(
        (own, row) -> {
          if (own.equals("v1") || own.endsWith(".v1")) {
            return;
          }
          Set<String> names = used.getOrDefault(own, Collections.emptySet());
          if (names.isEmpty()) {
            faults.add(
                "ARCHITECTURE.md has a row for " + own + ", without classes. Remove the row.");
            return;
          }
          for (String api : row.apis) {
            if (names.stream().noneMatch(name -> isOf(name, Collections.singletonList(api)))) {
              faults.add(
                  String.format(
                      "ARCHITECTURE.md lets %s use %s, which it does not. Remove the API from the"
                          + " row.",
                      own, api));
            }
          }
        });
  }

  private static boolean isOf(String name, List<String> apis) {
    return apis.stream().anyMatch(api -> name.equals(api) || name.startsWith(api + "."));
  }

  private static Set<String> names(String code, String source) {
    Set<String> names = new LinkedHashSet<>();
    NAME_IN_TEXT.matcher(source).results().forEach(found -> names.add(found.group(1)));
    String body = code.replaceFirst("(?m)^package [\\w.]+;", "");
    Matcher name = NAME.matcher(body);
    while (name.find()) {
      names.add(name.group(1) + "." + name.group(2));
    }
    Matcher other = OTHER_IMPORT.matcher(body);
    while (other.find()) {
      names.add(other.group(1));
    }
    return names;
  }

  /** Without comments and the contents of strings, and names on one line. */
  private static String code(String source) {
    return TEXT.matcher(source)
        .replaceAll(found -> found.group().startsWith("/") ? " " : "\"\"")
        .replaceAll("\\s*(\\.|::)\\s*", "$1");
  }

  /** Relative to our root, which has its own name; of the path of a file or of a class. */
  private static String packageOf(String path) {
    String folder = path.substring(0, path.lastIndexOf('/')).replace('/', '.');
    return folder.equals(ROOT) ? ROOT : folder.substring(ROOT.length() + 1);
  }

  private static String file(String name) {
    return name.replace('.', '/') + ".java";
  }
}
