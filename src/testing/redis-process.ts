import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { TopologyError } from './topology-error.js'
import type { Watchdog } from './watchdog.js'

/** `'frozen'`: stopped by SIGSTOP; its sockets stay open and nothing answers. */
export type ProcessState = 'down' | 'up' | 'frozen'

export interface RedisProcessSettings {
  readonly binary: string
  /** Configuration file and flags, such as `--sentinel`. */
  readonly args: readonly string[]
  /** Working directory, and where the log is. */
  readonly folder: string
  readonly logFile: string
  readonly watchdog: Watchdog
}

/** One `redis-server` in the operating system's eyes: a pid that is started, signalled and waited for. */
export class RedisProcess {
  readonly #settings: RedisProcessSettings
  #child: ChildProcess | undefined
  #state: ProcessState = 'down'
  #retired = false

  constructor(settings: RedisProcessSettings) {
    this.#settings = settings
  }

  get state(): ProcessState {
    return this.#state
  }

  /** Undefined while no process runs. */
  get pid(): number | undefined {
    return this.#state === 'down' ? undefined : this.#child?.pid
  }

  /** Resolves when the system has made the process; whether it answers is another question. */
  async start(): Promise<void> {
    if (this.#state !== 'down') return
    if (this.#retired) throw new TopologyError('CLOSED', 'the topology is closed')
    const { binary, args, folder, logFile, watchdog } = this.#settings
    // The log is the server's output: a line of the configuration that it cannot read is told nowhere else.
    const log = openSync(logFile, 'a')
    // A session of its own: Ctrl-C reaches the app, which then decides when its servers end.
    const child = spawn(binary, args, { cwd: folder, detached: true, stdio: ['ignore', log, log] })
    closeSync(log)
    const { pid } = child
    if (pid === undefined) {
      const [cause] = await once(child, 'error')
      throw new TopologyError('START_FAILED', `${binary} could not be started`, { cause })
    }
    watchdog.watch(pid)
    child.unref()
    child.on('error', () => {})
    child.once('exit', () => {
      watchdog.forget(pid)
      if (this.#child === child) this.#state = 'down'
    })
    this.#child = child
    this.#state = 'up'
  }

  /** Sends the signal and waits until the process is gone. Throws `WAIT_TIMEOUT` when it is not within `timeoutMs`. */
  end(signal: 'SIGKILL' | 'SIGTERM', timeoutMs: number): Promise<void> {
    const child = this.#child
    if (this.#state === 'down' || !child) return Promise.resolve()
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        reject(
          new TopologyError('WAIT_TIMEOUT', `process ${child.pid} did not end within ${timeoutMs} ms of ${signal}`),
        )
      }, timeoutMs)
      child.once('exit', () => {
        clearTimeout(timer)
        resolve()
      })
      child.kill(signal)
    })
  }

  /** Ends it for good: a restart that is under way somewhere must not start what nobody would end. */
  retire(timeoutMs: number): Promise<void> {
    this.#retired = true
    return this.end('SIGKILL', timeoutMs)
  }

  freeze(): void {
    if (this.#state !== 'up') throw new TopologyError('NOT_CONNECTED', 'only a running process can be frozen')
    this.#child?.kill('SIGSTOP')
    this.#state = 'frozen'
  }

  cont(): void {
    if (this.#state !== 'frozen') return
    this.#child?.kill('SIGCONT')
    this.#state = 'up'
  }

  /** For the moment the host process exits: no waiting, no error. */
  killNow(): void {
    if (this.#state !== 'down') this.#child?.kill('SIGKILL')
  }

  /** The last lines of the server's log, of all its runs. */
  logTail(lines = 20): string {
    try {
      return readFileSync(this.#settings.logFile, 'utf8').trimEnd().split('\n').slice(-lines).join('\n')
    } catch {
      return '(no log)'
    }
  }
}
