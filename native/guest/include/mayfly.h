/*
 * mayfly.h: programs in C and C++ that answer requests in a machine of Mayfly. SPDX-License-Identifier: MIT
 *
 *     #include "mayfly.h"
 *
 *     int main(void) {
 *         mayfly_request request;
 *         while (mayfly_wait_for_request(&request)) mayfly_respond(200, "text/plain", "hello\n", 6);
 *     }
 *
 * The program starts once. Where it first waits for a request its snapshot is taken, and each request meets that snapshot. Frames come on
 * fd 0 and go out on fd 1, so nothing else may be written to standard output; standard error is the log. One file includes this header,
 * which needs the C library and nothing else. It is not for use by several threads at the same time.
 */
#ifndef MAYFLY_H
#define MAYFLY_H

#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/uio.h>
#include <unistd.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Bytes of a request. A NUL stands behind the last one. `data` is NULL for what is not there. */
typedef struct mayfly_text {
    const char *data;
    size_t length;
} mayfly_text;

/* A request. What it points to stays until the next one is waited for. */
typedef struct mayfly_request {
    mayfly_text method;
    mayfly_text url;  /* with scheme and host */
    mayfly_text path; /* percent-encoded, without dot segments */
    mayfly_text ip;   /* the client's address, where it is known */
    mayfly_text body;
    mayfly_text headers_json; /* an array of names and values in turn, until mayfly_header is called */
    mayfly_text extras_json;  /* parameters and what middleware left, until mayfly_param is called */
} mayfly_request;

/* Waits for a request. 1: it is there; 0: there will be none, and the program should end. What was not answered gets a 500. */
static int mayfly_wait_for_request(mayfly_request *request);

/* A header by its name in lower case; the first one of that name. */
static mayfly_text mayfly_header(const mayfly_request *request, const char *name);

/* A parameter of the route, decoded. */
static mayfly_text mayfly_param(const mayfly_request *request, const char *name);

/* A parameter of the query, decoded into `into`, whose last byte is for a NUL. Gives its length, cut to `size - 1`; -1: there is none. */
static long mayfly_query(const mayfly_request *request, const char *name, char *into, size_t size);

/* Whether a text is exactly this one. */
static int mayfly_is(mayfly_text text, const char *wanted);

/* Adds a header to the answer, before mayfly_respond. Its bytes are UTF-8. */
static void mayfly_set_header(const char *name, const char *value);

/*
 * Calls a function of the host, as `NAME` or `NAME.member`, and waits for what it gives; the machine is parked meanwhile. The arguments are
 * a JSON array, and behind them `length` bytes as the last one, unless `bytes` is NULL. What it gives is in `value`, with a NUL, until the
 * next call and at most until the next request is waited for.
 */
enum {
    MAYFLY_FAILED = 0,  /* `value` says why: what the function threw */
    MAYFLY_JSON = 1,    /* `value` is JSON; null for what has no JSON form */
    MAYFLY_BYTES = 2,   /* `value` is bytes */
    MAYFLY_UNHEARD = -1 /* The host hears nothing while a program is warmed up. */
};
static int mayfly_call(const char *function, const char *arguments, const void *bytes, size_t length, mayfly_text *value);

/*
 * The same with arguments by letters, as printf has them: s a text, i a long long, d a finite double, j JSON; and last b, bytes and their
 * size_t. mayfly_callf(&value, "DB.set", "sb", "key", data, length); mayfly_callf(&value, "DB.increment", "s", "visits");
 */
static int mayfly_callf(mayfly_text *value, const char *function, const char *letters, ...);

/* Answers. `type` is the content type; NULL: none. 0; -1: there is no request to answer, or it is over what an answer may be. */
static int mayfly_respond(int status, const char *type, const void *body, size_t length);

/* Answers with the host's error page of 500. The client does not see the message; the host's log does. */
static int mayfly_fail(const char *message);

/*
 * What is called once, behind the warm-up and before the snapshot that serves: for what the warm-up's requests left. A request of the
 * warm-up has the header x-mayfly-warmup.
 */
static void mayfly_before_snapshot(void (*hook)(void));

