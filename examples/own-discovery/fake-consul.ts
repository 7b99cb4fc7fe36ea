import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** So much of Consul's key-value store as the example needs, in this process: GET of one key, also a blocking one. */
export class FakeConsul {
  readonly #values = new Map<string, { value: string; index: number }>()
  readonly #waiting = new Set<() => void>()
  readonly #server = createServer((request, response) => this.#answer(new URL(request.url!, this.url), response))
  #index = 0

  static async listen(): Promise<FakeConsul> {
    const consul = new FakeConsul()
    consul.#server.listen(0, '127.0.0.1')
    await once(consul.#server, 'listening')
    return consul
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  put(key: string, value: string): void {
    this.#values.set(key, { value, index: ++this.#index })
    for (const retry of this.#waiting) retry()
  }

  async close(): Promise<void> {
    this.#server.close()
    this.#server.closeAllConnections()
    await once(this.#server, 'close')
  }

  #answer({ pathname, searchParams }: URL, response: ServerResponse): void {
    const key = decodeURIComponent(pathname.replace('/v1/kv/', ''))
    const after = searchParams.get('index')
    const send = () => {
      const found = this.#values.get(key)
      if (after !== null && Number(after) === (found?.index ?? 0)) return
      this.#waiting.delete(send)
      const body = found && [{ Value: Buffer.from(found.value).toString('base64'), ModifyIndex: found.index }]
      response.writeHead(body ? 200 : 404, { 'content-type': 'application/json' })
      response.end(JSON.stringify(body ?? null))
    }
    this.#waiting.add(send)
    response.on('close', () => this.#waiting.delete(send))
    send()
  }
}
