/* Answers requests with a SavedModel, using only TensorFlow's C API.

   serve FOLDER < REQUESTS > ANSWERS

   One process and one session handle the requests one after the other:

     request SIGNATURE NUMBER_OF_INPUTS\n   and the tensors
   and are answered by
     answer NUMBER_OF_OUTPUTS\n             and the tensors, or
     error LENGTH\n                         and the message.

   A tensor is
     NAME DATA_TYPE RANK SIZE...\n          and its values,

   where DATA_TYPE is TensorFlow's number of the data type. Numbers are raw, in
   native byte order. A string is its length, as an unsigned 64-bit integer, and
   its bytes. The graph names of a signature's tensors are read from the
   SavedModel. */

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tensorflow/c/c_api.h"
#include "tensorflow/c/tf_tstring.h"

enum { MAX_TENSORS = 64, MAX_RANK = 8, MAX_NAME = 256 };

static void fail(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vfprintf(stderr, format, arguments);
  va_end(arguments);
  fputc('\n', stderr);
  exit(1);
}

/* ---- Protocol buffers: only what a signature needs. ---- */

typedef struct {
  const uint8_t *at, *end;
} Bytes;

static uint64_t read_varint(Bytes *message) {
  uint64_t value = 0;
  for (int shift = 0; message->at < message->end && shift < 64; shift += 7) {
    uint8_t byte = *message->at++;
    value |= (uint64_t)(byte & 127) << shift;
    if (byte < 128) return value;
  }
  fail("The SavedModel is damaged.");
  return 0;
}

/* Finds the next bytes field with this number; 0 if there is none. */
static int next_field(Bytes *message, uint64_t number, Bytes *field) {
  while (message->at < message->end) {
    uint64_t key = read_varint(message), size = 0;
    switch (key & 7) {
      case 0: read_varint(message); continue;
      case 1: size = 8; break;
      case 2: size = read_varint(message); break;
      case 5: size = 4; break;
      default: fail("The SavedModel is damaged.");
    }
    if (size > (uint64_t)(message->end - message->at))
      fail("The SavedModel is damaged.");
    field->at = message->at;
    field->end = message->at += size;
    if (key == (number << 3 | 2)) return 1;
  }
  return 0;
}

static int field_of(Bytes message, uint64_t number, Bytes *field) {
  return next_field(&message, number, field);
}

static int equals(Bytes text, const char *expected) {
  size_t size = text.end - text.at;
  return size == strlen(expected) && !memcmp(text.at, expected, size);
}

static void copy_name(char *target, Bytes text) {
  size_t size = text.end - text.at;
  if (size >= MAX_NAME) fail("A name is too long.");
  memcpy(target, text.at, size);
  target[size] = 0;
}

/* Finds the signature by name: field 5 of the MetaGraphDef, a map. */
static int find_signature(Bytes graph, const char *name, Bytes *signature) {
  Bytes entry, key;
  while (next_field(&graph, 5, &entry))
    if (field_of(entry, 1, &key) && equals(key, name))
      return field_of(entry, 2, signature);
  return 0;
}

/* ---- The tensors of a signature. ---- */

typedef struct {
  char names[MAX_TENSORS][MAX_NAME];
  TF_Output places[MAX_TENSORS];
  int number;
} Ends;

/* Reads the inputs (field 1) or outputs (field 2) of a signature. */
static void read_ends(Bytes signature, int field, TF_Graph *graph, Ends *ends) {
  Bytes entry, key, info, place;
  ends->number = 0;
  while (next_field(&signature, field, &entry)) {
    char name[MAX_NAME], *colon;
    if (ends->number == MAX_TENSORS) fail("There are too many tensors.");
    if (!field_of(entry, 1, &key) || !field_of(entry, 2, &info) ||
        !field_of(info, 1, &place))
      fail("The SavedModel is damaged.");
    copy_name(ends->names[ends->number], key);
    copy_name(name, place);
    colon = strrchr(name, ':');
    if (!colon) fail("'%s' is no tensor.", name);
    *colon = 0;
    TF_Output output = {TF_GraphOperationByName(graph, name), atoi(colon + 1)};
    if (!output.oper) fail("There is no operation '%s'.", name);
    ends->places[ends->number++] = output;
  }
}

/* ---- Tensors in files. ---- */

static void read_bytes(void *target, size_t size) {
  if (size && fread(target, 1, size, stdin) != size)
    fail("The requests end too soon.");
}

static TF_Tensor *read_tensor(char *name) {
  int data_type, rank;
  int64_t sizes[MAX_RANK], number = 1;
  if (scanf("%255s %d %d", name, &data_type, &rank) != 3 || rank > MAX_RANK)
    fail("A request's tensor is no tensor.");
  for (int i = 0; i < rank; ++i) {
    if (scanf("%ld", &sizes[i]) != 1) fail("A tensor's size is missing.");
    number *= sizes[i];
  }
  getchar();
  size_t bytes = number * TF_DataTypeSize(data_type);
  if (data_type == TF_STRING) bytes = number * sizeof(TF_TString);
  TF_Tensor *tensor = TF_AllocateTensor(data_type, sizes, rank, bytes);
  if (data_type != TF_STRING) {
    read_bytes(TF_TensorData(tensor), bytes);
    return tensor;
  }
  TF_TString *strings = TF_TensorData(tensor);
  for (int64_t i = 0; i < number; ++i) {
    uint64_t length;
    read_bytes(&length, sizeof length);
    char *text = malloc(length + 1);
    read_bytes(text, length);
    TF_StringInit(&strings[i]);
    TF_StringCopy(&strings[i], text, length);
    free(text);
  }
  return tensor;
}