/* Fresh random bytes. Generators that the program seeded before the snapshot repeat themselves in every request; this one does not. */
static void mayfly_random(void *into, size_t length);

/* The rest is how. */

#define MAYFLY__HEAD 16
#define MAYFLY__HEADER_MAX (1u << 20)
#define MAYFLY__ANSWER_HEADER_MAX (1u << 18)
#define MAYFLY__BODY_MAX (1u << 30)
#define MAYFLY__BUFFER (1u << 16)
#define MAYFLY__TALK_HEAD (1u << 16)
#define MAYFLY__TALK_BODY (1u << 20)
#define MAYFLY__OUTBOX (1u << 18)

/* Bytes that grow; `data` is `first` until they are more than fit there. */
typedef struct mayfly__bytes {
    char *data;
    size_t length, capacity;
} mayfly__bytes;

/* Names and values in turn. */
typedef struct mayfly__pairs {
    mayfly_text *texts;
    size_t count, capacity;
    int read;
} mayfly__pairs;

static char mayfly__input_first[MAYFLY__BUFFER], mayfly__output_first[MAYFLY__BUFFER];
static mayfly__bytes mayfly__input = {mayfly__input_first, 0, MAYFLY__BUFFER};
static mayfly__bytes mayfly__output = {mayfly__output_first, 0, MAYFLY__BUFFER};
static mayfly__bytes mayfly__talk, mayfly__arguments; /* what is said to the host and heard of it; what a call is given */
static uint32_t mayfly__exchange;                     /* of the last call */
static size_t mayfly__taken; /* bytes of the input that are the last frame's */
static int mayfly__pending;  /* a request waits for its answer */
static int mayfly__begun;    /* headers were added to it */
static mayfly__pairs mayfly__headers, mayfly__params;
static void (*mayfly__hook)(void);

static void mayfly__end(const char *why) {
    fprintf(stderr, "mayfly.h: %s\n", why);
    _exit(1);
}

/* Makes room for so many bytes in all, and one more. */
static void mayfly__reserve(mayfly__bytes *bytes, size_t wanted) {
    size_t capacity = bytes->capacity;
    char *larger;
    if (wanted < capacity) return;
    if (capacity == 0) capacity = 4096;
    while (capacity <= wanted) capacity *= 2;
    larger = (char *)malloc(capacity);
    if (larger == NULL) mayfly__end("no memory for a frame");
    if (bytes->length > 0) memcpy(larger, bytes->data, bytes->length);
    if (bytes->data != mayfly__input_first && bytes->data != mayfly__output_first) free(bytes->data);
    bytes->data = larger;
    bytes->capacity = capacity;
}

static void mayfly__append(mayfly__bytes *bytes, const void *from, size_t length) {
    mayfly__reserve(bytes, bytes->length + length);
    if (length > 0) memcpy(bytes->data + bytes->length, from, length);
    bytes->length += length;
}

static void mayfly__append_text(mayfly__bytes *bytes, const char *text) { mayfly__append(bytes, text, strlen(text)); }

/* A text as JSON writes it. */
static void mayfly__append_json(mayfly__bytes *bytes, const char *text) {
    const unsigned char *at = (const unsigned char *)text;
    mayfly__append(bytes, "\"", 1);
    for (; *at != 0; at++) {
        char escaped[8];
        if (*at >= 0x20 && *at != '"' && *at != '\\') {
            mayfly__append(bytes, at, 1);
        } else {
            snprintf(escaped, sizeof escaped, "\\u%04x", *at);
            mayfly__append(bytes, escaped, 6);
        }
    }
    mayfly__append(bytes, "\"", 1);
}

static uint32_t mayfly__u32(const char *at) {
    const unsigned char *b = (const unsigned char *)at;
    return b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

static void mayfly__put_u32(char *at, uint32_t value) {
    int i;
    for (i = 0; i < 4; i++) at[i] = (char)(value >> 8 * i);
}

/* Reads until so many bytes are there; 0 at the end of the input. */
static int mayfly__read(size_t wanted) {
    mayfly__reserve(&mayfly__input, wanted);
    while (mayfly__input.length < wanted) {
        ssize_t n = read(0, mayfly__input.data + mayfly__input.length, mayfly__input.capacity - 1 - mayfly__input.length);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) mayfly__end("fd 0 cannot be read");
        if (n == 0) return 0;
        mayfly__input.length += (size_t)n;
    }
    return 1;
}

