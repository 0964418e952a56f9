// @ts-types="../types/http/server_sent_event_stream.d.ts"
export * from 'deno-std/http/server_sent_event_stream.js'
