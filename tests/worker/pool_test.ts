import { assert, assertEquals, assertRejects, assertThrows } from '@std/assert'
import { HttpError } from '../../src/errors/http_error.ts'
import { createPool, type WorkerPool } from '../../src/worker/pool.ts'
import type { WorkerIncident, WorkerPoolOptions } from '../../src/worker/types.ts'

interface Watched {
  pool: WorkerPool
  incidents: [kind: string, incident: WorkerIncident][]
  seen(kind: string, count?: number): Promise<void>
}

function open(script: string, options: Partial<WorkerPoolOptions> = {}): Watched {
  const incidents: Watched['incidents'] = []
  const waiters = new Set<() => void>()
  const hook = (kind: string) => (incident: WorkerIncident) => {
    incidents.push([kind, incident])
    for (const waiter of waiters) waiter()
  }
  const pool = createPool(
    { scriptURL: new URL(`./scripts/${script}.ts`, import.meta.url), poolSize: 1, ...options },
    { timeout: hook('timeout'), crash: hook('crash'), respawn: hook('respawn'), rejected: hook('rejected') },
  )
  const seen = (kind: string, count = 1) =>
    new Promise<void>((resolve) => {
      const check = () => {
        if (incidents.filter(([name]) => name === kind).length < count) return
        waiters.delete(check)
        resolve()
      }
      waiters.add(check)
      check()
    })
  return { pool, incidents, seen }
}

async function rejectsWith(promise: Promise<unknown>, status: number): Promise<HttpError> {
  const error = await assertRejects(() => promise, HttpError)
  assertEquals(error.status, status)
  return error
}

/** Runs `body` with a pool that is closed whatever happens. */
async function using(watched: Watched, body: (watched: Watched) => Promise<void>): Promise<void> {
  try {
    await body(watched)
  } finally {
    watched.pool.close()
  }
}

Deno.test('createPool refuses a bad option and names it', () => {
  const bad: [Record<string, unknown>, string][] = [
    [{ scriptURL: undefined }, 'scriptURL is undefined'],
    [{ scriptURL: '' }, 'scriptURL is ""'],
    [{ scriptURL: 'a.ts', poolsize: 4 }, 'poolsize is no option, did you mean poolSize'],
    [{ scriptURL: 'a.ts', poolSize: 1025 }, 'poolSize is 1025'],
    [{ scriptURL: 'a.ts', poolSize: 0 }, 'poolSize is 0'],
    [{ scriptURL: 'a.ts', poolSize: 1.5 }, 'poolSize is 1.5'],
    [{ scriptURL: 'a.ts', poolSize: '4' }, 'poolSize is "4"'],
    [{ scriptURL: 'a.ts', taskTimeoutMs: -1 }, 'taskTimeoutMs is -1'],
    [{ scriptURL: 'a.ts', taskTimeoutMs: 2 ** 31 }, 'taskTimeoutMs is 2147483648'],
    [{ scriptURL: 'a.ts', maxQueueDepth: NaN }, 'maxQueueDepth is NaN'],
  ]
  for (const [options, message] of bad) {
    const error = assertThrows(() => createPool(options as never))
    assert(error instanceof TypeError || error instanceof RangeError)
    assert(error.message.includes(message), error.message)
  }
})

Deno.test('createPool starts nothing before the first task', () => {
  const { pool } = open('plain', { poolSize: 3 })
  assertEquals(pool.stats().workers, [])
  pool.close()
})

Deno.test('run gives what a plain script posts', () =>
  using(open('plain'), async ({ pool }) => {
    for (
      const value of [1, 'two', null, undefined, { three: 3 }, [4], new Date(5), new Map([[6, { seven: 8 }]])]
    ) {
      assertEquals(await pool.run({ act: 'echo', value }), value)
    }
  }))

Deno.test('run gives what a script with addEventListener posts', () =>
  using(open('listener'), async ({ pool }) => assertEquals(await pool.run('a'), ['a', 'a'])))

Deno.test('run takes the script as a path, too', () =>
  using(
    { ...open('plain'), pool: createPool({ scriptURL: 'tests/worker/scripts/sync.ts', poolSize: 1 }) },
    async ({ pool }) => assertEquals(await pool.run(4), { value: 8 }),
  ))