static void mayfly__write(const void *first, size_t first_length, const void *second, size_t second_length) {
    struct iovec parts[2];
    parts[0].iov_base = (void *)first;
    parts[0].iov_len = first_length;
    parts[1].iov_base = (void *)second;
    parts[1].iov_len = second_length;
    while (parts[0].iov_len + parts[1].iov_len > 0) {
        ssize_t n = writev(1, parts, 2);
        size_t i, left;
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) mayfly__end("fd 1 cannot be written to");
        for (i = 0, left = (size_t)n; i < 2; i++) {
            size_t part = left < parts[i].iov_len ? left : parts[i].iov_len;
            parts[i].iov_base = (char *)parts[i].iov_base + part;
            parts[i].iov_len -= part;
            left -= part;
        }
    }
}

/* Sends the header that lies in the output behind the head's place, and a body. */
static int mayfly__send(const void *body, size_t length) {
    static const char start[8] = {'M', 'A', 'Y', 'F', 1, 2, 0, 0};
    mayfly__bytes *out = &mayfly__output;
    size_t header = out->length - MAYFLY__HEAD;
    if (header > MAYFLY__ANSWER_HEADER_MAX || length > MAYFLY__BODY_MAX) return -1;
    memcpy(out->data, start, sizeof start);
    mayfly__put_u32(out->data + 8, (uint32_t)header);
    mayfly__put_u32(out->data + 12, (uint32_t)length);
    mayfly__pending = mayfly__begun = 0;
    if (length < 4096) {
        mayfly__append(out, body, length);
        mayfly__write(out->data, out->length, NULL, 0);
    } else {
        mayfly__write(out->data, out->length, body, length);
    }
    return 0;
}

static void mayfly__begin(void) { mayfly__output.length = MAYFLY__HEAD; }

static int mayfly__send_header(const char *json) {
    mayfly__begin();
    mayfly__append_text(&mayfly__output, json);
    return mayfly__send("", 0);
}

static int mayfly__is_at(const char *at, const char *end, const char *wanted) {
    size_t length = strlen(wanted);
    return (size_t)(end - at) >= length && memcmp(at, wanted, length) == 0;
}

/* What is asked of the program itself. */
static void mayfly__control(const char *json, const char *end) {
    static const char key[] = "{\"control\":\"";
    const char *name = json + sizeof key - 1;
    if (!mayfly__is_at(json, end, key)) mayfly__end("a frame for the program that says nothing known");
    if (mayfly__is_at(name, end, "load\"")) return; /* The program is there already: it waits for what comes next. */
    if (mayfly__is_at(name, end, "describe\"")) {
        mayfly__send_header("{\"handlers\":[]}");
    } else if (mayfly__is_at(name, end, "before-snapshot\"")) {
        if (mayfly__hook != NULL) mayfly__hook();
        mayfly__send_header("{}");
    } else {
        mayfly__send_header("{}");
    }
}

/* A field up to `stop`, which a NUL takes the place of. */
static mayfly_text mayfly__field(char **at, char *end, char stop) {
    mayfly_text field;
    char *found = (char *)memchr(*at, stop, (size_t)(end - *at));
    if (found == NULL) mayfly__end("a request whose header is cut");
    *found = 0;
    field.data = *at;
    field.length = (size_t)(found - *at);
    *at = found + 1;
    return field;
}

static void mayfly__parse(mayfly_request *request, char *header, size_t header_length, size_t body_length) {
    char *at = header, *end = header + header_length;
    mayfly__field(&at, end, '\t'); /* the handler: there is one */
    request->method = mayfly__field(&at, end, '\t');
    request->url = mayfly__field(&at, end, '\t');
    request->path = mayfly__field(&at, end, '\t');
    request->ip = mayfly__field(&at, end, '\t');
    mayfly__field(&at, end, '\t'); /* the peer */
    request->extras_json = mayfly__field(&at, end, '\n');
    request->headers_json = mayfly__field(&at, end, '\n');
    request->body.data = end;
    request->body.length = body_length;
    end[body_length] = 0;
    mayfly__headers.read = mayfly__params.read = 0;
    mayfly__headers.count = mayfly__params.count = 0;
}

