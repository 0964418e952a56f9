import { websocket } from '@mayfly/mayfly'

export const GET = websocket({
  onMessage: (socket, { data }) => socket.send(data),
  maxMessageBytes: 4096,
})
