#include "base/file.h"

#include "base/temporary.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* --- whose streams and files they are ----------------------------------------------------------------------- */

static bool of_a_command;

void ss_files_of_a_command(void) {
  of_a_command = true;
}

static bool is_stream(const char *path) {
  return strcmp(path, "-") == 0;
}

static bool fail_stream(struct ss_error *error) {
  return ss_fail(error, SS_BAD_INPUT, "\"-\": standard input and output are the program's own: name a file");
}

/* --- what was read --------------------------------------------------------------------------------------- */

/* An output must not be an input of the same run, by whatever name: what was read is known for as long as the process
 * lives, whoever read it. */
static struct {
  struct {
    dev_t device;
    ino_t number;
  } * file;
  size_t count;
} inputs;
static pthread_mutex_t inputs_lock = PTHREAD_MUTEX_INITIALIZER;

static size_t find_input(const struct stat *info) {
  size_t i = 0;
  while (i < inputs.count && (inputs.file[i].device != info->st_dev || inputs.file[i].number != info->st_ino)) i++;
  return i;
}

/* Without memory the file is not protected. */
void ss_input_note(int descriptor) {
  struct stat info;
  if (!of_a_command || fstat(descriptor, &info) != 0 || !S_ISREG(info.st_mode)) return;
  pthread_mutex_lock(&inputs_lock);
  if (find_input(&info) == inputs.count && ss_grow_by_one(inputs.file, inputs.count)) {
    inputs.file[inputs.count].device = info.st_dev;
    inputs.file[inputs.count++].number = info.st_ino;
  }
  pthread_mutex_unlock(&inputs_lock);
}

static bool is_input(const struct stat *info) {
  pthread_mutex_lock(&inputs_lock);
  const bool found = find_input(info) < inputs.count;
  pthread_mutex_unlock(&inputs_lock);
  return found;
}

void ss_input_release(const char *path) {
  struct stat info;
  if (stat(path, &info) != 0) return;
  pthread_mutex_lock(&inputs_lock);
  const size_t i = find_input(&info);
  if (i < inputs.count) inputs.file[i] = inputs.file[--inputs.count];
  pthread_mutex_unlock(&inputs_lock);
}

/* The folder of a path, the caller's; NULL when memory is short. */
static char *folder_of(const char *path) {
  const char *slash = strrchr(path, '/');
  return !slash ? strdup(".") : strndup(path, slash == path ? 1 : (size_t)(slash - path));
}

bool ss_same_file(const char *a, const char *b) {
  struct stat x, y;
  if (strcmp(a, b) == 0) return true;
  if (stat(a, &x) == 0) return stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
  /* not there yet: one name in one folder */
  const char *last[2] = {strrchr(a, '/'), strrchr(b, '/')};
  if (strcmp(last[0] ? last[0] + 1 : a, last[1] ? last[1] + 1 : b) != 0) return false;
  SS_AUTO_FREE char *first = folder_of(a);
  SS_AUTO_FREE char *second = folder_of(b);
  return first && second && stat(first, &x) == 0 && stat(second, &y) == 0 && x.st_dev == y.st_dev &&
         x.st_ino == y.st_ino;
}

/* --- reading -------------------------------------------------------------------------------------------- */

void ss_cleanup_close(const int *descriptor) {
  if (*descriptor >= 0) close(*descriptor);
}

bool ss_map_file(const char *path, struct ss_mapping *out, struct ss_error *error) {
  SS_AUTO(ss_cleanup_close) const int descriptor = ss_input_open(path, error);
  struct stat info;
  if (descriptor < 0) return false;
  if (fstat(descriptor, &info) != 0)
    return ss_fail(error, SS_BAD_INPUT, "%s: cannot read: %s", path, strerror(errno));
  if (S_ISDIR(info.st_mode)) return ss_fail(error, SS_BAD_INPUT, "%s: is a directory, not a file", path);
  if (!S_ISREG(info.st_mode))
    return ss_fail(error, SS_BAD_INPUT, "%s: not a regular file (copy a pipe or device to one first)", path);

  struct ss_mapping mapping = {.size = (size_t)info.st_size};
  if (mapping.size > 0) {
    void *data = mmap(NULL, mapping.size, PROT_READ, MAP_PRIVATE, descriptor, 0);
    if (data == MAP_FAILED) return ss_fail(error, SS_MACHINE, "%s: cannot map: %s", path, strerror(errno));
    mapping.data = data;
  }
  ss_input_note(descriptor);
  *out = mapping;
  return true;
}

