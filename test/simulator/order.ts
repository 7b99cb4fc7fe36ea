/** One write of a train: writes of one key, called one after another without waiting for an answer. */
interface Wagon {
  readonly train: Train
  readonly place: number
  /** Sent, and not refused yet. */
  onItsWay: boolean
  ran: boolean
  /** Those before it that were not on their way when it was sent last. */
  overtook: readonly number[]
}

interface Train {
  readonly wagons: Wagon[]
}

/**
 * Writes of one key must run in the order of the calls, whatever was refused and repeated, or waited for a master. Only what
 * was on its way already when the one before it was refused may run before that: nobody can call it back.
 */
export class OrderBook {
  readonly #byId = new Map<string, Wagon>()

  begin(ids: readonly string[]): void {
    const train: Train = { wagons: [] }
    for (const [place, id] of ids.entries()) {
      const wagon: Wagon = { train, place, onItsWay: false, ran: false, overtook: [] }
      train.wagons.push(wagon)
      this.#byId.set(id, wagon)
    }
  }

  /** These left the client, in this order. */
  sent(ids: Iterable<string>): void {
    for (const id of ids) {
      const wagon = this.#byId.get(id)
      if (wagon === undefined) continue
      const before = wagon.train.wagons.slice(0, wagon.place)
      wagon.overtook = before.filter(({ onItsWay, ran }) => !onItsWay && !ran).map(({ place }) => place)
      wagon.onItsWay = true
    }
  }

  /** The client was told that it has not run. */
  refused(id: string): void {
    const wagon = this.#byId.get(id)
    if (wagon !== undefined) wagon.onItsWay = false
  }

  /** Undefined, or which write of the same key ran before this one although it was sent while this one was not on its way. */
  executed(id: string): string | undefined {
    const wagon = this.#byId.get(id)
    if (wagon === undefined) return undefined
    wagon.ran = true
    const later = wagon.train.wagons.find(({ ran, overtook }) => ran && overtook.includes(wagon.place))
    return later && `number ${later.place + 1} of its train ran before number ${wagon.place + 1}`
  }
}
