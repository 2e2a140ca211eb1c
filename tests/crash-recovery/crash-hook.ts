import { existsSync, readFileSync, unlinkSync } from 'node:fs';
import { connectBus as connect, type Bucket, type Bus } from '@switchyard/bus';

export * from '@switchyard/bus';

/** A file with the name of a bucket. The process deletes the file and dies before its next write to that bucket. */
const order = process.env['DIE_ORDER'] ?? '';

/** Like the real function, with buckets that can end the process before a write. */
export const connectBus: typeof connect = async (...inputs) => {
  const bus = await connect(...inputs);
  return new Proxy(bus, { get: (target, name) => (name === 'kv' ? getKv(target) : Reflect.get(target, name)) });
};

function getKv(bus: Bus): Bus['kv'] {
  return async (definition) => {
    const bucket = await bus.kv(definition);
    const dying: Bucket = {
      ...bucket,
      put: (...inputs) => (reach(definition.name), bucket.put(...inputs)),
      update: (...inputs) => (reach(definition.name), bucket.update(...inputs)),
    };
    return dying;
  };
}

function reach(bucket: string): void {
  if (!existsSync(order) || readFileSync(order, 'utf8') !== bucket) return;
  unlinkSync(order);
  process.kill(process.pid, 'SIGKILL');
}
