import { existsSync, readFileSync, unlinkSync } from 'node:fs';
import { connectBus as connect, type Bucket, type Bus } from '@switchyard/bus';

export * from '@switchyard/bus';

/** The file that names the bucket before whose next write the process dies; it is gone once that has happened. */
const order = process.env['DIE_ORDER'] ?? '';

/** As the real one, but for what is written into buckets. */
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