Deno.test('run answers each task with its own result under load, in order', () =>
  using(open('sync', { poolSize: 2, maxQueueDepth: 10_000 }), async ({ pool }) => {
    const order: number[] = []
    const answers = await Promise.all(
      Array.from({ length: 5000 }, (_, i) =>
        pool.run<{ value: number }>(i % 7 === 3 ? -i : i).then(
          ({ value }) => value,
          (error) => error instanceof RangeError ? error.message : String(error),
        ).finally(() => order.push(i))),
    )
    for (let i = 0; i < answers.length; i++) {
      assertEquals(answers[i], i % 7 === 3 ? `negative: ${-i}` : 2 * i)
    }
    // Each worker answers in order: the tasks with even numbers went to the first, the others to the second.
    for (const parity of [0, 1]) {
      const own = order.filter((i) => i % 2 === parity)
      assertEquals(own, own.toSorted((a, b) => a - b))
    }
    const { completed, failed, workers } = pool.stats()
    assertEquals([completed, failed], [4286, 714])
    assertEquals(workers.map(({ depth }) => depth), [0, 0])
  }))

Deno.test('run mixes waiting and ready tasks of plain and defined workers without confusion', async () => {
  for (const script of ['plain', 'defined']) {
    await using(open(script, { poolSize: 2, maxQueueDepth: 1000 }), async ({ pool }) => {
      const values = Array.from({ length: 200 }, (_, i) => i)
      const answers = values.map((value) =>
        pool.run({
          act: value % 3 === 0 ? 'later' : 'echo',
          value: value % 5 === 0 ? { deep: [value] } : value,
          ms: value % 4,
        })
      )
      assertEquals(
        await Promise.all(answers),
        values.map((value) => value % 5 === 0 ? { deep: [value] } : value),
      )
    })
  }
})

Deno.test('run keeps the answers apart when a script posts the same object again', () =>
  using(open('plain', { maxQueueDepth: 100 }), async ({ pool }) => {
    const values = Array.from({ length: 100 }, (_, value) => value)
    assertEquals(
      await Promise.all(values.map((value) => pool.run({ act: 'reuse', value }))),
      values.map((value) => ({ value })),
    )
  }))

Deno.test('run drops a second answer instead of giving it to the next task', () =>
  using(open('plain', { maxQueueDepth: 100 }), async ({ pool }) => {
    assertEquals(await Promise.all([1, 2, 3].map((value) => pool.run({ act: 'twice', value }))), [1, 2, 3])
  }))

Deno.test('run rejects with the error of a defined worker, which lives on', () =>
  using(open('defined'), async ({ pool, incidents }) => {
    await assertRejects(() => pool.run({ act: 'type-error' }), TypeError, 'no such thing')
    const quota = await assertRejects(() => pool.run({ act: 'quota' }), Error, 'too much')
    assertEquals(quota.name, 'QuotaError')
    assert((await rejectsWith(pool.run({ act: 'http' }), 418)).message === 'a teapot')
    await assertRejects(() => pool.run({ act: 'text' }), Error, 'plain text')
    assertEquals((await assertRejects(() => pool.run({ act: 'function' }), Error)).name, 'DataCloneError')
    assertEquals(await pool.run({ act: 'echo', value: 1 }), 1)
    assertEquals(incidents, [])
  }))

Deno.test('run rejects a payload that cannot be cloned and no other', () =>
  using(open('plain', { maxQueueDepth: 10 }), async ({ pool }) => {
    const results = await Promise.allSettled([
      pool.run({ act: 'echo', value: 1 }),
      pool.run({ act: 'echo', value: () => {} }),
      pool.run({ act: 'echo', value: 3 }),
    ])
    assertEquals(results.map(({ status }) => status), ['fulfilled', 'rejected', 'fulfilled'])
    assertEquals((results[1] as PromiseRejectedResult).reason.name, 'DataCloneError')
    assertEquals(pool.stats().workers[0].depth, 0)
  }))

