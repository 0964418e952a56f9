import type { Context } from '@mayfly/mayfly'
import { Readable } from 'node:stream'
import { toTexts } from '~/texts.ts'
import { GetObjectCommand, ListObjectsV2Command, PutObjectCommand, S3Client } from '@aws-sdk/client-s3'

export const inputs = [
  { json: { bucket: 'photos', key: 'größe/a b.txt', body: 'Grüße' } },
  { json: { bucket: 'photos', key: 'x', body: 'y'.repeat(2000) } },
  { path: '?connect=1' },
]

const OPTIONS = {
  region: 'eu-central-1',
  credentials: { accessKeyId: 'AKIA', secretAccessKey: 'secret' },
  maxAttempts: 1,
}

interface Sent {
  readonly method: string
  readonly hostname: string
  readonly path: string
  readonly query?: Record<string, unknown>
  readonly headers: Record<string, string>
}

/** Serialises and signs requests without sending them. */
export async function POST(ctx: Context) {
  const { bucket, key, body } = await ctx.get.json<Record<string, string>>()
  const sent: object[] = []
  const client = new S3Client({
    ...OPTIONS,
    requestHandler: {
      handle: (request: Sent) => {
        const { method, hostname, path, headers } = request
        const signed = headers.authorization.replace(/\d{8}|Signature=.*/g, '')
        sent.push({ method, hostname, path, query: request.query, type: headers['content-type'], signed })
        return Promise.resolve({ response: { statusCode: 200, headers: {}, body: Readable.from([]) } })
      },
    } as never,
  })
  await client.send(new PutObjectCommand({ Bucket: bucket, Key: key, Body: body, ContentType: 'text/plain' }))
  await client.send(new GetObjectCommand({ Bucket: bucket, Key: key, Range: 'bytes=0-9' }))
  await client.send(new ListObjectsV2Command({ Bucket: bucket, Prefix: 'größe/', MaxKeys: 5 }))
  return ctx.send.json(sent)
}

export async function GET(ctx: Context) {
  const client = new S3Client({ ...OPTIONS, endpoint: 'http://127.0.0.1:4', forcePathStyle: true })
  try {
    const { Body } = await client.send(new GetObjectCommand({ Bucket: 'photos', Key: 'x' }))
    return ctx.send.text(String(await Body?.transformToString()))
  } catch (error) {
    return ctx.send.json({ failed: toTexts(error) }, { status: 502 })
  }
}
