package io.tensorflowignite.storage;

import static io.tensorflowignite.storage.FileServers.assertRefused;
import static io.tensorflowignite.v1.WriteMode.WRITE_MODE_REPLACE;
import static org.junit.Assert.assertEquals;

import io.grpc.Status;
import io.tensorflowignite.storage.tree.ManyFiles;
import io.tensorflowignite.v1.AbandonWriteRequest;
import io.tensorflowignite.v1.BeginWriteRequest;
import io.tensorflowignite.v1.BlockHolders;
import io.tensorflowignite.v1.FileInfo;
import io.tensorflowignite.v1.FileServiceGrpc;
import io.tensorflowignite.v1.GetFileRequest;
import io.tensorflowignite.v1.GetFileResponse;
import io.tensorflowignite.v1.GetUsageRequest;
import io.tensorflowignite.v1.ListDirectoryRequest;
import io.tensorflowignite.v1.ListDirectoryResponse;
import io.tensorflowignite.v1.MakeDirectoryRequest;
import io.tensorflowignite.v1.PublishWriteRequest;
import io.tensorflowignite.v1.RemoveFileRequest;
import io.tensorflowignite.v1.RenameFileRequest;
import io.tensorflowignite.v1.ReserveBlocksRequest;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.AfterClass;
import org.junit.BeforeClass;
import org.junit.Test;

/** The metadata calls of clients. */
public class ItFileService {
  private static StorageNodes cluster;
  private static FileServers servers;

  @BeforeClass
  public static void startNode() throws Exception {
    cluster = new StorageNodes(1, StorageNodes.settings("store"));
    servers = new FileServers(cluster);
  }

  @AfterClass
  public static void stopNode() throws Exception {
    servers.close();
    cluster.close();
  }

  @Test
  public void aFileIsWrittenFoundRenamedAndRemoved() {
    files().makeDirectory(MakeDirectoryRequest.newBuilder().setPath("/a").build());
    String extent = begin("/a/file");
    BlockHolders holders =
        files()
            .reserveBlocks(
                ReserveBlocksRequest.newBuilder().setExtentId(extent).setBlocks(2).build())
            .getHolders();
    assertEquals(servers.addresses, holders.getAddressesList());
    assertEquals(Collections.nCopies(2, 0), holders.getHoldersList());
    FileInfo file =
        files()
            .publishWrite(
                PublishWriteRequest.newBuilder()
                    .setExtentId(extent)
                    .setBytes(5_000)
                    .setDone(true)
                    .build())
            .getFile();
    assertEquals("/a/file", file.getPath());
    GetFileResponse found =
        files().getFile(GetFileRequest.newBuilder().setPath("/a/file").setLocate(true).build());
    assertEquals(file, found.getFile());
    assertEquals(Collections.singletonList(holders), found.getHoldersList());
    assertEquals(
        5_000, files().getUsage(GetUsageRequest.newBuilder().setPath("/a").build()).getBytes());
    files().renameFile(RenameFileRequest.newBuilder().setSource("/a/file").setTarget("/b").build());
    files().removeFile(RemoveFileRequest.newBuilder().setPath("/b").build());
    files().removeFile(RemoveFileRequest.newBuilder().setPath("/a").build());
    files().abandonWrite(AbandonWriteRequest.newBuilder().setExtentId(begin("/c")).build());
    assertEquals(Collections.emptyList(), list("/"));
  }

  @Test
  public void aListingIsSplitIntoResponsesOfAtMostAThousandFiles() {
    files().makeDirectory(MakeDirectoryRequest.newBuilder().setPath("/many").build());
    ManyFiles.layOut(
        cluster.nodes.get(0),
        cluster.store(0),
        "/many",
        IntStream.range(0, 30_500)
            .mapToObj(i -> "file-" + (100_000 + i))
            .collect(Collectors.toList()));
    List<ListDirectoryResponse> answers = list("/many");
    assertEquals(31, answers.size());
    assertEquals(500, answers.get(30).getFilesCount());
    for (int i = 0; i < 30_500; i++) {
      assertEquals("file-" + (100_000 + i), answers.get(i / 1_000).getFiles(i % 1_000).getPath());
    }
    files().removeFile(RemoveFileRequest.newBuilder().setPath("/many").setRecursive(true).build());
  }

  @Test
  public void errorsArriveWithTheirStatusAndCode() {
    assertRefused(Status.Code.NOT_FOUND, "FILE_NOT_FOUND", () -> list("/none"));
    assertRefused(Status.Code.INVALID_ARGUMENT, "INVALID_REQUEST", () -> list("none"));
    assertRefused(
        Status.Code.ALREADY_EXISTS,
        "FILE_EXISTS",
        () -> files().makeDirectory(MakeDirectoryRequest.newBuilder().setPath("/").build()));
    assertRefused(Status.Code.FAILED_PRECONDITION, "IS_A_DIRECTORY", () -> begin("/"));
    assertRefused(
        Status.Code.ABORTED,
        "FILE_CHANGED",
        () -> files().reserveBlocks(ReserveBlocksRequest.newBuilder().setExtentId("none").build()));
  }

  private static String begin(String path) {
    return files()
        .beginWrite(
            BeginWriteRequest.newBuilder().setPath(path).setMode(WRITE_MODE_REPLACE).build())
        .getExtentId();
  }

  private static List<ListDirectoryResponse> list(String path) {
    List<ListDirectoryResponse> answers = new ArrayList<>();
    files()
        .listDirectory(ListDirectoryRequest.newBuilder().setPath(path).build())
        .forEachRemaining(answers::add);
    return answers;
  }

  private static FileServiceGrpc.FileServiceBlockingStub files() {
    return servers.calls(0);
  }
}