static void write_tensor(const char *name, const TF_Tensor *tensor) {
  int data_type = TF_TensorType(tensor), rank = TF_NumDims(tensor);
  printf("%s %d %d", name, data_type, rank);
  for (int i = 0; i < rank; ++i) printf(" %ld", (long)TF_Dim(tensor, i));
  putchar('\n');
  if (data_type != TF_STRING) {
    fwrite(TF_TensorData(tensor), 1, TF_TensorByteSize(tensor), stdout);
    return;
  }
  const TF_TString *strings = TF_TensorData(tensor);
  for (int64_t i = 0; i < TF_TensorElementCount(tensor); ++i) {
    uint64_t length = TF_StringGetSize(&strings[i]);
    fwrite(&length, sizeof length, 1, stdout);
    fwrite(TF_StringGetDataPointer(&strings[i]), 1, length, stdout);
  }
}

static void delete_tensor(TF_Tensor *tensor) {
  if (!tensor) return;
  if (TF_TensorType(tensor) == TF_STRING)
    for (int64_t i = 0; i < TF_TensorElementCount(tensor); ++i)
      TF_StringDealloc((TF_TString *)TF_TensorData(tensor) + i);
  TF_DeleteTensor(tensor);
}

/* ---- Requests. ---- */

static void answer(TF_Session *session, const Ends *inputs, const Ends *outputs,
                   char names[][MAX_NAME], TF_Tensor **tensors, int number) {
  TF_Status *status = TF_NewStatus();
  TF_Output places[MAX_TENSORS];
  TF_Tensor *results[MAX_TENSORS] = {0};
  for (int i = 0; i < number; ++i) {
    places[i].oper = NULL;
    for (int k = 0; k < inputs->number; ++k)
      if (!strcmp(inputs->names[k], names[i])) places[i] = inputs->places[k];
    if (!places[i].oper)
      TF_SetStatus(status, TF_INVALID_ARGUMENT, "There is no such input.");
  }
  if (number != inputs->number)
    TF_SetStatus(status, TF_INVALID_ARGUMENT, "Inputs are missing.");
  if (TF_GetCode(status) == TF_OK)
    TF_SessionRun(session, NULL, places, tensors, number, outputs->places,
                  results, outputs->number, NULL, 0, NULL, status);
  if (TF_GetCode(status) == TF_OK) {
    printf("answer %d\n", outputs->number);
    for (int i = 0; i < outputs->number; ++i)
      write_tensor(outputs->names[i], results[i]);
  } else {
    const char *message = TF_Message(status);
    printf("error %zu\n%s", strlen(message), message);
  }
  for (int i = 0; i < MAX_TENSORS; ++i) delete_tensor(results[i]);
  TF_DeleteStatus(status);
}

int main(int argc, char **argv) {
  if (argc != 2) fail("usage: serve FOLDER < REQUESTS > ANSWERS");
  TF_Status *status = TF_NewStatus();
  TF_Graph *graph = TF_NewGraph();
  TF_Buffer *meta_graph = TF_NewBuffer();
  TF_SessionOptions *options = TF_NewSessionOptions();
  const char *tags[] = {"serve"};
  TF_Session *session = TF_LoadSessionFromSavedModel(
      options, NULL, argv[1], tags, 1, graph, meta_graph, status);
  if (TF_GetCode(status) != TF_OK) fail("%s", TF_Message(status));
  Bytes bytes = {meta_graph->data,
                 (const uint8_t *)meta_graph->data + meta_graph->length};

  static char names[MAX_TENSORS][MAX_NAME];
  static Ends inputs, outputs;
  char name[MAX_NAME];
  TF_Tensor *tensors[MAX_TENSORS];
  int number;
  while (scanf(" request %255s %d", name, &number) == 2) {
    Bytes signature;
    if (!find_signature(bytes, name, &signature))
      fail("There is no signature '%s'.", name);
    if (number > MAX_TENSORS) fail("There are too many tensors.");
    read_ends(signature, 1, graph, &inputs);
    read_ends(signature, 2, graph, &outputs);
    for (int i = 0; i < number; ++i) tensors[i] = read_tensor(names[i]);
    answer(session, &inputs, &outputs, names, tensors, number);
    for (int i = 0; i < number; ++i) delete_tensor(tensors[i]);
  }
  if (!feof(stdin)) fail("A request is no request.");
  TF_CloseSession(session, status);
  TF_DeleteSession(session, status);
  TF_DeleteGraph(graph);
  TF_DeleteBuffer(meta_graph);
  TF_DeleteSessionOptions(options);
  TF_DeleteStatus(status);
  return 0;
}
