/** What kind of trouble a failure text of `ServerReport.error` is. */
export type FailureKind = 'login' | 'tls' | 'silent' | 'refused' | 'name' | 'other'

/** Node's codes for certificates, and what either side says when only one of them speaks TLS. */
const TLS =
  /^(ERR_(SSL|TLS)|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO_(VERIFY|GET_ISSUER)|EPROTO)|certificate|wrong version number/i

export function kindOfFailure(error: string): FailureKind {
  if (/^(NOAUTH|WRONGPASS|NOPERM)|invalid password|AUTH/i.test(error)) return 'login'
  if (TLS.test(error)) return 'tls'
  if (/^timeout$|ETIMEDOUT|no answer/.test(error)) return 'silent'
  if (/^E(CONNREFUSED|HOSTUNREACH|NETUNREACH|HOSTDOWN)/.test(error)) return 'refused'
  if (/^E(NOTFOUND|AI_AGAIN|NODATA)/.test(error)) return 'name'
  return 'other'
}
