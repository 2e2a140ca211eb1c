import { registerHooks } from 'node:module';

/*
 * Loaded before a service (`node --import`): wraps its bus so that the process dies before it publishes a write. The code of the
 * service is unchanged.
 */

const HOST = '/libs/service-kit/src/host/host.ts';
const BUS = new URL('./crash-hook.ts', import.meta.url).href;

registerHooks({
  resolve: (specifier, context, next) =>
    next(specifier === '@switchyard/bus' && context.parentURL?.endsWith(HOST) === true ? BUS : specifier, context),
});
