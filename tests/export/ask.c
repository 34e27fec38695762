// Asks an exported model through TensorFlow's C API, without Python:
//
//   ask FOLDER LIBRARY.so ... INPUT=TEXT ... OUTPUT ...
//
// A LIBRARY is a file of tensorflow_text with operations. `saved_model_cli show
// --all --dir FOLDER` prints the names of the INPUTs and OUTPUTs. Each OUTPUT
// is printed on a line of its own, with tabs between its values.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tensorflow/c/c_api.h"

enum { MOST = 32 };  // inputs, and outputs

static TF_Status* status;

static void fail(const char* what, const char* why) {
  fprintf(stderr, "Error: %s: %s\n", what, why);
  exit(1);
}

static void check(const char* what) {
  if (TF_GetCode(status) != TF_OK) fail(what, TF_Message(status));
}

// Finds a tensor by its name, such as "serving_default_text:0".
static TF_Output find(TF_Graph* graph, const char* name) {
  char operation[256];
  TF_Output tensor = {NULL, 0};
  if (sscanf(name, "%255[^:]:%d", operation, &tensor.index) == 2)
    tensor.oper = TF_GraphOperationByName(graph, operation);
  if (tensor.oper == NULL) fail(name, "the model has no such tensor");
  return tensor;
}

static TF_Tensor* batch_of_one(const char* text) {
  int64_t shape[] = {1};
  TF_Tensor* tensor =
      TF_AllocateTensor(TF_STRING, shape, 1, sizeof(TF_TString));
  TF_TString* string = TF_TensorData(tensor);
  TF_StringInit(string);
  TF_StringCopy(string, text, strlen(text));
  return tensor;
}

static void print_value(const TF_Tensor* tensor, int64_t i) {
  const void* data = TF_TensorData(tensor);
  const TF_TString* string;
  switch (TF_TensorType(tensor)) {
    case TF_STRING:
      string = (const TF_TString*)data + i;
      fwrite(TF_StringGetDataPointer(string), 1, TF_StringGetSize(string),
             stdout);
      break;
    case TF_FLOAT:
      printf("%.9g", ((const float*)data)[i]);
      break;
    case TF_INT32:
      printf("%d", ((const int*)data)[i]);
      break;
    case TF_BOOL:
      printf("%d", ((const unsigned char*)data)[i]);
      break;
    default:
      fail("an output", "it has a type that this program does not print");
  }
}

int main(int argc, char** argv) {
  if (argc < 2) fail(argv[0], "give the folder of an exported model");
  status = TF_NewStatus();

  // The libraries must be there before the graph that needs them.
  for (int i = 2; i < argc; ++i) {
    const char* dot = strrchr(argv[i], '.');
    if (strchr(argv[i], '=') || !dot || strcmp(dot, ".so") != 0) continue;
    TF_LoadLibrary(argv[i], status);
    check(argv[i]);
    argv[i] = NULL;
  }

  const char* tags[] = {"serve"};
  TF_Graph* graph = TF_NewGraph();
  TF_SessionOptions* options = TF_NewSessionOptions();
  TF_Session* session = TF_LoadSessionFromSavedModel(
      options, NULL, argv[1], tags, 1, graph, NULL, status);
  check(argv[1]);

  TF_Output inputs[MOST], outputs[MOST];
  TF_Tensor *texts[MOST], *answers[MOST];
  int num_inputs = 0, num_outputs = 0;
  for (int i = 2; i < argc; ++i) {
    if (argv[i] == NULL) continue;
    if (num_inputs == MOST || num_outputs == MOST)
      fail(argv[i], "too many inputs or outputs");
    char* equals = strchr(argv[i], '=');
    if (equals) {
      *equals = '\0';
      texts[num_inputs] = batch_of_one(equals + 1);
      inputs[num_inputs++] = find(graph, argv[i]);
    } else {
      outputs[num_outputs++] = find(graph, argv[i]);
    }
  }

  TF_SessionRun(session, NULL, inputs, texts, num_inputs, outputs, answers,
                num_outputs, NULL, 0, NULL, status);
  check("the model");

  for (int i = 0; i < num_outputs; ++i) {
    for (int64_t j = 0; j < TF_TensorElementCount(answers[i]); ++j) {
      if (j > 0) putchar('\t');
      print_value(answers[i], j);
    }
    putchar('\n');
    TF_DeleteTensor(answers[i]);
  }

  for (int i = 0; i < num_inputs; ++i) TF_DeleteTensor(texts[i]);
  TF_CloseSession(session, status);
  check("closing the session");
  TF_DeleteSession(session, status);
  check("deleting the session");
  TF_DeleteSessionOptions(options);
  TF_DeleteGraph(graph);
  TF_DeleteStatus(status);
}
