/** Ends servers and removes folders at once, without waiting: the process is about to be gone. Must not throw. */
export type EmergencyStop = () => void

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
const stops = new Set<EmergencyStop>()

/**
 * Calls `stop` when this process exits: by itself, by an uncaught exception, or by a signal that would end it. Returns a
 * function that takes `stop` out again; with the last one gone, no listener of ours is left on `process`.
 */
export function onProcessExit(stop: EmergencyStop): () => void {
  if (stops.size === 0) {
    process.on('exit', stopAll)
    for (const signal of SIGNALS) process.on(signal, onSignal)
  }
  stops.add(stop)
  return () => {
    if (!stops.delete(stop) || stops.size > 0) return
    process.off('exit', stopAll)
    for (const signal of SIGNALS) process.off(signal, onSignal)
  }
}

function stopAll(): void {
  for (const stop of stops) stop()
}

function onSignal(signal: NodeJS.Signals): void {
  // An app with a handler of its own decides what the signal means and may still want its servers; 'exit' comes later.
  if (process.listenerCount(signal) > 1) return
  stopAll()
  process.off(signal, onSignal)
  process.kill(process.pid, signal)
}
