import { existsSync, readFileSync, unlinkSync } from 'node:fs';
import { connectBus as connect, type Bucket, type Bus } from '@switchyard/bus';

export * from '@switchyard/bus';

/** A file with the name of a bucket. The process deletes the file and dies before its next write to that bucket. */
const order = process.env['DIE_ORDER'] ?? '';

/** Like the real function, with buckets that can end the process before a write. */
export const connectBus: typeof connect = async (...given) => {
  const bus = await connect(...given);
  return new Proxy(bus, { get: (target, name) => (name === 'kv' ? kvOf(target) : Reflect.get(target, name)) });
};

function kvOf(bus: Bus): Bus['kv'] {
  return async (definition) => {
    const bucket = await bus.kv(definition);
    const dying: Bucket = {
      ...bucket,
      put: (...given) => (reach(definition.name), bucket.put(...given)),
      update: (...given) => (reach(definition.name), bucket.update(...given)),
    };
    return dying;
  };
}

function reach(bucket: string): void {
  if (!existsSync(order) || readFileSync(order, 'utf8') !== bucket) return;
  unlinkSync(order);
  process.kill(process.pid, 'SIGKILL');
}
