/* A resource manager of one's own around the engine, in C: nodes, an application, events, a change, a gang,
   opportunistic containers, the end. */
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "capsched.h"

#define TEXT(literal) ((capsched_text){literal, sizeof(literal) - 1})
#define NODES 10
#define CONTAINERS 25
#define ROOM 8

static const char QUEUES[] =
    "<configuration>"
    "<property><name>yarn.scheduler.capacity.root.queues</name><value>prod,dev</value></property>"
    "<property><name>yarn.scheduler.capacity.root.prod.capacity</name><value>70</value></property>"
    "<property><name>yarn.scheduler.capacity.root.dev.capacity</name><value>30</value></property>"
    "<property><name>yarn.scheduler.capacity.root.dev.user-limit-factor</name><value>10</value></property>"
    "</configuration>";

static const char SITE[] =
    "<configuration>"
    "<property><name>yarn.resourcemanager.opportunistic-container-allocation.enabled</name><value>true</value></property>"
    "</configuration>";

/* Prints what went wrong in a call; 1 if something did. */
static int failed(const char *call, int32_t code) {
  char text[512];
  size_t length = 0;
  if (code == CAPSCHED_OK) {
    return 0;
  }
  if (capsched_last_error(text, sizeof text, &length) != CAPSCHED_OK) {
    length = 0;
  }
  fprintf(stderr, "%s: %d: %.*s\n", call, (int)code, (int)length, text);
  return 1;
}

static int start(uint64_t *engine) {
  capsched_source sources[2] = {
      {
          .size = sizeof sources[0],
          .layer = CAPSCHED_LAYER_SCHEDULER,
          .name = TEXT("capacity-scheduler.xml"),
          .bytes = TEXT(QUEUES),
      },
      {
          .size = sizeof sources[1],
          .layer = CAPSCHED_LAYER_SITE,
          .name = TEXT("yarn-site.xml"),
          .bytes = TEXT(SITE),
      },
  };
  capsched_options options = {
      .size = sizeof options,
      .mode = CAPSCHED_MODE_GLOBAL,
      .threads = 1,
      .hand_out = CAPSCHED_HAND_OUT_EVENT,
      .sources = sources,
      .source_count = 2,
  };
  return failed("start", capsched_engine_start(&options, engine));
}

static int add_nodes(uint64_t engine) {
  for (int i = 0; i < NODES; i++) {
    char name[32];
    uint32_t number = 0;
    int length = snprintf(name, sizeof name, "n%d:8041", i);
    capsched_node node = {
        .size = sizeof node,
        .name = {name, (size_t)length},
        .total = {65536, 32},
    };
    if (failed("add a node", capsched_node_add(engine, &node, &number))) {
      return 1;
    }
  }
  return 0;
}

static int submit_and_ask(uint64_t engine) {
  capsched_app app = {
      .size = sizeof app,
      .app = 1,
      .user = TEXT("ann"),
      .queue = TEXT("root.dev"),
  };
  capsched_submitted submitted = {.size = sizeof submitted};
  if (failed("submit", capsched_submit(engine, &app, &submitted))) {
    return 1;
  }
  capsched_ask ask = {
      .size = sizeof ask,
      .priority = 1,
      .count = CONTAINERS,
      .place = TEXT("*"),
      .amounts = {4096, 1},
  };
  capsched_call call = {.size = sizeof call, .app = 1, .asks = &ask, .ask_count = 1};
  capsched_answer answer = {.size = sizeof answer};
  capsched_buffer none = {.size = sizeof none, .record_size = sizeof(capsched_record)};
  if (failed("ask", capsched_asks(engine, &call, 1, &answer, &none))) {
    return 1;
  }
  return failed("the answer", answer.code);
}

/* Waits by the descriptor, as an event loop does, and takes events until all containers are placed. */
static int wait_for_containers(uint64_t engine, int *placed) {
  capsched_record records[ROOM];
  capsched_buffer buffer = {
      .size = sizeof buffer,
      .record_size = sizeof records[0],
      .records = records,
      .capacity = ROOM,
  };
  struct pollfd wake = {.events = POLLIN};
  if (failed("the descriptor", capsched_wake_fd(engine, &wake.fd))) {
    return 1;
  }
  while (*placed < CONTAINERS) {
    if (poll(&wake, 1, 60000) <= 0) {
      fprintf(stderr, "no event in a minute\n");
      return 1;
    }
    do {
      if (failed("events", capsched_events(engine, 0, &buffer))) {
        return 1;
      }
      for (size_t i = 0; i < buffer.written; i++) {
        *placed += records[i].kind == CAPSCHED_ALLOCATED;
      }
    } while (buffer.written > 0);
  }
  return 0;
}

