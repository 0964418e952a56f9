/** Server-sent events as a transform stream (deno-std http/server_sent_event_stream). */
export interface ServerSentEventMessage {
  comment?: string
  event?: string
  data?: string
  id?: string | number
  retry?: number
}
export class ServerSentEventStream extends TransformStream<ServerSentEventMessage, Uint8Array<ArrayBuffer>> {
  constructor()
}