Deno.test('run moves transferred objects there and back', async () => {
  await using(open('plain'), async ({ pool }) => {
    const buffer = new Uint8Array([41, 7]).buffer
    const answer = await pool.run<{ bytes: Uint8Array; buffer: ArrayBuffer }>(
      { act: 'move', value: buffer },
      { transfer: [buffer] },
    )
    assertEquals([...answer.bytes], [42, 7])
    assert(answer.bytes.buffer === answer.buffer)
    assert(buffer.detached)
  })
  await using(open('defined'), async ({ pool }) => {
    assertEquals((await pool.run<ArrayBuffer>({ act: 'move' })).byteLength, 8)
    assertEquals(await pool.run({ act: 'echo', value: 'after' }), 'after')
  })
})

Deno.test('a full queue is 503 with Retry-After: below, at and above the bound', () =>
  using(open('plain', { poolSize: 2, maxQueueDepth: 3 }), async ({ pool, incidents }) => {
    const tasks = Array.from({ length: 6 }, (_, value) => pool.run({ act: 'later', ms: 20, value }))
    const error = await rejectsWith(pool.run({ act: 'echo' }), 503)
    assertEquals(error.headers, { 'Retry-After': '1' })
    assertEquals(incidents, [['rejected', { index: 0, queueDepth: 3, reason: 'every queue is full' }]])
    assertEquals(await Promise.all(tasks), [0, 1, 2, 3, 4, 5])
    assertEquals(await pool.run({ act: 'echo', value: 'room again' }), 'room again')
  }))

Deno.test('a task goes to the least loaded worker', () =>
  using(open('plain', { poolSize: 3 }), async ({ pool }) => {
    const slow = pool.run({ act: 'later', ms: 60, value: 0 })
    const depths = []
    for (let i = 0; i < 5; i++) {
      void pool.run({ act: 'later', ms: 60, value: 0 }).catch(() => {})
      depths.push(pool.stats().workers.map(({ depth }) => depth).join(''))
    }
    assertEquals(depths, ['110', '111', '211', '221', '222'])
    await slow
  }))

for (const act of ['loop', 'silent', 'hang']) {
  const script = act === 'hang' ? 'defined' : 'plain'
  Deno.test(`a task that is over its time is 504 and fails alone: ${act}`, () =>
    using(open(script, { taskTimeoutMs: 1000, maxQueueDepth: 50 }), async ({ pool, incidents, seen }) => {
      assertEquals(await pool.run({ act: 'echo', value: 'warm' }), 'warm')
      const before = Array.from({ length: 5 }, (_, value) => pool.run({ act: 'echo', value }))
      const hung = pool.run({ act })
      const after = Array.from({ length: 20 }, (_, value) => pool.run({ act: 'echo', value }))
      await rejectsWith(hung, 504)
      assertEquals(await Promise.all([...before, ...after]), [
        ...Array.from({ length: 5 }, (_, i) => i),
        ...Array.from({ length: 20 }, (_, i) => i),
      ])
      await seen('respawn')
      assertEquals(incidents.map(([kind]) => kind), ['timeout', 'respawn'])
      assertEquals(incidents[0][1].timeoutMs, 1000)
      assertEquals(pool.stats().respawns, 1)
    }))
}

Deno.test('timeoutMs of a task replaces that of the pool, either way', () =>
  using(open('plain', { taskTimeoutMs: 200, maxQueueDepth: 20 }), async ({ pool }) => {
    assertEquals(await pool.run({ act: 'later', ms: 400, value: 1 }, { timeoutMs: 5000 }), 1)
    await rejectsWith(pool.run({ act: 'later', ms: 5000 }, { timeoutMs: 30 }), 504)
    await assertRejects(() => pool.run({ act: 'echo' }, { timeoutMs: 0 }), RangeError, 'timeoutMs is 0')
  }))

Deno.test('a worker in an endless loop stops: the process ends by itself', async () => {
  const pool = new URL('../../src/worker/pool.ts', import.meta.url).href
  const script = new URL('./scripts/plain.ts', import.meta.url).href
  const code = `
    const { createPool } = await import(${JSON.stringify(pool)})
    const pool = createPool({ scriptURL: ${JSON.stringify(script)}, poolSize: 2, taskTimeoutMs: 200 })
    const results = await Promise.allSettled([pool.run({ act: 'loop' }), pool.run({ act: 'loop' })])
    console.log(results.map(({ reason }) => reason.status).join())
    pool.close()`
  const child = new Deno.Command(Deno.execPath(), {
    args: ['eval', '--config', new URL('../../deno.json', import.meta.url).pathname, code],
    signal: AbortSignal.timeout(30_000),
  })
  const { code: exit, stdout } = await child.output()
  assertEquals([exit, new TextDecoder().decode(stdout).trim()], [0, '504,504'])
})