static int mayfly_wait_for_request(mayfly_request *request) {
    mayfly__bytes *in = &mayfly__input;
    if (mayfly__pending) mayfly_fail("the program took its next request without an answer to this one");
    for (;;) {
        uint32_t header, body;
        size_t whole;
        char kind;
        memmove(in->data, in->data + mayfly__taken, in->length - mayfly__taken);
        in->length -= mayfly__taken;
        mayfly__taken = 0;
        if (!mayfly__read(MAYFLY__HEAD)) return 0;
        kind = in->data[5];
        header = mayfly__u32(in->data + 8);
        body = mayfly__u32(in->data + 12);
        if (memcmp(in->data, "MAYF\1", 5) != 0 || header > MAYFLY__HEADER_MAX || body > MAYFLY__BODY_MAX)
            mayfly__end("a frame of another version");
        whole = MAYFLY__HEAD + (size_t)header + body;
        if (!mayfly__read(whole)) return 0;
        mayfly__taken = whole;
        if (kind != 1) continue; /* What the host says to a request that is over. */
        if (header > 0 && in->data[MAYFLY__HEAD] == '{') {
            mayfly__control(in->data + MAYFLY__HEAD, in->data + MAYFLY__HEAD + header);
            continue;
        }
        /* The NUL behind the body must not overwrite a frame that follows; the host sends none before the answer. */
        mayfly__parse(request, in->data + MAYFLY__HEAD, header, body);
        mayfly__pending = 1;
        return 1;
    }
}

static unsigned mayfly__hex(const char *at) {
    unsigned value = 0;
    int i;
    for (i = 0; i < 4; i++) {
        char c = at[i];
        value = value << 4 | (unsigned)(c <= '9' ? c - '0' : (c | 32) - 'a' + 10);
    }
    return value & 0xffff;
}

static char *mayfly__put_utf8(char *to, unsigned c) {
    if (c < 0x80) {
        *to++ = (char)c;
    } else if (c < 0x800) {
        *to++ = (char)(0xc0 | c >> 6);
        *to++ = (char)(0x80 | (c & 63));
    } else if (c < 0x10000) {
        *to++ = (char)(0xe0 | c >> 12);
        *to++ = (char)(0x80 | (c >> 6 & 63));
        *to++ = (char)(0x80 | (c & 63));
    } else {
        *to++ = (char)(0xf0 | c >> 18);
        *to++ = (char)(0x80 | (c >> 12 & 63));
        *to++ = (char)(0x80 | (c >> 6 & 63));
        *to++ = (char)(0x80 | (c & 63));
    }
    return to;
}

/* Reads a JSON text in place, behind its first quote; gives what stands behind its last one. The host writes sound JSON. */
static char *mayfly__unescape(char *at, char *end, mayfly_text *text) {
    char *to = at;
    text->data = at;
    while (at < end && *at != '"') {
        unsigned c;
        if (*at != '\\') {
            *to++ = *at++;
            continue;
        }
        if (end - at < 2) break;
        at += 2;
        switch (at[-1]) {
        case 'n': *to++ = '\n'; break;
        case 't': *to++ = '\t'; break;
        case 'r': *to++ = '\r'; break;
        case 'b': *to++ = '\b'; break;
        case 'f': *to++ = '\f'; break;
        case 'u':
            if (end - at < 4) mayfly__end("JSON that is cut");
            c = mayfly__hex(at);
            at += 4;
            if ((c & 0xfc00) == 0xd800 && end - at >= 6 && at[0] == '\\' && at[1] == 'u') {
                c = 0x10000 + ((c & 0x3ff) << 10 | (mayfly__hex(at + 2) & 0x3ff));
                at += 6;
            }
            to = mayfly__put_utf8(to, c);
            break;
        default: *to++ = at[-1];
        }
    }
    if (at >= end) mayfly__end("JSON that is cut");
    *to = 0;
    text->length = (size_t)(to - text->data);
    return at + 1;
}