/* Standard input comes once, and may be asked for again: what came is kept for as long as the process lives. */
static int standard_input = -1;
static pthread_mutex_t standard_input_lock = PTHREAD_MUTEX_INITIALIZER;

enum { PIECE = 1 << 20 /* B of standard input */ };

static bool copy_all(int from, int to) {
  SS_AUTO_FREE char *piece = ss_alloc(PIECE, 1);
  for (ssize_t got; piece && (got = read(from, piece, PIECE)) != 0;) {
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return false;
    for (ssize_t put, done = 0; done < got; done += put)
      if ((put = write(to, piece + done, (size_t)(got - done))) <= 0) return false;
  }
  return piece != NULL;
}

/* A file that is read from its beginning stands for itself; all else is copied to memory. */
static bool keep_standard_input(struct ss_error *error) {
  struct stat info;
  if (standard_input >= 0) return true;
  const bool file = fstat(STDIN_FILENO, &info) == 0 && S_ISREG(info.st_mode) && lseek(STDIN_FILENO, 0, SEEK_CUR) == 0;
  const int kept = file ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0) : memfd_create("standard input", MFD_CLOEXEC);
  if (kept >= 0 && (file || copy_all(STDIN_FILENO, kept))) {
    standard_input = kept;
    return true;
  }
  (void)ss_fail(error, SS_BAD_INPUT, "standard input: cannot read: %s", strerror(errno));
  if (kept >= 0) close(kept);
  return false;
}

static int open_standard_input(struct ss_error *error) {
  if (!of_a_command) return fail_stream(error) ? 0 : -1;
  pthread_mutex_lock(&standard_input_lock);
  const int descriptor = keep_standard_input(error) ? fcntl(standard_input, F_DUPFD_CLOEXEC, 0) : -1;
  pthread_mutex_unlock(&standard_input_lock);
  if (descriptor >= 0) (void)lseek(descriptor, 0, SEEK_SET);
  return descriptor;
}

int ss_input_open(const char *path, struct ss_error *error) {
  if (is_stream(path)) return open_standard_input(error);
  /* Without O_NONBLOCK, opening a pipe that nobody writes to would hang before we can refuse it. */
  const int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (descriptor < 0) (void)ss_fail(error, SS_BAD_INPUT, "%s: cannot open: %s", path, strerror(errno));
  return descriptor;
}

int ss_stream_open(const char *path, struct ss_error *error) {
  const bool standard = strcmp(path, "-") == 0;
  const int descriptor = standard ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0) : ss_input_open(path, error);
  if (descriptor < 0 && standard) (void)ss_fail(error, SS_BAD_INPUT, "%s: cannot open: %s", path, strerror(errno));
  if (descriptor < 0) return -1;
  /* Only opening a pipe must not wait. */
  const int flags = fcntl(descriptor, F_GETFL);
  if (!standard && flags >= 0) (void)fcntl(descriptor, F_SETFL, flags & ~O_NONBLOCK);
  ss_input_note(descriptor);
  return descriptor;
}

void ss_release_mapped(const struct ss_mapping *mapping, const void *data, size_t size) {
  const uintptr_t begin = (uintptr_t)data, file = (uintptr_t)mapping->data;
  const size_t page = (size_t)sysconf(_SC_PAGESIZE), skip = (page - begin % page) % page;
  if (mapping->data == NULL || begin < file || begin - file > mapping->size) return;
  if (size < skip + page || size > mapping->size - (begin - file)) return;
  (void)madvise((char *)(begin + skip), (size - skip) / page * page, MADV_DONTNEED);
}

