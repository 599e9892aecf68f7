/* Files: mapped read-only, and written whole or not at all. */
#pragma once

#include "base/base.h"

/* This process is one command: "-" is its standard input or output, and what it has read is no place for its outputs.
 * Without this call, before threads begin, "-" is refused and files may be read and replaced as often as one likes:
 * both streams are those of the program that has loaded the library. */
void ss_files_of_a_command(void);

struct ss_mapping {
  const unsigned char *data; /* NULL only for an empty file */
  size_t size;
};

/* Closes a descriptor, unless it is below 0: for SS_AUTO. */
void ss_cleanup_close(const int *descriptor);
/* A descriptor to read the file from its beginning, the caller's to close; "-" is standard input, however often it is
 * asked for. Below 0: an error. */
int ss_input_open(const char *path, struct ss_error *error) SS_MUST_CHECK;
/* The same for what is read once from beginning to end, however long: a pipe will do, and of standard input nothing
 * is kept. */
int ss_stream_open(const char *path, struct ss_error *error) SS_MUST_CHECK;
/* Maps a regular file, or standard input ("-"), read-only; directories, devices and unreadable files are SS_BAD_INPUT
 * errors that name it. */
bool ss_map_file(const char *path, struct ss_mapping *out, struct ss_error *error) SS_MUST_CHECK;
/* The whole pages of data[size] leave this process's memory until they are read again, if they are of the mapping. */
void ss_release_mapped(const struct ss_mapping *mapping, const void *data, size_t size);
void ss_unmap_file(struct ss_mapping *mapping);
/* The open file is an input too, though it was not mapped. */
void ss_input_note(int descriptor);
/* The file at `path` was read, but is there to be replaced. */
void ss_input_release(const char *path);
/* Two paths of one file; of files that are not there, one name in one folder. */
bool ss_same_file(const char *a, const char *b);

/* A file being written beside its place. Nothing is at `path` until ss_output_commit has flushed, synced and renamed
 * it; an uncommitted output leaves the old file untouched. A `path` of NULL or "-" is standard output. A file that
 * this process has read is no place for an output, unless it was released. */
struct ss_output {
  FILE *stream;
  char *path, *beside;
};
/* What ss_output_open would refuse, known before anything is computed. */
bool ss_output_check(const char *path, struct ss_error *error) SS_MUST_CHECK;
bool ss_output_open(const char *path, struct ss_output *out, struct ss_error *error) SS_MUST_CHECK;
/* Is there a folder for it, in which files can be made? Better known before the work than after it. NULL and "-" need
 * none. */
bool ss_output_has_folder(const char *path, struct ss_error *error) SS_MUST_CHECK;
/* Failing to write is SS_MACHINE. The output is closed either way. */
bool ss_output_commit(struct ss_output *out, struct ss_error *error) SS_MUST_CHECK;
/* Closes and removes what was not committed; harmless after a commit. */
void ss_output_discard(struct ss_output *out);

/* A nameless file in the folder of `beside` (NULL, "-": that of temporary files) to write and read, gone once it is
 * closed; below 0: an SS_MACHINE error. */
int ss_scratch_open(const char *beside, struct ss_error *error) SS_MUST_CHECK;

/* All of the bytes at that offset of such a file. */
bool ss_scratch_write(int file, const void *bytes, size_t size, uint64_t offset,
                      struct ss_error *error) SS_MUST_CHECK;
bool ss_scratch_read(int file, void *bytes, size_t size, uint64_t offset, struct ss_error *error) SS_MUST_CHECK;

/* All of it in one go: what `print` prints of `context`, to the file at `path` or to standard output. */
bool ss_output_write(const char *path, bool (*print)(const void *context, FILE *stream, struct ss_error *error),
                     const void *context, struct ss_error *error) SS_MUST_CHECK;

/* What `write` writes, the caller's to free; NULL when memory is short. */
char *ss_written(void (*write)(const void *context, FILE *stream), const void *context);
/* SPDX-License-Identifier: Apache-2.0 */
