package io.tensorflowignite.ignite;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;

import java.io.DataInputStream;
import java.io.IOException;
import java.lang.invoke.MethodType;
import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.List;
import java.util.SortedSet;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.Test;

/**
 * Our classes, compiled against one version of Ignite, find all its classes, methods and fields in
 * the version that is on the class path of this test: in the same one, and by {@code make
 * test-ignite-next} in the next one, without Ignite's module for SQL.
 */
public class IgniteReferencesTest {
  private static final String IGNITE = "org.apache.ignite.";
  private static final String SQL_MODULE = IGNITE + "internal.processors.query.h2.";
  private static final int MANY = 500;

  @Test
  public void everyClassMethodAndFieldOfIgniteThatIsUsedIsThere() throws Exception {
    Path classes =
        Paths.get(Causes.class.getProtectionDomain().getCodeSource().getLocation().toURI());
    List<Path> files;
    try (Stream<Path> all = Files.walk(classes)) {
      files = all.filter(file -> file.toString().endsWith(".class")).collect(Collectors.toList());
    }
    SortedSet<String> references = new TreeSet<>();
    for (Path file : files) {
      references.addAll(references(file));
    }
    assertTrue("" + references.size(), references.size() > MANY);
    List<String> missing = new ArrayList<>();
    for (String reference : references) {
      if (!isThere(reference.split(" "))) {
        missing.add(reference);
      }
    }
    assertEquals(List.of(), missing);
  }

  /** As "class name descriptor", or "class", of a class's pool of constants. */
  private static List<String> references(Path file) throws IOException {
    try (DataInputStream in = new DataInputStream(Files.newInputStream(file))) {
      in.readLong();
      int count = in.readUnsignedShort();
      String[] texts = new String[count];
      int[][] pairs = new int[count][];
      List<int[]> members = new ArrayList<>();
      List<int[]> owners = new ArrayList<>();
      for (int at = 1; at < count; at++) {
        int tag = in.readUnsignedByte();
        switch (tag) {
          case 1:
            texts[at] = in.readUTF();
            break;
          case 5:
          case 6:
            in.readLong();
            at++;
            break;
          case 7:
          case 8:
          case 16:
          case 19:
          case 20:
            pairs[at] = new int[] {in.readUnsignedShort()};
            if (tag == 7) {
              owners.add(pairs[at]);
            }
            break;
          case 15:
            in.skipBytes(3);
            break;
          default:
            pairs[at] = new int[] {in.readUnsignedShort(), in.readUnsignedShort()};
            if (tag >= 9 && tag <= 11) {
              members.add(pairs[at]);
            }
        }
      }
      List<String> references = new ArrayList<>();
      for (int[] owner : owners) {
        String name = texts[owner[0]].replace('/', '.');
        if (name.startsWith(IGNITE)) {
          references.add(name);
        }
      }
      for (int[] member : members) {
        String owner = texts[pairs[member[0]][0]].replace('/', '.');
        int[] named = pairs[member[1]];
        if (owner.startsWith(IGNITE)) {
          references.add(owner + " " + texts[named[0]] + " " + texts[named[1]]);
        }
      }
      return references;
    }
  }

  private static boolean isThere(String[] reference) {
    try {
      Class<?> owner = Class.forName(reference[0], false, Causes.class.getClassLoader());
      return reference.length == 1 || has(owner, reference[1], reference[2]);
    } catch (ClassNotFoundException e) {
      return reference[0].startsWith(SQL_MODULE);
    }
  }

  private static boolean has(Class<?> owner, String name, String descriptor) {
    if (owner == null) {
      return false;
    }
    for (Constructor<?> one : owner.getDeclaredConstructors()) {
      if (name.equals("<init>") && descriptor.equals(of(void.class, one.getParameterTypes()))) {
        return true;
      }
    }
    for (Method one : owner.getDeclaredMethods()) {
      if (one.getName().equals(name)
          && descriptor.equals(of(one.getReturnType(), one.getParameterTypes()))) {
        return true;
      }
    }
    for (Field one : owner.getDeclaredFields()) {
      if (one.getName().equals(name) && ("()" + descriptor).equals(of(one.getType()))) {
        return true;
      }
    }
    return has(owner.getSuperclass(), name, descriptor)
        || Stream.of(owner.getInterfaces()).anyMatch(one -> has(one, name, descriptor))
        || owner.isInterface() && has(Object.class, name, descriptor);
  }

  private static String of(Class<?> result, Class<?>... parameters) {
    return MethodType.methodType(result, parameters).toMethodDescriptorString();
  }
}