void ss_unmap_file(struct ss_mapping *mapping) {
  if (mapping->data != NULL) munmap((void *)(uintptr_t)mapping->data, mapping->size);
  *mapping = (struct ss_mapping){0};
}

char *ss_written(void (*write)(const void *, FILE *), const void *context) {
  char *text = NULL;
  size_t size = 0;
  FILE *stream = open_memstream(&text, &size);
  if (!stream) return NULL;
  write(context, stream);
  if (fclose(stream) == 0) return text;
  free(text);
  return NULL;
}

/* --- writing -------------------------------------------------------------------------------------------- */

/* What the system will not let us write is the machine's failure, whatever its reason. */
static bool fail_open(const char *path, int number, struct ss_error *error) {
  return ss_fail(error, SS_MACHINE, "%s: cannot write: %s", path, strerror(number));
}

/* Of another process that was killed: while a process lives, it has a lock on what it writes. */
static void remove_left(int folder, const char *name) {
  const int descriptor = openat(folder, name, O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (descriptor < 0) return;
  if (flock(descriptor, LOCK_EX | LOCK_NB) == 0) (void)unlinkat(folder, name, 0);
  close(descriptor);
}

/* Removes what processes that were killed have left beside `path`. */
static void remove_all_left(const char *path) {
  const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
  const size_t length = strlen(name);
  SS_AUTO_FREE char *folder = folder_of(path);
  DIR *list = folder ? opendir(folder) : NULL;
  for (struct dirent *entry; list && (entry = readdir(list));) {
    const char *rest = entry->d_name + length;
    int end = 0;
    if (strncmp(entry->d_name, name, length) != 0) continue;
    // NOLINTNEXTLINE(cert-err34-c): nothing is made of the numbers
    if (sscanf(rest, ".%*[0-9]-%*[0-9].part%n", &end) == 0 && end > 0 && rest[end] == '\0')
      remove_left(dirfd(list), entry->d_name);
  }
  if (list) closedir(list);
}

/* Locks what was just created. False: another process took it for what was left, and removes it. */
static bool hold(int descriptor) {
  struct stat info;
  /* a file system without locks is no reason to stop: nothing is removed there */
  if (flock(descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) return false;
  return fstat(descriptor, &info) == 0 && info.st_nlink > 0;
}

/* Creates `path`.N.part with the permissions that the umask leaves; mkstemp would make the file private, and the
 * umask cannot be read without changing it under other threads. Returns the descriptor, or -1 with errno. */
static int create_beside(const char *path, char **beside) {
  static atomic_uint names; /* no name comes twice: threads may write the same file */
  remove_all_left(path);
  for (int attempt = 0; attempt < 1000; attempt++) {
    if (asprintf(beside, "%s.%ld-%u.part", path, (long)getpid(), atomic_fetch_add(&names, 1)) < 0) {
      *beside = NULL;
      errno = ENOMEM;
      return -1;
    }
    ss_temporary_add(*beside);
    const int descriptor = open(*beside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor >= 0 && hold(descriptor)) return descriptor;
    const int number = descriptor >= 0 ? EEXIST : errno;
    if (descriptor >= 0) close(descriptor);
    ss_temporary_forget(*beside);
    free(*beside);
    *beside = NULL;
    errno = number;
    if (number != EEXIST) return -1;
  }
  return -1;
}

/* The output's stream, of that descriptor. */
static bool open_stream(int descriptor, struct ss_output *out, struct ss_error *error) {
  out->stream = fdopen(descriptor, "w");
  if (out->stream != NULL) return true;
  close(descriptor);
  return ss_fail_memory(error, "opening an output");
}

/* For what is there but is no regular file (/dev/null, a pipe): renaming over it would destroy it. */
static bool open_in_place(const char *path, struct ss_output *out, struct ss_error *error) {
  const int descriptor = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
  return descriptor < 0 ? fail_open(path, errno, error) : open_stream(descriptor, out, error);
}

static bool open_beside(const struct stat *old, struct ss_output *out, struct ss_error *error) {
  const int descriptor = create_beside(out->path, &out->beside);
  if (descriptor < 0) return fail_open(out->path, errno, error);
  /* A file system that knows no modes is no reason to stop. */
  if (old != NULL && fchmod(descriptor, old->st_mode & 07777) != 0) errno = 0;
  return open_stream(descriptor, out, error);
}

bool ss_output_check(const char *path, struct ss_error *error) {
  struct stat info;
  if (path == NULL || is_stream(path)) return of_a_command || fail_stream(error);
  if (*path == '\0') return ss_fail(error, SS_BAD_INPUT, "the name of an output file is empty");
  if (stat(path, &info) != 0) return true;
  if (S_ISDIR(info.st_mode)) return ss_fail(error, SS_BAD_INPUT, "%s: is a directory, not a file", path);
  if (!S_ISREG(info.st_mode)) return true;
  if (is_input(&info))
    return ss_fail(error, SS_BAD_INPUT, "%s: was read in this run, which must not replace it (choose another output)",
                   path);
  /* Renaming asks only the folder for permission: without this a read-only file would be replaced. */
  return access(path, W_OK) == 0 || fail_open(path, errno, error);
}

/* Where symbolic links lead of which the last leads to nothing yet; NULL when memory is short. */
static char *end_of_links(const char *path) {
  char target[PATH_MAX], *at = strdup(path);
  ssize_t length;
  for (int links = 0; at && links < 40 && (length = readlink(at, target, sizeof target - 1)) > 0; links++) {
    const char *slash = target[0] == '/' ? NULL : strrchr(at, '/');
    char *next;
    target[length] = '\0';
    if (asprintf(&next, "%.*s%s", slash ? (int)(slash + 1 - at) : 0, at, target) < 0) next = NULL;
    free(at);
    at = next;
  }
  return at;
}

static bool open_path(const char *path, struct ss_output *out, struct ss_error *error) {
  struct stat info;
  if (!ss_output_check(path, error)) return false;
  const bool exists = stat(path, &info) == 0;
  /* Resolved, so that a symbolic link stays one and its target is replaced. */
  out->path = exists ? realpath(path, NULL) : end_of_links(path);
  if (exists && out->path == NULL) out->path = strdup(path); /* /proc/self/fd/1 leads to no name */
  if (out->path == NULL) return ss_fail_memory(error, "opening an output");
  if (!exists) return open_beside(NULL, out, error);
  if (!S_ISREG(info.st_mode)) return open_in_place(path, out, error);
  return open_beside(&info, out, error);
}

bool ss_output_open(const char *path, struct ss_output *out, struct ss_error *error) {
  struct ss_output output = {0};
  if (path == NULL || is_stream(path)) {
    if (!of_a_command) return fail_stream(error);
    output.stream = stdout;
  } else if (!open_path(path, &output, error)) {
    ss_output_discard(&output);
    return false;
  }
  *out = output;
  return true;
}

bool ss_output_has_folder(const char *path, struct ss_error *error) {
  struct stat info;
  if (path == NULL || *path == '\0' || is_stream(path)) return true;
  if (stat(path, &info) == 0 && !S_ISREG(info.st_mode)) return true; /* nothing is put beside it */
  SS_AUTO_FREE char *end = end_of_links(path);
  SS_AUTO_FREE char *folder = end ? folder_of(end) : NULL;
  if (!folder) return ss_fail_memory(error, "opening an output");
  if (stat(folder, &info) != 0 || !S_ISDIR(info.st_mode))
    return ss_fail(error, SS_BAD_INPUT, "%s: cannot write: there is no folder %s", path, folder);
  return access(folder, W_OK) == 0 || fail_open(path, errno, error);
}

/* An error of an earlier write leaves ferror set but its errno is gone: what is lost anyway gets one byte more, which
 * says it again (a full disk, mostly). */
static int flush_stream(FILE *stream) {
  const bool failed = ferror(stream) != 0;
  errno = 0;
  if (fflush(stream) != 0) return errno != 0 ? errno : EIO;
  if (!failed) return 0;
  return stream != stdout && write(fileno(stream), "", 1) < 0 && errno != 0 ? errno : EIO;
}

static int finish(struct ss_output *out) {
  int number = flush_stream(out->stream);
  if (out->stream == stdout) return number;
  if (number == 0 && out->beside != NULL && fsync(fileno(out->stream)) != 0) number = errno;
  const int lock = dup(fileno(out->stream)); /* held until it bears its name, or others remove it as left */
  if (fclose(out->stream) != 0 && number == 0) number = errno;
  out->stream = NULL;
  if (number == 0 && out->beside != NULL && rename(out->beside, out->path) != 0) number = errno;
  if (lock >= 0) close(lock);
  return number;
}

bool ss_output_commit(struct ss_output *out, struct ss_error *error) {
  const int number = finish(out);
  if (number != 0)
    ss_fail(error, SS_MACHINE, "%s: cannot write: %s", out->path == NULL ? "standard output" : out->path,
            strerror(number));
  ss_output_discard(out);
  return number == 0;
}

void ss_output_discard(struct ss_output *out) {
  if (out->stream != NULL && out->stream != stdout) fclose(out->stream);
  if (out->beside != NULL) {
    unlink(out->beside); /* nothing, where it bears its final name */
    ss_temporary_forget(out->beside);
  }
  free(out->beside);
  free(out->path);
  *out = (struct ss_output){0};
}

int ss_scratch_open(const char *beside, struct ss_error *error) {
  const char *slash = beside ? strrchr(beside, '/') : NULL, *temporary = getenv("TMPDIR");
  const bool nowhere = !beside || strcmp(beside, "-") == 0;
  SS_AUTO_FREE char *path = NULL;
  const int length = nowhere ? asprintf(&path, "%s/sparsync-XXXXXX", temporary && *temporary ? temporary : "/tmp")
                     : slash ? asprintf(&path, "%.*s/.sparsync-XXXXXX", (int)(slash - beside), beside)
                             : asprintf(&path, ".sparsync-XXXXXX");
  if (length < 0) {
    path = NULL;
    (void)ss_fail_memory(error, "opening a temporary file");
    return -1;
  }
  const int descriptor = mkostemp(path, O_CLOEXEC);
  if (descriptor < 0) (void)ss_fail(error, SS_MACHINE, "%s: cannot make a temporary file: %s", path, strerror(errno));
  else (void)unlink(path);
  return descriptor;
}

bool ss_scratch_write(int file, const void *bytes, size_t size, uint64_t offset, struct ss_error *error) {
  for (const char *at = bytes; size > 0;) {
    const ssize_t put = pwrite(file, at, size, (off_t)offset);
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return ss_fail(error, SS_MACHINE, "cannot write a temporary file: %s", strerror(errno));
    at += put;
    offset += (uint64_t)put;
    size -= (size_t)put;
  }
  return true;
}

bool ss_scratch_read(int file, void *bytes, size_t size, uint64_t offset, struct ss_error *error) {
  for (char *at = bytes; size > 0;) {
    const ssize_t got = pread(file, at, size, (off_t)offset);
    if (got < 0 && errno == EINTR) continue;
    if (got == 0) errno = EIO; /* somebody cut it */
    if (got <= 0) return ss_fail(error, SS_MACHINE, "cannot read a temporary file: %s", strerror(errno));
    at += got;
    offset += (uint64_t)got;
    size -= (size_t)got;
  }
  return true;
}

bool ss_output_write(const char *path, bool (*print)(const void *context, FILE *stream, struct ss_error *error),
                     const void *context, struct ss_error *error) {
  struct ss_output output;
  if (!ss_output_open(path, &output, error)) return false;
  if (print(context, output.stream, error)) return ss_output_commit(&output, error);
  if (ferror(output.stream)) (void)ss_fail_prefix(error, "%s", output.path ? output.path : "standard output");
  ss_output_discard(&output);
  return false;
}
/* SPDX-License-Identifier: Apache-2.0 */