for (const act of ['throw', 'reject', 'close', 'exit', 'crash']) {
  const script = act === 'crash' ? 'defined' : 'plain'
  Deno.test(`a task that kills its worker is 502 and fails alone: ${act}`, () =>
    using(open(script, { maxQueueDepth: 50 }), async ({ pool, incidents, seen }) => {
      assertEquals(await pool.run({ act: 'echo', value: 'warm' }), 'warm')
      const before = Array.from({ length: 5 }, (_, value) => pool.run({ act: 'echo', value }))
      const killer = pool.run({ act })
      const after = Array.from({ length: 20 }, (_, value) => pool.run({ act: 'echo', value }))
      await rejectsWith(killer, 502)
      assertEquals(await Promise.all([...before, ...after]), [
        ...Array.from({ length: 5 }, (_, i) => i),
        ...Array.from({ length: 20 }, (_, i) => i),
      ])
      await seen('respawn')
      assertEquals(incidents.map(([kind]) => kind), ['crash', 'respawn'])
      assertEquals(pool.stats().failed, 1)
    }))
}

Deno.test('a worker that dies while it is idle fails nothing and is replaced', () =>
  using(open('plain'), async ({ pool, incidents, seen }) => {
    assertEquals(await pool.run({ act: 'idle-crash' }), 'dying')
    await seen('respawn')
    assertEquals(await pool.run({ act: 'echo', value: 'alive' }), 'alive')
    assertEquals(incidents[0][0], 'crash')
    assert(incidents[0][1].reason?.includes('thrown while idle'))
    assertEquals(pool.stats().failed, 0)
  }))

Deno.test('a waiting task whose payload moved into a dead worker is 502', () =>
  using(open('plain'), async ({ pool }) => {
    await pool.run({ act: 'echo' })
    const buffer = new ArrayBuffer(1)
    const killer = pool.run({ act: 'throw' })
    const moved = pool.run({ act: 'move', value: buffer }, { transfer: [buffer] })
    const copied = pool.run({ act: 'echo', value: 'copied' })
    await rejectsWith(killer, 502)
    await rejectsWith(moved, 502)
    assertEquals(await copied, 'copied')
  }))

for (
  const [script, reason] of [['unloadable', 'never loads'], ['neither', 'sets no self.onmessage'], [
    'missing',
    'missing.ts',
  ]]
) {
  Deno.test(`a script that does not load is 502 after a few attempts, with the reason for the log: ${script}`, () =>
    using(open(script), async ({ pool, incidents }) => {
      const tasks = [pool.run(1), pool.run(2)]
      for (const task of tasks) assert(String((await rejectsWith(task, 502)).cause).includes(reason))
      const crashes = incidents.filter(([kind]) => kind === 'crash')
      assertEquals(crashes.length, 4)
      assert(crashes[0][1].reason?.includes(reason), crashes[0][1].reason)
      // The next one fails at once.
      const error = await rejectsWith(pool.run(3), 502)
      assert(!error.message.includes(reason))
      assertEquals(incidents.at(-1)?.[0], 'rejected')
    }))
}

Deno.test('a task that is aborted before it is submitted never starts', () =>
  using(open('defined'), async ({ pool }) => {
    const reason = new Error('not today')
    const error = await assertRejects(() =>
      pool.run({ act: 'echo', value: 'never' }, { signal: AbortSignal.abort(reason) })
    )
    assert(error === reason)
    assertEquals(await pool.run({ act: 'started' }), [])
  }))

