import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import type { Address } from '../../src/address.js'

export interface MonitoredCommand {
  /** By the server's clock, ms since the epoch. */
  readonly at: number
  /** `host:port` of the client that sent it. */
  readonly client: string
  readonly words: readonly string[]
}

/** Everything a server executes, told by MONITOR. */
export class Monitor {
  readonly commands: MonitoredCommand[] = []
  readonly #socket: Socket

  static async start(address: Address): Promise<Monitor> {
    const socket = connect(address)
    await once(socket, 'connect')
    const monitor = new Monitor(socket)
    socket.write('MONITOR\r\n')
    await once(socket, 'data')
    socket.on('data', (chunk) => monitor.#read(String(chunk)))
    return monitor
  }

  private constructor(socket: Socket) {
    this.#socket = socket
    socket.on('error', () => {})
  }

  stop(): void {
    this.#socket.destroy()
  }

  #rest = ''

  #read(text: string): void {
    const lines = (this.#rest + text).split('\r\n')
    this.#rest = lines.pop()!
    for (const line of lines) {
      const parsed = /^\+(\d+\.\d+) \[\d+ (\S+)\] (.*)$/.exec(line)
      if (parsed === null) continue
      const words = [...parsed[3]!.matchAll(/"((?:[^"\\]|\\.)*)"/g)].map((word) => word[1]!)
      this.commands.push({ at: Number(parsed[1]) * 1000, client: parsed[2]!, words })
    }
  }
}