/* Reads the texts of an array, or names and values of an object, whose first byte `at` stands behind. */
static void mayfly__read_pairs(mayfly__pairs *pairs, char *at, char *end, char last) {
    while (at < end && *at != last) {
        if (*at++ != '"') continue;
        if (pairs->count == pairs->capacity) {
            size_t capacity = pairs->capacity == 0 ? 64 : pairs->capacity * 2;
            mayfly_text *larger = (mayfly_text *)realloc(pairs->texts, capacity * sizeof *larger);
            if (larger == NULL) mayfly__end("no memory for headers");
            pairs->texts = larger;
            pairs->capacity = capacity;
        }
        at = mayfly__unescape(at, end, &pairs->texts[pairs->count++]);
    }
}

static mayfly_text mayfly__find(const mayfly__pairs *pairs, const char *name) {
    mayfly_text none = {NULL, 0};
    size_t i;
    for (i = 0; i + 1 < pairs->count; i += 2) {
        if (mayfly_is(pairs->texts[i], name)) return pairs->texts[i + 1];
    }
    return none;
}

static mayfly_text mayfly_header(const mayfly_request *request, const char *name) {
    if (!mayfly__headers.read) {
        char *json = (char *)request->headers_json.data;
        mayfly__headers.read = 1;
        mayfly__read_pairs(&mayfly__headers, json + 1, json + request->headers_json.length, ']');
    }
    return mayfly__find(&mayfly__headers, name);
}

static mayfly_text mayfly_param(const mayfly_request *request, const char *name) {
    if (!mayfly__params.read) {
        char *json = (char *)request->extras_json.data;
        mayfly__params.read = 1;
        if (request->extras_json.length > 2 && json[1] == '{')
            mayfly__read_pairs(&mayfly__params, json + 2, json + request->extras_json.length, '}');
    }
    return mayfly__find(&mayfly__params, name);
}

static int mayfly__digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    c = (char)(c | 32);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The next byte of a query, decoded. */
static char mayfly__decoded(const char **at, const char *end) {
    const char *from = *at;
    if (*from == '%' && end - from > 2 && mayfly__digit(from[1]) >= 0 && mayfly__digit(from[2]) >= 0) {
        *at = from + 3;
        return (char)(mayfly__digit(from[1]) << 4 | mayfly__digit(from[2]));
    }
    *at = from + 1;
    return (char)(*from == '+' ? ' ' : *from);
}

static long mayfly_query(const mayfly_request *request, const char *name, char *into, size_t size) {
    const char *at = (const char *)memchr(request->url.data, '?', request->url.length);
    const char *end = request->url.data + request->url.length;
    size_t length = strlen(name);
    if (size == 0) return -1;
    while (at != NULL && ++at <= end) {
        const char *next = (const char *)memchr(at, '&', (size_t)(end - at));
        const char *stop = next == NULL ? end : next;
        size_t same = 0;
        while (at < stop && *at != '=' && same < length && mayfly__decoded(&at, stop) == name[same]) same++;
        if (same == length && (at == stop || *at == '=')) {
            size_t found = 0;
            if (at < stop) at++;
            while (at < stop && found < size - 1) into[found++] = mayfly__decoded(&at, stop);
            into[found] = 0;
            return (long)found;
        }
        at = next;
    }
    return -1;
}

static int mayfly_is(mayfly_text text, const char *wanted) {
    return text.data != NULL && text.length == strlen(wanted) && memcmp(text.data, wanted, text.length) == 0;
}

static void mayfly__begin_headers(void) {
    if (mayfly__begun) return;
    mayfly__begun = 1;
    mayfly__begin();
    /* The status is known later, and has three digits. */
    mayfly__append_text(&mayfly__output, "{\"status\":000,\"headers\":[");
}

static void mayfly_set_header(const char *name, const char *value) {
    if (!mayfly__pending) return;
    mayfly__begin_headers();
    if (mayfly__output.data[mayfly__output.length - 1] == ']') mayfly__append(&mayfly__output, ",", 1);
    mayfly__append(&mayfly__output, "[", 1);
    mayfly__append_json(&mayfly__output, name);
    mayfly__append(&mayfly__output, ",", 1);
    mayfly__append_json(&mayfly__output, value);
    mayfly__append(&mayfly__output, "]", 1);
}

