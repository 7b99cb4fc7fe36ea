import { execFile } from 'node:child_process'
import { generateKeyPairSync } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { isIP } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { findOpenssl } from './executable.js'
import type { TlsFiles } from './server-config.js'

const run = promisify(execFile)

export interface Certificates {
  /** PEM texts: the CA that clients must trust, and a certificate with its key, good for servers and clients. */
  readonly pem: { readonly ca: string; readonly cert: string; readonly key: string }
  readonly files: TlsFiles
}

/**
 * Makes a CA of its own and one certificate signed by it, good for two days and for the names and IPs given. Keys come from
 * node:crypto; Node cannot write certificates, so `openssl` does. Throws `OPENSSL_MISSING`.
 */
export async function createCertificates(folder: string, names: readonly string[]): Promise<Certificates> {
  const openssl = findOpenssl()
  const path = (name: string) => join(folder, name)
  const files: TlsFiles = { caFile: path('ca.crt'), certFile: path('server.crt'), keyFile: path('server.key') }
  writeKey(path('ca.key'))
  writeKey(files.keyFile)
  writeFileSync(path('openssl.conf'), opensslConfig(names))
  const config = ['-config', path('openssl.conf')]
  const [ca, request] = [
    run(openssl, [
      ...['req', '-x509', '-new', '-sha256', '-days', '2', '-key', path('ca.key'), '-out', files.caFile],
      ...[...config, '-extensions', 'ca', '-subj', '/CN=sharded-sentinel-pool test CA'],
    ]),
    run(openssl, [
      ...['req', '-new', '-sha256', '-key', files.keyFile, '-out', path('server.csr'), ...config],
      ...['-subj', '/CN=sharded-sentinel-pool test server'],
    ]),
  ]
  await Promise.all([ca, request])
  await run(openssl, [
    ...['x509', '-req', '-sha256', '-days', '2', '-in', path('server.csr'), '-out', files.certFile],
    ...['-CA', files.caFile, '-CAkey', path('ca.key'), '-set_serial', String(Date.now())],
    ...['-extfile', path('openssl.conf'), '-extensions', 'server'],
  ])
  const read = (file: string) => readFileSync(file, 'utf8')
  return { pem: { ca: read(files.caFile), cert: read(files.certFile), key: read(files.keyFile) }, files }
}

/** `DNS:localhost,IP:127.0.0.1`: what openssl calls a subjectAltName. */
export function subjectAltName(names: readonly string[]): string {
  return names.map((name) => `${isIP(name) === 0 ? 'DNS' : 'IP'}:${name}`).join(',')
}

function opensslConfig(names: readonly string[]): string {
  // Sections in a file rather than -addext: LibreSSL, which is macOS's openssl, reads them as well.
  return `[req]
distinguished_name = name
prompt = no
[name]
CN = unused
[ca]
basicConstraints = critical,CA:TRUE
keyUsage = critical,keyCertSign,cRLSign
subjectKeyIdentifier = hash
[server]
basicConstraints = CA:FALSE
keyUsage = critical,digitalSignature
extendedKeyUsage = serverAuth,clientAuth
subjectAltName = ${subjectAltName(names)}
`
}

function writeKey(file: string): void {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  writeFileSync(file, privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600 })
}
