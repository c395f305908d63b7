package io.tensorflowignite.storage;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import io.grpc.ManagedChannel;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.netty.NettyChannelBuilder;
import io.tensorflowignite.LoopbackServer;
import io.tensorflowignite.api.ApiServer;
import io.tensorflowignite.security.Guard;
import io.tensorflowignite.storage.tree.ManyFiles;
import io.tensorflowignite.table.NodeTable;
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
import io.tensorflowignite.v1.Node;
import io.tensorflowignite.v1.PublishWriteRequest;
import io.tensorflowignite.v1.RemoveFileRequest;
import io.tensorflowignite.v1.RenameFileRequest;
import io.tensorflowignite.v1.ReserveBlocksRequest;
import io.tensorflowignite.v1.WriteMode;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.ignite.Ignite;
import org.junit.AfterClass;
import org.junit.BeforeClass;
import org.junit.Test;
import org.junit.function.ThrowingRunnable;

/** The metadata calls as clients make them. */
public class ItFileService {
  private static final String ADDRESS = "10.0.0.1:10820";

  private static StorageNodes cluster;
  private static ApiServer server;
  private static ManagedChannel channel;

  @BeforeClass
  public static void startNode() throws Exception {
    cluster = new StorageNodes(1, StorageNodes.settings("store"));
    Ignite node = cluster.nodes.get(0);
    NodeTable table = new NodeTable(node);
    table.put(
        Node.newBuilder()
            .setId(node.cluster().localNode().id().toString())
            .setAddress(ADDRESS)
            .build());
    server =
        LoopbackServer.start(
            node.log(),
            Collections.emptyList(),
            Collections.singletonList(
                new FileEndpoint(node, cluster.store(0), table, Guard.open())));
    channel = NettyChannelBuilder.forAddress("127.0.0.1", server.port()).usePlaintext().build();
  }

  @AfterClass
  public static void stopNode() throws Exception {
    assertTrue(channel.shutdownNow().awaitTermination(10, TimeUnit.SECONDS));
    server.close();
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
    assertEquals(Collections.singletonList(ADDRESS), holders.getAddressesList());
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
  public void aListingComesInAnswersOfAtMostAThousand() {
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
  public void errorsComeAsTheirStatusWithTheirCode() {
    assertFails(Status.Code.NOT_FOUND, "FILE_NOT_FOUND", () -> list("/none"));
    assertFails(Status.Code.INVALID_ARGUMENT, "INVALID_REQUEST", () -> list("none"));
    assertFails(
        Status.Code.ALREADY_EXISTS,
        "FILE_EXISTS",
        () -> files().makeDirectory(MakeDirectoryRequest.newBuilder().setPath("/").build()));
    assertFails(Status.Code.FAILED_PRECONDITION, "IS_A_DIRECTORY", () -> begin("/"));
    assertFails(
        Status.Code.ABORTED,
        "FILE_CHANGED",
        () -> files().reserveBlocks(ReserveBlocksRequest.newBuilder().setExtentId("none").build()));
  }

  private static String begin(String path) {
    return files()
        .beginWrite(BeginWriteRequest.newBuilder().setPath(path).setMode(WriteMode.REPLACE).build())
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
    return FileServiceGrpc.newBlockingStub(channel).withDeadlineAfter(30, TimeUnit.SECONDS);
  }

  private static void assertFails(Status.Code status, String code, ThrowingRunnable call) {
    StatusRuntimeException error = assertThrows(StatusRuntimeException.class, call);
    assertEquals(status, error.getStatus().getCode());
    String text = error.getStatus().getDescription();
    assertTrue(text, text.endsWith(" [code=" + code + "]"));
  }
}
