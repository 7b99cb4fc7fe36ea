/** NestJS: one pool for the whole app, connected before it starts and closed after its last request. */
import 'reflect-metadata'
import { Inject, Injectable, Module, type OnApplicationShutdown } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { ShardedSentinelPool } from './library.js'
import { topology } from './topology.js'

const POOL = Symbol('pool')

class PoolCloser implements OnApplicationShutdown {
  constructor(private readonly pool: ShardedSentinelPool) {}
  onApplicationShutdown(): Promise<void> {
    return this.pool.close()
  }
}

class Greetings {
  constructor(private readonly pool: ShardedSentinelPool) {}
  async greet(name: string): Promise<string> {
    return `hello ${name}, for the ${await this.pool.incr(`greeted:${name}`)}. time`
  }
}

class AppModule {}

// In an app these stand before the classes as @Injectable(), @Inject(POOL) and @Module({ … }).
Injectable()(Greetings)
Inject(POOL)(Greetings, undefined, 0)
Injectable()(PoolCloser)
Inject(POOL)(PoolCloser, undefined, 0)
Module({
  providers: [{ provide: POOL, useFactory: () => new ShardedSentinelPool(topology).connect() }, PoolCloser, Greetings],
})(AppModule)

const app = await NestFactory.createApplicationContext(AppModule, { logger: false })
console.log(await app.get(Greetings).greet('Ada'))
await app.close()