Deno.test('a task that is aborted while it waits never starts, sent or not', () =>
  using(open('defined', { maxQueueDepth: 20 }), async ({ pool }) => {
    const first = pool.run({ act: 'later', ms: 60, value: 'first' })
    const controllers = Array.from({ length: 10 }, () => new AbortController())
    const waiting = controllers.map(({ signal }, value) => pool.run({ act: 'echo', value }, { signal }))
    const results = Promise.allSettled(waiting)
    controllers[0].abort()
    await new Promise((resolve) => setTimeout(resolve, 20))
    for (const controller of controllers.slice(1, 9)) controller.abort(new Error('gone'))
    assertEquals(pool.stats().workers[0].depth, 2)
    assertEquals(await first, 'first')
    const settled = await results
    assertEquals(settled.map(({ status }) => status), [...Array(9).fill('rejected'), 'fulfilled'])
    assertEquals((settled[0] as PromiseRejectedResult).reason.name, 'AbortError')
    assertEquals((settled[1] as PromiseRejectedResult).reason.message, 'gone')
    assertEquals(await pool.run({ act: 'started' }), ['first', 9])
  }))

Deno.test('a task that is aborted while it runs rejects at once, and its worker goes on', () =>
  using(open('defined'), async ({ pool, incidents }) => {
    await pool.run({ act: 'echo' })
    const controller = new AbortController()
    const running = pool.run({ act: 'later', ms: 80, value: 1 }, { signal: controller.signal })
    const next = pool.run({ act: 'echo', value: 2 })
    setTimeout(() => controller.abort(), 20)
    await assertRejects(() => running, DOMException)
    assertEquals(await next, 2)
    assertEquals(incidents, [])
  }))

Deno.test('an aborted task that never ends still has its worker replaced', () =>
  using(open('plain', { taskTimeoutMs: 1000 }), async ({ pool, seen }) => {
    await pool.run({ act: 'echo' })
    const controller = new AbortController()
    const running = pool.run({ act: 'silent' }, { signal: controller.signal })
    setTimeout(() => controller.abort(), 20)
    await assertRejects(() => running, DOMException)
    await seen('respawn')
    assertEquals(await pool.run({ act: 'echo', value: 1 }), 1)
  }))

Deno.test('close rejects what is pending with 503, and later tasks too', async () => {
  const { pool } = open('plain', { poolSize: 2 })
  const tasks = Array.from({ length: 6 }, () => pool.run({ act: 'later', ms: 10_000 }))
  const checks = tasks.map((task) => rejectsWith(task, 503))
  pool.close()
  pool.close()
  await Promise.all(checks)
  await rejectsWith(pool.run({ act: 'echo' }), 503)
  assertEquals(pool.stats().workers.map(({ depth, state }) => [depth, state]), [[0, 'stopped'], [
    0,
    'stopped',
  ]])
})

Deno.test('start makes every worker ready before the first task', () =>
  using(open('sync', { poolSize: 2 }), async ({ pool }) => {
    pool.start()
    pool.start()
    assertEquals(pool.stats().workers.length, 2)
    assertEquals(await pool.run(1), { value: 2 })
  }))

Deno.test('random tasks, deaths and aborts: every promise settles once, with its own answer', async () => {
  let seed = 20_240
  const random = (n: number) => (seed = (seed * 1103515245 + 12345) % 2 ** 31) % n
  await using(open('plain', { poolSize: 2, maxQueueDepth: 30, taskTimeoutMs: 60_000 }), async ({ pool }) => {
    await pool.run({ act: 'echo' })
    for (let round = 0; round < 6; round++) {
      const checks: Promise<void>[] = []
      for (let i = 0; i < 40; i++) {
        const value = round * 100 + i
        const act =
          ['echo', 'echo', 'echo', 'echo', 'later', 'reuse', 'throw', 'close'][random(i === 7 ? 8 : 6)]
        const controller = random(5) === 0 ? new AbortController() : undefined
        if (controller !== undefined) setTimeout(() => controller.abort(), random(6))
        checks.push(
          pool.run<unknown>({ act, value, ms: random(5) }, { signal: controller?.signal }).then(
            (answer) => assertEquals(answer, act === 'reuse' ? { value } : value),
            (error) =>
              assert(
                (error.status === 502 && (act === 'throw' || act === 'close')) ||
                  (error.name === 'AbortError' && controller !== undefined),
                `${act}: ${error}`,
              ),
          ),
        )
      }
      await Promise.all(checks)
    }
    assertEquals(pool.stats().workers.map(({ depth }) => depth), [0, 0])
  })
})
