import { type ChildProcess, spawn } from 'node:child_process'

// Reads pids from the pipe until the pipe ends, which it does whichever way the host process goes, SIGKILL included.
// A shell and not Node: it takes milliseconds to start and next to no memory, and there is one per topology.
const SCRIPT = `
pids=' '
while read -r sign pid; do
  case $sign in
    +) pids="$pids$pid " ;;
    -) pids="\${pids%% $pid *} \${pids#* $pid }" ;;
  esac
done
for pid in $pids; do kill -9 "$pid" 2>/dev/null; done
sleep 0.05 2>/dev/null || sleep 1
rm -rf -- "$1"
`

/**
 * A small process that outlives this one by a moment: when this process is gone it ends the servers it was told of and
 * removes their folder. It holds nothing of this process open but its own pipe, and does not keep it alive.
 */
export class Watchdog {
  readonly #child: ChildProcess

  constructor(folder: string) {
    this.#child = spawn('/bin/sh', ['-c', SCRIPT, 'sharded-sentinel-pool-watchdog', folder], {
      // Its own session, so that Ctrl-C in the terminal does not end the one process that is there for that case.
      detached: true,
      stdio: ['pipe', 'ignore', 'ignore'],
    })
    this.#child.unref()
    this.#child.on('error', () => {})
    this.#child.stdin?.on('error', () => {})
    ;(this.#child.stdin as unknown as { unref?: () => void } | null)?.unref?.()
  }

  get pid(): number | undefined {
    return this.#child.pid
  }

  watch(pid: number): void {
    this.#child.stdin?.write(`+ ${pid}\n`)
  }

  /** The process is gone; its number may soon be somebody else's. */
  forget(pid: number): void {
    this.#child.stdin?.write(`- ${pid}\n`)
  }

  /** Ends the watchdog. The servers must have been forgotten: those that were not are killed by it now. */
  close(): Promise<void> {
    const child = this.#child
    if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return Promise.resolve()
    return new Promise((resolve) => {
      const timer = setTimeout(() => child.kill('SIGKILL'), 2_000)
      child.once('exit', () => {
        clearTimeout(timer)
        resolve()
      })
      child.stdin?.end()
    })
  }
}
