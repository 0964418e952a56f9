import type { Context } from '@mayfly/mayfly'
import semver from 'semver'

export const inputs = [
  {
    json: {
      range: '^1.2.3 || >=3.0.0-beta.2 <4',
      versions: ['1.2.3', '1.9.0', '2.0.0', '3.0.0-beta.4', 'x'],
    },
  },
  { json: { range: 'latest', versions: ['1.0.0'] } },
]

export async function POST(ctx: Context) {
  const { range, versions } = await ctx.get.json<
    { range: string; versions: string[] }
  >()
  const valid = versions.filter((version) => semver.valid(version) !== null)
  return ctx.send.json({
    range: semver.validRange(range),
    best: semver.maxSatisfying(valid, range),
    sorted: semver.rsort([...valid]),
    next: valid.map((version) => semver.inc(version, 'prerelease', 'rc')),
    coerced: semver.coerce('v2.5 beta')?.version,
  })
}
