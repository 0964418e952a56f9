/** A certificate for localhost, or null where openssl is missing. */
export async function makeCertificate(): Promise<{ cert: string; key: string } | null> {
  const dir = await Deno.makeTempDir()
  try {
    const args = [
      'req',
      '-x509',
      '-newkey',
      'ec',
      '-pkeyopt',
      'ec_paramgen_curve:prime256v1',
      '-nodes',
      '-days',
      '2',
    ]
    const names = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1']
    const ca = ['-addext', 'basicConstraints=critical,CA:FALSE']
    const { success, stderr } = await new Deno.Command('openssl', {
      args: [...args, ...names, ...ca, '-keyout', `${dir}/key.pem`, '-out', `${dir}/cert.pem`],
      stdout: 'null',
      stderr: 'piped',
    }).output()
    if (!success) throw new Error(`Cannot make a certificate: ${new TextDecoder().decode(stderr)}`)
    return {
      cert: await Deno.readTextFile(`${dir}/cert.pem`),
      key: await Deno.readTextFile(`${dir}/key.pem`),
    }
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return null
    throw error
  } finally {
    await Deno.remove(dir, { recursive: true })
  }
}
