/** A tenant with nothing but `fetch`. Its machine is reset behind every answer. */

interface Env {
  readonly GREETING: string
}

interface Props {
  readonly tenant: string
}

let count = 0

export default {
  fetch(request: Request, env: Env, ctx: { props: Props }): Response {
    const { pathname } = new URL(request.url)
    switch (pathname) {
      case '/':
        return new Response(`${env.GREETING} from ${ctx.props.tenant}!`)
      case '/count':
        return Response.json({ count: ++count })
      case '/throw':
        throw new Error('Thrown by a tenant')
      default:
        return new Response(`Acme has no ${pathname}`, { status: 404 })
    }
  },
}
