/** What kind of trouble a failure text of `ServerReport.error` is. */
export type FailureKind = 'login' | 'tls' | 'silent' | 'refused' | 'other'

/** Node's codes for certificates and handshakes. */
const TLS =
  /^(ERR_(SSL|TLS)|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO_(VERIFY|GET_ISSUER)|EPROTO)|certificate|wrong version number/i

/** A server that closes a new connection without a word speaks TLS and was spoken to plainly: all else Redis refuses in words. */
const SPEECHLESS = /^(ECONNRESET|EPIPE)$|socket closed unexpectedly/i

export function kindOfFailure(error: string): FailureKind {
  if (/^(NOAUTH|WRONGPASS|NOPERM)|invalid password|AUTH/i.test(error)) return 'login'
  if (TLS.test(error) || SPEECHLESS.test(error)) return 'tls'
  if (/^timeout$|ETIMEDOUT|no answer/.test(error)) return 'silent'
  if (/^E(CONNREFUSED|HOSTUNREACH|NETUNREACH|HOSTDOWN|NOTFOUND|AI_AGAIN)/.test(error)) return 'refused'
  return 'other'
}

/** What a failure of the kind `tls` tells. */
export function describeTlsFailure(where: string, error: string): string {
  return SPEECHLESS.test(error)
    ? `${where} closes the connection without a word (${error}), as happens where only one side speaks TLS`
    : `TLS to ${where} fails: ${error}`
}