/* Takes events until the gang is placed. */
static int wait_for_gang(uint64_t engine, uint32_t *members) {
  capsched_record records[ROOM];
  capsched_buffer buffer = {
      .size = sizeof buffer,
      .record_size = sizeof records[0],
      .records = records,
      .capacity = ROOM,
  };
  while (*members == 0) {
    if (failed("events", capsched_events(engine, 60000, &buffer))) {
      return 1;
    }
    if (buffer.written == 0) {
      fprintf(stderr, "no event in a minute\n");
      return 1;
    }
    for (size_t i = 0; i < buffer.written; i++) {
      if (records[i].kind == CAPSCHED_GANG_PLACED) {
        *members = records[i].members;
      }
    }
  }
  return 0;
}

/* A container gives half of its memory back at once, and four workers are placed together. */
static int shrink_and_ask_for_a_gang(uint64_t engine, int64_t *memory, uint32_t *members) {
  capsched_update update = {
      .size = sizeof update,
      .container = 1,
      .change = CAPSCHED_UPDATE_DECREASE,
      .amounts = {2048, 1},
  };
  capsched_gang gang = {
      .size = sizeof gang,
      .priority = 2,
      .minimum = 4,
      .within_ms = 60000,
      .close = CAPSCHED_CLOSE_RACK,
      .amounts = {8192, 2},
  };
  capsched_call call = {.size = sizeof call, .app = 1, .updates = &update, .update_count = 1};
  capsched_answer answer = {.size = sizeof answer};
  capsched_record records[ROOM];
  capsched_buffer buffer = {
      .size = sizeof buffer,
      .record_size = sizeof records[0],
      .records = records,
      .capacity = ROOM,
  };
  if (failed("change", capsched_asks(engine, &call, 1, &answer, &buffer)) ||
      failed("the answer", answer.code)) {
    return 1;
  }
  for (size_t i = 0; i < buffer.written; i++) {
    if (records[i].kind == CAPSCHED_CHANGED) {
      *memory = records[i].amounts[0];
    }
  }
  return failed("the gang", capsched_ask_gang(engine, 1, &gang)) || wait_for_gang(engine, members);
}

/* Containers in the room that others leave: no queue is charged with them. */
static int ask_for_opportunistic_ones(uint64_t engine, int *started) {
  capsched_ask ask = {
      .size = sizeof ask,
      .priority = 3,
      .count = 3,
      .place = TEXT("*"),
      .amounts = {1024, 1},
  };
  capsched_record records[ROOM];
  capsched_buffer buffer = {
      .size = sizeof buffer,
      .record_size = sizeof records[0],
      .records = records,
      .capacity = ROOM,
  };
  if (failed("the opportunistic ones", capsched_ask_opportunistic(engine, 1, &ask, 1))) {
    return 1;
  }
  while (*started < 3) {
    if (failed("events", capsched_events(engine, 60000, &buffer))) {
      return 1;
    }
    if (buffer.written == 0) {
      fprintf(stderr, "no event in a minute\n");
      return 1;
    }
    for (size_t i = 0; i < buffer.written; i++) {
      *started += records[i].kind == CAPSCHED_OPPORTUNISTIC_STARTED;
    }
  }
  return 0;
}

int main(void) {
  uint64_t engine = 0;
  int placed = 0;
  int started = 0;
  int64_t memory = 0;
  uint32_t members = 0;
  char name[64];
  size_t length = 0;
  if (start(&engine) || add_nodes(engine) || submit_and_ask(engine) ||
      wait_for_containers(engine, &placed) ||
      shrink_and_ask_for_a_gang(engine, &memory, &members) ||
      ask_for_opportunistic_ones(engine, &started)) {
    return 1;
  }
  /* A number stands for a name as long as the engine lives. */
  if (failed("the name", capsched_node_name(engine, 1, name, sizeof name, &length))) {
    return 1;
  }
  printf("%d placed, the first node is %.*s\n", placed, (int)length, name);
  printf("container 1 has %d MiB now, and a gang of %u is placed\n", (int)memory, (unsigned)members);
  printf("%d opportunistic ones have room\n", started);
  /* What is wrong is a code with a text. */
  if (capsched_app_finish(engine, 77) != CAPSCHED_ERR_UNKNOWN ||
      failed("finish", capsched_app_finish(engine, 1)) ||
      failed("stop", capsched_engine_stop(engine))) {
    return 1;
  }
  return capsched_engine_stop(engine) == CAPSCHED_ERR_HANDLE ? 0 : 1;
}
