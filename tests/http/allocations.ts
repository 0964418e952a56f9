import { Session } from 'node:inspector'

interface ProfileNode {
  callFrame: { url: string }
  selfSize: number
  children: ProfileNode[]
}

/** Bytes by the URL of the source that allocated them, garbage included. */
export type Allocations = ReadonlyMap<string, number>

/**
 * Counts every allocation of V8 while `run` runs, by source file: the sampling profiler with an interval of one byte
 * leaves none out.
 */
export async function countAllocations(run: () => Promise<void>): Promise<Allocations> {
  const session = new Session()
  session.connect()
  try {
    await post(session, 'HeapProfiler.enable')
    await post(session, 'HeapProfiler.startSampling', {
      samplingInterval: 1,
      includeObjectsCollectedByMajorGC: true,
      includeObjectsCollectedByMinorGC: true,
    })
    await run()
    const { profile } = await post(session, 'HeapProfiler.stopSampling') as { profile: { head: ProfileNode } }
    const bytes = new Map<string, number>()
    addNode(profile.head, bytes)
    return bytes
  } finally {
    session.disconnect()
  }
}

/** Bytes that the files whose URL ends with one of `names` allocated. */
export function bytesOf(allocations: Allocations, ...names: string[]): number {
  let sum = 0
  for (const [url, bytes] of allocations) {
    if (names.some((name) => url.endsWith(name))) sum += bytes
  }
  return sum
}

function addNode({ callFrame: { url }, selfSize, children }: ProfileNode, bytes: Map<string, number>): void {
  bytes.set(url, (bytes.get(url) ?? 0) + selfSize)
  for (const child of children) addNode(child, bytes)
}

function post(session: Session, method: string, params: object = {}): Promise<unknown> {
  return new Promise((resolve, reject) => {
    session.post(method, params, (error: Error | null, result?: object) => {
      if (error === null) resolve(result)
      else reject(error)
    })
  })
}
