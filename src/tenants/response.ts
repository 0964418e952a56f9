/** A tenant's response, with what it may set of headers: no more than an isolated route may. */
import type { RequestState } from '../context/state.ts'
import { type Admission, admitHeaders } from '../isolate/answer/admission.ts'
import { type Grants, toGrants } from '../isolate/plan/grants.ts'

/** Why a cookie was dropped whose `Domain` would hand it to other hosts. */
export const COOKIE_DOMAIN = 'cookies with Domain'

/** Grants of a list of them, made once for each list. */
const known = new WeakMap<readonly string[], Grants>()

function grantsOf(may: readonly string[]): Grants {
  const grants = known.get(may) ?? toGrants(may)
  known.set(may, grants)
  return grants
}

/** The response with the headers that `may` grants; `refused` hears of those that it does not, with their numbers. */
export function admitResponse(
  ctx: RequestState,
  response: Response,
  may: readonly string[],
  refused: (grant: string, times: number) => void,
): Response {
  const admission: Admission = { ctx, grants: grantsOf(may), refusals: null }
  const given = [...response.headers]
  const admitted = admitHeaders(admission, given)
  // Other tenants may have hosts below the same domain.
  const headers = admitted.filter(([name, value]) => name !== 'set-cookie' || !/;\s*domain\s*=/i.test(value))
  if (headers.length < admitted.length) refused(COOKIE_DOMAIN, admitted.length - headers.length)
  for (const [grant, times] of admission.refusals ?? []) refused(grant, times)
  if (headers.length === given.length) return response
  const { status, statusText } = response
  return new Response(response.body, { status, statusText, headers })
}
