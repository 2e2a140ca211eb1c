import { registerHooks } from 'node:module';
import { readSabotage, SABOTAGE } from './sabotage.ts';

/*
 * Loaded before a service (`node --import`). In sessions it wraps the store and the bus to record their operations and to kill the
 * process at a point. The code of the service is unchanged.
 */

const HOST = '/libs/service-kit/src/host/host.ts';
const WITNESSED = new Map([
  ['@switchyard/store', new URL('./store.ts', import.meta.url).href],
  ['@switchyard/bus', new URL('./bus.ts', import.meta.url).href],
]);

const [, service] = /\/services\/(\w+)\/src\/main\.ts$/.exec(process.argv[1] ?? '') ?? [];
const patches = SABOTAGE[readSabotage() ?? 'none'].patches;

if (service === 'sessions') {
  registerHooks({
    resolve(specifier, context, next) {
      const witness = context.parentURL?.endsWith(HOST) === true ? WITNESSED.get(specifier) : undefined;
      return next(witness ?? specifier, context);
    },
  });
}

if (service !== undefined && patches.length > 0) {
  registerHooks({
    load(url, context, next) {
      const loaded = next(url, context);
      const matches = patches.filter(({ file }) => url.endsWith(file));
      if (matches.length === 0) return loaded;
      let source = Buffer.from(loaded.source as Uint8Array).toString();
      for (const { file, from, to } of matches) {
        if (!source.includes(from)) throw new Error(`${file} has no ${from} any more: sabotage.ts is to be brought up to date`);
        source = source.replace(from, to);
      }
      return { ...loaded, source };
    },
  });
}