static int mayfly_respond(int status, const char *type, const void *body, size_t length) {
    char digits[16];
    if (!mayfly__pending || status < 200 || status > 599) return -1;
    mayfly__begin_headers();
    if (type != NULL) mayfly_set_header("content-type", type);
    snprintf(digits, sizeof digits, "%d", status);
    memcpy(mayfly__output.data + MAYFLY__HEAD + 10, digits, 3);
    mayfly__append_text(&mayfly__output, "]}");
    return mayfly__send(length == 0 ? "" : body, length);
}

static int mayfly_fail(const char *message) {
    if (!mayfly__pending) return -1;
    mayfly__begin();
    mayfly__append_text(&mayfly__output, "{\"error\":{\"name\":\"Error\",\"message\":");
    mayfly__append_json(&mayfly__output, message);
    mayfly__append_text(&mayfly__output, "}}");
    return mayfly__send("", 0);
}

/* A head; its bytes are those of a frame of this kind. */
static void mayfly__put_head(char *at, char kind, size_t header, size_t body) {
    static const char start[8] = {'M', 'A', 'Y', 'F', 1, 0, 0, 0};
    memcpy(at, start, sizeof start);
    at[5] = kind;
    mayfly__put_u32(at + 8, (uint32_t)header);
    mayfly__put_u32(at + 12, (uint32_t)body);
}

/* Reads a message behind `taken` bytes of `mayfly__talk`, whose front says what is to be said before the first read waits; its length. */
static size_t mayfly__hear(size_t taken) {
    mayfly__bytes *talk = &mayfly__talk;
    size_t wanted = MAYFLY__HEAD + 4;
    memmove(talk->data, talk->data + taken, talk->length - taken);
    talk->length -= taken;
    for (;;) {
        ssize_t n;
        if (talk->length >= MAYFLY__HEAD + 4) {
            uint32_t header = mayfly__u32(talk->data + 8), body = mayfly__u32(talk->data + 12);
            if (memcmp(talk->data, "MAYF\1\3", 6) != 0 || header < 4 || header > 4 + MAYFLY__TALK_HEAD || body > MAYFLY__TALK_BODY)
                mayfly__end("a message of another version");
            wanted = MAYFLY__HEAD + (size_t)header + body;
            if (talk->length >= wanted) return wanted;
            mayfly__reserve(talk, wanted);
        }
        n = read(0, talk->data + talk->length, talk->capacity - 1 - talk->length);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) mayfly__end("the host said nothing");
        talk->length += (size_t)n;
    }
}

static int mayfly__says(mayfly_text *value, const char *why) {
    value->data = why;
    value->length = strlen(why);
    return MAYFLY_FAILED;
}

/* Says the call that lies in `mayfly__talk`, and hears until its answer is there. */
static int mayfly__ask(mayfly_text *value) {
    mayfly__bytes *talk = &mayfly__talk;
    size_t taken = 0;
    /* A read says what its buffer begins with. */
    talk->length = 0;
    for (;;) {
        size_t header;
        uint32_t exchange;
        char *head;
        taken = mayfly__hear(taken);
        header = mayfly__u32(talk->data + 8);
        exchange = mayfly__u32(talk->data + MAYFLY__HEAD);
        head = talk->data + MAYFLY__HEAD + 4;
        value->data = talk->data + MAYFLY__HEAD + header;
        value->length = taken - MAYFLY__HEAD - header;
        if (exchange == 0) {
            mayfly__says(value, "the host hears nothing while a program is warmed up");
            return MAYFLY_UNHEARD;
        }
        if (exchange != mayfly__exchange) continue;
        /* Nothing follows: the host says nothing unasked. */
        talk->data[taken] = 0;
        if (mayfly__is_at(head, value->data, "[\"value\"]")) return MAYFLY_JSON;
        if (mayfly__is_at(head, value->data, "[\"bytes\"]")) return MAYFLY_BYTES;
        return MAYFLY_FAILED;
    }
}

