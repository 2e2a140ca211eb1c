import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findRedisServer } from '../processes/system-binary.ts';
import { startServer, type ServerProcess } from '../processes/server-process.ts';

const START_MS = 10_000;
const IN_MEMORY = ['--bind', '127.0.0.1', '--save', '', '--appendonly', 'no'];

/** A Redis server. Its data is lost on restart. */
export interface RedisServer extends Pick<ServerProcess, 'port' | 'kill' | 'restart' | 'pause' | 'goOn'> {
  readonly url: string;
  stop(): Promise<void>;
}

export interface RedisServerOptions {
  /** Password of the default user. */
  password?: string;
}

/** Starts a real redis-server on a free port of 127.0.0.1 without persistence. */
export async function startRedisServer({ password = '' }: RedisServerOptions = {}): Promise<RedisServer> {
  const binary = await findRedisServer();
  const directory = await mkdtemp(join(tmpdir(), 'switchyard-redis-'));
  const server = await startServer({
    name: 'redis-server',
    command: (port) => [binary, '--port', String(port), ...IN_MEMORY, '--dir', directory, '--requirepass', password],
    ready: /Ready to accept connections/,
    startMs: START_MS,
  });
  const { port } = server;
  return {
    ...server,
    url: `redis://${password === '' ? '' : `:${encodeURIComponent(password)}@`}127.0.0.1:${port}`,
    async stop() {
      await server.kill();
      await rm(directory, { recursive: true, force: true });
    },
  };
}