static int mayfly_call(const char *function, const char *arguments, const void *bytes, size_t length, mayfly_text *value) {
    mayfly__bytes *talk = &mayfly__talk;
    const char *dot = strchr(function, '.');
    size_t json = strlen(arguments), header;
    char name[256], count[32];
    int named = dot == NULL ? 0 : (int)(dot - function);
    if (!mayfly__pending) return mayfly__says(value, "there is no request to call the host for");
    if (bytes == NULL) length = 0;
    if (strlen(function) >= sizeof name || json > MAYFLY__TALK_BODY || length > MAYFLY__TALK_BODY - json)
        return mayfly__says(value, "the arguments are over 1 MiB");
    talk->length = 0;
    mayfly__reserve(talk, 2 * MAYFLY__HEAD + 4);
    talk->length = 2 * MAYFLY__HEAD + 4;
    mayfly__append_text(talk, "[\"call\",");
    if (dot == NULL) {
        mayfly__append_json(talk, function);
        mayfly__append_text(talk, ",null");
    } else {
        memcpy(name, function, (size_t)named);
        name[named] = 0;
        mayfly__append_json(talk, name);
        mayfly__append(talk, ",", 1);
        mayfly__append_json(talk, dot + 1);
    }
    snprintf(count, sizeof count, ",%lu%s]", (unsigned long)json, bytes == NULL ? "" : ",\"bytes\"");
    mayfly__append_text(talk, count);
    header = talk->length - 2 * MAYFLY__HEAD;
    mayfly__append(talk, arguments, json);
    mayfly__append(talk, bytes, length);
    mayfly__exchange = (mayfly__exchange + 1) | 1; /* the program's own numbers are odd */
    mayfly__put_head(talk->data, 4, 0, talk->length - MAYFLY__HEAD);
    mayfly__put_head(talk->data + MAYFLY__HEAD, 3, header, json + length);
    mayfly__put_u32(talk->data + 2 * MAYFLY__HEAD, mayfly__exchange);
    if (talk->length > MAYFLY__OUTBOX) {
        mayfly__write(talk->data + MAYFLY__HEAD, talk->length - MAYFLY__HEAD, NULL, 0);
        talk->data[0] = 0; /* The read says nothing. */
    }
    return mayfly__ask(value);
}

static int mayfly_callf(mayfly_text *value, const char *function, const char *letters, ...) {
    mayfly__bytes *json = &mayfly__arguments;
    const void *bytes = NULL;
    size_t length = 0;
    char number[40];
    va_list given;
    va_start(given, letters);
    json->length = 0;
    mayfly__append(json, "[", 1);
    for (; *letters != 0; letters++) {
        if (json->length > 1 && *letters != 'b') mayfly__append(json, ",", 1);
        switch (*letters) {
        case 's': mayfly__append_json(json, va_arg(given, const char *)); break;
        case 'j': mayfly__append_text(json, va_arg(given, const char *)); break;
        case 'i':
            snprintf(number, sizeof number, "%lld", va_arg(given, long long));
            mayfly__append_text(json, number);
            break;
        case 'd':
            snprintf(number, sizeof number, "%.17g", va_arg(given, double));
            mayfly__append_text(json, number);
            break;
        case 'b':
            bytes = va_arg(given, const void *);
            length = va_arg(given, size_t);
            /* None of it is an argument too. */
            if (bytes == NULL) bytes = "";
            break;
        default: mayfly__end("a letter of mayfly_callf that is none of s, i, d, j and b");
        }
    }
    va_end(given);
    mayfly__append(json, "]", 2);
    return mayfly_call(function, json->data, bytes, length, value);
}

static void mayfly_before_snapshot(void (*hook)(void)) { mayfly__hook = hook; }

static void mayfly_random(void *into, size_t length) {
    char *at = (char *)into;
    while (length > 0) {
        ssize_t n = getrandom(at, length, 0);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) mayfly__end("there are no random bytes");
        at += n;
        length -= (size_t)n;
    }
}

/* A file that leaves some of it out is not warned. */
static inline void mayfly__unused(void) {
    (void)mayfly_wait_for_request, (void)mayfly_header, (void)mayfly_param, (void)mayfly_query;
    (void)mayfly_callf, (void)mayfly_set_header, (void)mayfly_respond, (void)mayfly_before_snapshot, (void)mayfly_random;
}

#ifdef __cplusplus
}
#endif

#endif
